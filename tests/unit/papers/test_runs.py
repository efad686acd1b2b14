"""Running items of a paper: what is stored and used again, what a comparison says, and what an item that lacks its input leaves."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import run as running
from benchmarks.papers import sources
from benchmarks.papers.command import reproduce
from benchmarks.papers.figures import grid, line
from benchmarks.papers.items import Drawn, Match, Output, Paper, Run, claim, equal, unprinted, within
from benchmarks.papers.pages import paper_page, summary_page
from benchmarks.papers.registry import PAPERS, chosen
from benchmarks.papers.run import Status, code_digest, read_result, run_papers
from ratings_core.errors import InputError
from services.cli.papers import papers


def a_paper(*items):
    paper = Paper("toys", "Toys", "N. Obody: *Toys*.", "About toys.")
    for name, compute in items:
        paper.item(name, f"Table {name}", "A title")(compute)
    return paper


def done(paper, folder, **how):
    return [one.result for one in run_papers([paper], folder, **{"quick": True} | how)]


def test_numbers_are_compared_to_half_a_printed_digit():
    assert equal("x", 0.43, 0.4312, tolerance=0.005).match is Match.YES
    assert equal("x", 0.43, 0.4312, tolerance=0.005).ours == "0.43"
    assert equal("x", 0.43, 0.4412, tolerance=0.005).match is Match.NO
    assert equal("x", (1, 2.0), np.array([1.0, 2.0])).match is Match.YES
    assert equal("x", (1, 2), (1, 2, 3)).match is Match.NO
    assert equal("x", "C > A", "A > C").match is Match.NO
    assert equal("x", 0.0, -1e-17, tolerance=1e-9).ours == "0"
    assert equal("x", (8, 9), [np.float64(8), np.int64(9)]).ours == "(8, 9)"


def test_a_reason_explains_only_the_value_that_it_predicts():
    wrong = {"printed": 98, "reason": "the printed numbers contradict each other", "expected": 87.6, "tolerance": 0.05}
    assert equal("difference", ours=87.61, **wrong).match is Match.EXPLAINED
    assert equal("difference", ours=90.0, **wrong).match is Match.NO
    assert equal("difference", 98, 87.6, reason="no value is expected").match is Match.NO
    other = {"printed": 0.41, "other_input": "three of eight agents", "expected": 0.43, "tolerance": 0.005}
    assert equal("chance", ours=0.43, **other).match is Match.OTHER
    assert equal("chance", ours=0.47, **other).match is Match.NO


def test_noise_claims_and_values_without_a_printed_one():
    assert [within("x", 0.5, ours, noise=0.1, tolerance=0.01).match for ours in (0.505, 0.55, 0.7)] == [Match.YES, Match.NOISE, Match.NO]
    assert within("x", 0.5, np.nan, noise=0.1).match is Match.NO
    assert claim("x", "grows", "shrinks", holds=False).match is Match.NO
    assert claim("x", "grows", "shrinks", holds=False, reason="of another data set").match is Match.EXPLAINED
    assert claim("x", "grows", "shrinks", holds=False, other_input="other games").match is Match.OTHER
    assert claim("x", "grows", "grows", holds=True, other_input="other games").match is Match.YES
    assert unprinted("x", 3.0).match is Match.NONE


def test_one_item_is_chosen_by_its_name():
    one, whole = chosen(["vase/figure-2", "deviation"])
    assert [item.name for item in one.items] == ["figure-2"]
    assert whole is next(paper for paper in PAPERS if paper.name == "deviation")
    assert len(next(paper for paper in PAPERS if paper.name == "vase").items) > 1
    for name in ("vase/figure-200", "vase/"):
        with pytest.raises(InputError, match="must name an item of vase: "):
            chosen([name])
    with pytest.raises(InputError, match="must be a paper, or PAPER/ITEM"):
        chosen(["voting"])


def test_results_are_stored_and_used_until_the_code_changes(tmp_path, monkeypatch):
    calls = []
    paper = a_paper(("one", lambda _: calls.append(1) or Output([equal("x", 1, 1)])))
    first, second = done(paper, tmp_path), done(paper, tmp_path)
    assert first == second
    assert len(calls) == 1
    done(paper, tmp_path, again=True)
    monkeypatch.setattr(running, "code_digest", lambda *_: "other code")
    assert done(paper, tmp_path)[0].code == "other code"
    assert len(calls) == 3


def test_a_full_result_serves_a_quick_run_and_not_the_reverse(tmp_path):
    sizes = []
    paper = a_paper(("one", lambda run: sizes.append(run.pick(2, 200)) or Output([])))
    assert [done(paper, tmp_path, quick=quick)[0].size for quick in (True, False, True)] == ["quick", "full", "full"]
    assert sizes == [2, 200]
    one_size = a_paper(("two", lambda _: Output([])))
    assert done(one_size, tmp_path)[0].size == "full"


def test_an_interrupted_item_resumes_after_its_last_part(tmp_path):
    computed = []

    def compute(run: Run) -> Output:
        def part(seed):
            if seed == 2 and computed.count(2) == 0:
                computed.append(2)
                raise KeyboardInterrupt
            computed.append(seed)
            return [seed, 0.1]

        parts = run.each(((f"seed-{seed}", lambda seed=seed: part(seed)) for seed in range(4)), total=4)
        return Output([equal("sum", 6, sum(one for one, _ in parts))])

    paper = a_paper(("one", compute))
    with pytest.raises(KeyboardInterrupt):
        done(paper, tmp_path)
    assert done(paper, tmp_path)[0].count(Match.YES) == 1
    assert computed == [0, 1, 2, 2, 3]
    assert not (tmp_path / "parts").exists()


def test_a_result_of_another_form_is_computed_again(tmp_path):
    paper = a_paper(("one", lambda _: Output([equal("x", 1, 1)])))
    done(paper, tmp_path)
    (tmp_path / "results/toys/one.json").write_text('{"item": "one"}')
    assert read_result(tmp_path, "toys", "one") is None
    assert done(paper, tmp_path)[0].count(Match.YES) == 1


def test_an_item_without_its_input_is_not_run_and_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIRANK_SHARED", str(tmp_path / "shared"))
    paper = a_paper(("one", lambda run: Output([equal("x", "text", run.shared("data/x.csv").read_text())])))
    (result,) = done(paper, tmp_path)
    assert (result.status, result.needs) == (Status.NOT_RUN, "EQUIRANK_SHARED with data/x.csv")
    assert "**Not run: needs EQUIRANK_SHARED with data/x.csv.**" in paper_page(paper, tmp_path)
    (tmp_path / "shared/data").mkdir(parents=True)
    (tmp_path / "shared/data/x.csv").write_text("text")
    assert done(paper, tmp_path)[0].count(Match.YES) == 1
    (tmp_path / "shared/data/x.csv").unlink()
    assert done(paper, tmp_path, again=True)[0].status is Status.NOT_RUN
    assert read_result(tmp_path, "toys", "one").status is Status.DONE, "a result is not lost where the input is missing"


def test_figures_are_the_same_bytes_each_time(tmp_path):
    def compute(_: Run) -> Output:
        figure, (axes,) = grid()
        line(axes, 0, [0, 1], [1, 2], "a line")
        axes.legend()
        return Output([], [Drawn("curve", "A curve.", figure)])

    paper = a_paper(("one", compute))
    files = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        done(paper, folder)
        files.append([folder.joinpath(f"figures/toys-one-curve.{kind}").read_bytes() for kind in ("svg", "png")])
    assert files[0] == files[1]
    assert "![Table one: A title](figures/toys-one-curve.svg)" in paper_page(paper, tmp_path / "a")


def test_a_page_has_a_row_for_each_value_and_the_summary_counts_them(tmp_path):
    values = [equal("a | b", 1, 1), within("b", 1.0, 1.5, noise=1.0), claim("c", "yes", "no", holds=False, reason="why"), unprinted("d", 4)]
    values.append(claim("f", "yes", "no", holds=False, other_input="other games"))
    paper = a_paper(("one", lambda run: run.seeds(3) and Output(values)), ("two", lambda _: Output([equal("e", 1, 2)])))
    done(paper, tmp_path)
    page = paper_page(paper, tmp_path)
    assert "| a \\| b | 1 | 1 | yes |  |" in page
    assert "seeds 0 to 2" in page
    assert "| [Toys](toys.md) | 2 | 5 | 1 | 1 | 1 | 1 | 1 | 0 |" in summary_page([paper], tmp_path)


def test_a_difference_without_a_reason_fails_the_command(tmp_path, monkeypatch, capsys):
    for printed, status in ((1, 0), (2, 1)):
        paper = a_paper(("one", lambda _, printed=printed: Output([equal("x", printed, 1)])))
        monkeypatch.setattr("benchmarks.papers.registry.PAPERS", (paper,))
        monkeypatch.setattr("benchmarks.papers.command.PAPERS", (paper,))
        assert reproduce([], quick=True, folder=tmp_path, again=True) == status
    assert "NO MATCH x: printed 2, ours 1" in capsys.readouterr().out


def test_the_command_and_the_pages_count_the_same_items_as_not_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("EQUIRANK_SHARED", str(tmp_path / "shared"))
    items = [(name, lambda _: Output([equal("x", 1, 1)])) for name in ("one", "two")]
    paper = a_paper(*items, ("three", lambda run: Output([equal("x", 1, run.shared("data/x.csv"))])))
    for module in ("registry", "command"):
        monkeypatch.setattr(f"benchmarks.papers.{module}.PAPERS", (paper,))
    for name, counts, (lacking, absent) in (
        ("toys/one", "Items of this run: 1; 1 yes", (0, 2)),
        ("toys/three", "Items of this run: 1; 0 yes; 1 without input", (1, 1)),
        ("toys/two", "Items of this run: 1; 1 yes", (1, 0)),
    ):
        reproduce([name], quick=True, folder=tmp_path)
        lines, page, summary = (
            capsys.readouterr().out.splitlines(),
            (tmp_path / "toys.md").read_text(),
            (tmp_path / "README.md").read_text(),
        )
        assert counts in lines
        assert lines[-1] == f"Pages: {tmp_path}; of their 3 items, {lacking} lack their input" + f", {absent} were not asked for yet" * (
            absent > 0
        )
        assert (page.count("Not run: needs"), page.count("Not run yet.")) == (lacking, absent)
        assert f"| 0 | {lacking} |\n" in summary
        assert (f"\n{absent} of these items were not asked for yet" in summary) == (absent > 0)
        assert "](scoreboard.md)" not in summary, "the folder has no such page"


def test_pages_are_written_without_computing(tmp_path, monkeypatch):
    paper = a_paper(("one", lambda _: Output([equal("x", 1, 1)])))
    done(paper, tmp_path)
    never = a_paper(("one", lambda _: pytest.fail("computed")))
    monkeypatch.setattr("benchmarks.papers.command.PAPERS", (never,))
    papers(output=tmp_path, pages=True)
    assert (tmp_path / "toys.md").read_text() == paper_page(paper, tmp_path)
    assert "| [Toys](toys.md) | 1 | 1 | 1 |" in (tmp_path / "README.md").read_text()


def test_a_page_says_which_commit_computed_an_item_and_pages_lists_results_of_other_code(tmp_path, monkeypatch, capsys):
    paper = a_paper(("one", lambda _: Output([equal("x", 1, 1)])))
    monkeypatch.setattr("benchmarks.papers.command.PAPERS", (paper,))
    for commit, said in (
        ("0123456789ab", r"Computed on 20\d\d-\d\d-\d\d by commit 0123456789ab \(digest [0-9a-f]{16}\)\."),
        ("0123456789ab+", r"by commit 0123456789ab, with changes that were not committed \("),
        ("", r"Computed by an unknown commit \(digest"),
    ):
        monkeypatch.setattr(running, "commit_of", lambda *_, commit=commit: commit)
        done(paper, tmp_path, again=True)
        assert re.search(said, paper_page(paper, tmp_path))
        papers(output=tmp_path, pages=True)
        assert "other code" not in capsys.readouterr().out
    monkeypatch.setattr("benchmarks.papers.command.code_digest", lambda *_: "other code")
    papers(output=tmp_path, pages=True)
    assert "1 of 1 results were computed by other code than this checkout's:\n  toys/one, an unknown commit" in capsys.readouterr().out


def test_names_are_checked():
    assert chosen([]) == list(PAPERS)
    with pytest.raises(InputError, match="must be a paper, or PAPER/ITEM: nash_averaging"):
        chosen(["elo"])
    paper = a_paper(("one", lambda _: Output([])))
    with pytest.raises(InputError, match="once"):
        paper.item("one", "Table 1", "again")


def test_the_digest_is_that_of_imported_sources_and_data(tmp_path, monkeypatch):
    known = {name: next(paper for paper in PAPERS if paper.name == name).items[0] for name in ("vase", "nash_averaging")}
    assert code_digest("vase", known["vase"]) != code_digest("nash_averaging", known["nash_averaging"])
    before = code_digest("vase", known["vase"])
    data = tmp_path / "data"
    (data / "vase").mkdir(parents=True)
    (data / "vase" / "new.csv").write_text("new")
    monkeypatch.setattr(running, "DATA", data)
    running._digest.cache_clear()
    assert code_digest("vase", known["vase"]) != before
    running._digest.cache_clear()


def test_sources_are_followed_through_functions_packages_and_type_checks(tmp_path, monkeypatch):
    files = {
        "benchmarks/item.py": "from ratings_core.lazy import lottery\nimport numpy\n",
        "ratings_core/__init__.py": "import ratings_core.front\n",
        "ratings_core/lazy/__init__.py": "if TYPE_CHECKING:\n    from ratings_core.lazy.solver import lottery\n",
        "ratings_core/lazy/solver.py": "def lottery():\n    from ratings_core import checks\n",
        "ratings_core/checks.py": "import ratings_core.lazy.solver\n",
        "ratings_core/front.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    followed = [str(file.relative_to(tmp_path)) for file in sources.sources_of("benchmarks.item")]
    assert followed == ["benchmarks/item.py", "ratings_core/checks.py", "ratings_core/lazy/__init__.py", "ratings_core/lazy/solver.py"]
    with pytest.raises(FileNotFoundError, match="not a module"):
        sources.sources_of("numpy")


def test_comments_and_docstrings_are_no_code(tmp_path):
    texts = ('"""A."""\ndef f():\n    """B."""\n    return 1  # one\n', "def f():\n    return 1\n", "def f():\n    return 2\n")
    codes = []
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.py").write_text(text)
        codes.append(sources.code_of(tmp_path / f"{number}.py"))
    assert codes[0] == codes[1] != codes[2]


def test_a_stored_result_is_read_as_it_was_written(tmp_path):
    paper = a_paper(("one", lambda run: Output([equal("x", run.seeds(1, 1), [1])], note="A note.")))
    (result,) = done(paper, tmp_path)
    assert read_result(tmp_path, "toys", "one") == result
    assert json.loads(Path(tmp_path, "results/toys/one.json").read_text())["seeds"] == [1]


def test_an_installation_without_the_checkout_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("services.cli.papers.__file__", str(tmp_path / "equirank_services/services/cli/papers.py"))
    with pytest.raises(InputError, match=r"must be a checkout, which has the papers' code and data: clone the project"):
        papers()


def drawing(paper_first=0):
    """An item whose value is its first two seeds."""
    return lambda run: Output([unprinted("seeds", run.seeds(2, paper_first))])


def test_a_seed_replaces_the_first_one_and_its_results_have_a_folder_of_their_own(tmp_path, monkeypatch, capsys):
    paper = a_paper(("random", drawing(7)), ("exact", lambda _: Output([equal("x", 1, 1)])))
    for module in ("registry", "command"):
        monkeypatch.setattr(f"benchmarks.papers.{module}.PAPERS", (paper,))
    reproduce([], quick=True, folder=tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert "draws nothing" not in capsys.readouterr().out
    reproduce([], quick=True, folder=tmp_path, seed=5)
    said = capsys.readouterr().out
    assert read_result(tmp_path, "toys", "random").seeds == [7, 8]
    assert read_result(tmp_path / "seed-5", "toys", "random").seeds == [5, 6]
    assert all(file.read_bytes() == text for file, text in before.items())
    assert [line for line in said.splitlines() if "draws nothing at random" in line] == [
        "      draws nothing at random: the seed changes nothing"
    ]
    page = (tmp_path / "seed-5/toys.md").read_text()
    assert "equirank papers toys --full --seed 5\n" in page
    assert "Seeds of these results begin at 5." in page
    assert "Another seed" not in (tmp_path / "toys.md").read_text()
    papers(output=tmp_path, pages=True, seed=5)
    assert (tmp_path / "seed-5/toys.md").read_text() == page


def test_every_generator_of_the_papers_takes_its_seed_from_the_run():
    """A constant seed in an item would be the same with `--seed`. Those of `noise_of_three` and `chance_of_all` resample a result."""
    sources = (running.ROOT / "benchmarks/papers").rglob("*.py")
    constant = re.compile(r"default_rng\(\[?\d|seed=\d")
    found = [line.strip() for source in sources for line in source.read_text().splitlines() if constant.search(line)]
    assert sorted(line.split("(")[0] for line in found) == [
        "found = soft_condorcet_sgd", "means = np.random.default_rng", "rng, runs = np.random.default_rng",
    ]  # fmt: skip
