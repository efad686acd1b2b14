"""The committed pages of docs/papers are what the committed results render, and one quick item of each paper gives its committed values."""

from pathlib import Path

import pytest

from benchmarks.papers.items import Match
from benchmarks.papers.pages import paper_page, results_of, summary_page
from benchmarks.papers.registry import PAPERS
from benchmarks.papers.run import Status, run_papers

FOLDER = Path(__file__).parents[3] / "docs" / "papers"
NAMES = [paper.name for paper in PAPERS]
QUICK = {
    "nash_averaging": "example-1",
    "vase": "pentathlon",
    "soft_condorcet": "figure-1",
    "deviation": "table-2",
    "equilibrium": "game",
}


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_a_page_is_what_its_results_render(paper):
    assert FOLDER.joinpath(f"{paper.name}.md").read_text(encoding="utf-8") == paper_page(paper, FOLDER)


def test_the_summary_is_what_all_results_render():
    assert FOLDER.joinpath("README.md").read_text(encoding="utf-8") == summary_page(PAPERS, FOLDER)


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_every_item_has_a_result_without_an_unexplained_difference(paper):
    for name, result in results_of(paper, FOLDER).items():
        assert result is not None, name
        assert [value for value in result.values if value.match is Match.NO] == [], name
        assert [value.label for value in result.values if value.match is Match.EXPLAINED and not value.why] == [], name
        assert result.status is Status.DONE or result.needs


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_there_are_no_other_results_and_figures(paper):
    names = {item.name for item in paper.items}
    assert {file.stem for file in (FOLDER / "results" / paper.name).iterdir()} == names
    drawn = {figure.name for result in results_of(paper, FOLDER).values() if result for figure in result.figures}
    assert {file.stem for file in (FOLDER / "figures").glob(f"{paper.name}-*")} == drawn
    for name in drawn:
        assert all(FOLDER.joinpath(f"figures/{name}.{kind}").exists() for kind in ("svg", "png"))


def test_there_is_no_page_without_a_paper():
    assert {page.stem for page in FOLDER.glob("*.md")} == {*NAMES, "README", "scoreboard"}


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_a_quick_item_gives_its_committed_values(paper, tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "items", [item for item in paper.items if item.name == QUICK[paper.name]])
    (one,) = run_papers([paper], tmp_path, quick=True)
    committed = results_of(paper, FOLDER)[one.item.name]
    assert committed is not None
    assert [(value.label, value.ours, value.match) for value in one.result.values] == [
        (value.label, value.ours, value.match) for value in committed.values
    ]
