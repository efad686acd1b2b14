"""The front door of the library: the same games in any form give the same ratings, and results know names."""

import importlib.metadata
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ratings_core
from ratings_core import Online, compare, predict, rate
from ratings_core.batch.bradley_terry import bradley_terry
from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.front.sources import part_of
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS

WINS = np.array([[0, 6, 4], [2, 0, 5], [3, 3, 0]])
NAMES = ["ann", "bob", "cem"]
PAIRS = [(NAMES[i], NAMES[j]) for i in range(3) for j in range(3) for _ in range(WINS[i, j])]
TRIPLES = [(a, b, 1) for a, b in PAIRS[::2]] + [(b, a, 0.0) for a, b in PAIRS[1::2]]
COLUMNS = {"winner": [a for a, _ in PAIRS], "loser": [b for _, b in PAIRS]}


def sources(tmp_path: Path) -> dict[str, Any]:
    table = pa.table(COLUMNS)
    pq.write_table(table, tmp_path / "g.parquet")
    frame = pd.DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "g.csv", index=False)
    frame.to_json(tmp_path / "g.jsonl", orient="records", lines=True)
    return {
        "pairs": PAIRS,
        "triples": TRIPLES,
        "mapping": COLUMNS,
        "arrow": table,
        "chunks": pa.concat_tables([table.slice(0, 5), table.slice(5)]),
        "pandas": frame,
        "categories": frame.astype("category"),
        "polars": pl.from_arrow(table),
        "csv": tmp_path / "g.csv",
        "text": str(tmp_path / "g.csv"),
        "jsonl": tmp_path / "g.jsonl",
        "parquet": tmp_path / "g.parquet",
    }


def test_the_same_games_in_any_form_are_the_same_ratings(tmp_path: Path) -> None:
    expected = bradley_terry(WINS).ratings
    for name, source in sources(tmp_path).items():
        rating = rate(source)
        assert rating.names == ("ann", "bob", "cem"), name
        np.testing.assert_allclose(rating.ratings, expected, atol=1e-8, err_msg=name)
        assert rating.certificate is not None
        assert rating.status == "optimal"


def test_integers_are_names_in_every_form() -> None:
    pairs = [(0, 1), (1, 2), (0, 2), (2, 0)]
    texts = [(str(a), str(b)) for a, b in pairs]
    expected = rate(texts)
    frame = {"winner": [a for a, _ in pairs], "loser": [b for _, b in pairs]}
    forms: list[Any] = [
        pairs, list(map(list, pairs)), np.array(pairs), np.array(pairs, np.uint8), np.array(texts), np.array(pairs, object),
        list(np.array(pairs)), [(a, b, 1) for a, b in pairs], np.array([(b, a, 0) for a, b in pairs]), [("0", 1), *pairs[1:]],
        frame, pd.DataFrame(frame), pl.DataFrame(frame), frame | {"winner": ["0", 1, 0, 2]},
    ]  # fmt: skip
    for form in forms:
        rating = rate(form)
        assert rating.names == ("0", "1", "2")
        np.testing.assert_array_equal(rating.ratings, expected.ratings)
    assert expected[0] == expected["0"] == expected[np.int64(0)]  # type: ignore[index]
    assert predict(pairs, 0, 1) == predict(texts, "0", "1")
    assert compare(np.array(pairs), ["elo"]).names == ("0", "1", "2")
    one, many = Online("elo"), Online("elo").learn_many(np.array(pairs))
    for winner, loser in pairs:
        one.learn_one(winner, loser)
    assert one.predict_one(0, 1) == many.predict_one("0", "1") == rate(pairs, "elo").predict(0, 1)


@pytest.mark.parametrize("name", [True, np.True_, 0.0, np.float64(1), None, ["a"], b"a"])
def test_a_name_is_a_text_or_an_integer(name: Any) -> None:
    calls = (
        lambda: rate([(1, 0), (name, 2)]), lambda: rate([("1", "0"), (name, "2")]), lambda: predict([(0, 1), (1, 0)], name, 1),
        lambda: rate([(0, 1)], "elo")[name], lambda: Online("elo").learn_one(name, 2), lambda: Online("elo").predict_one(name, 2),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(InputError, match="must be a text, or an integer") as raised:
            call()
        assert repr(name) in str(raised.value)
    with pytest.raises(InputError, match=r"games\[0\]\[0\] must be a text, or an integer"):
        rate(np.array([(0.0, 1.0)]))
    with pytest.raises(InputError, match="must be a data frame"):
        rate(np.array(3))


def test_a_rating_knows_names() -> None:
    rating = rate(PAIRS)
    best = rating.top(1)[0]
    assert (best.agent, best.rank, best.games) == ("ann", 1, 15.0)
    assert rating["ann"] == best
    assert str(rating).splitlines()[0].startswith("bradley_terry of 3 agents: optimal, ")
    assert "ann" in rating._repr_html_()
    assert rating.table().to_pandas()["agent"].tolist() == [row.agent for row in rating.top()]
    assert pl.from_arrow(rating.table()).shape == (3, 4)
    assert rating.predict("ann", "bob") > 0.5 > rating.predict("bob", "ann")
    with pytest.raises(InputError, match="did you mean ann"):
        rating["anna"]
    with pytest.raises(InputError, match="whose answer is a lottery"):
        _ = rating.lottery


def test_agents_without_a_rating_are_said() -> None:
    text = str(rate([*PAIRS, ("dee", "ann"), ("dee", "bob"), ("ann", "x"), ("x", "y"), ("y", "x")]))
    assert "1 without a rating" in text
    assert "2 groups without wins in both directions between them" in text


def test_one_cause_has_one_remark() -> None:
    undefeated, apart = [*PAIRS, ("top", "ann")], [*PAIRS, ("x", "y")]
    two, one_way = [*PAIRS, *[("x", "y"), ("y", "x")]], [*PAIRS, ("ann", "x"), ("x", "y"), ("y", "x")]
    never, wins = "groups of agents that never met", "groups without wins in both directions between them"
    for games, said in (
        (undefeated, ["1 without a rating: it won its only game"]),
        (apart, ["2 without a rating: 1 won its only game, 1 lost its only game"]),
        (two, [f"2 {never}"]),
        ([*two, ("top", "ann")], ["1 without a rating: it won its only game", f"2 {never}"]),
        (one_way, [f"2 {wins}"]),
        ([*one_way, ("p", "q"), ("q", "p")], [f"2 {never}", f"3 {wins}"]),
    ):
        for method in ("bradley_terry", "davidson"):
            rating = rate(games, method)
            lines = str(rating).splitlines()[2 + len(rating) :]
            assert [line[: len(start)] for line, start in zip(lines, said, strict=True)] == said
    assert "2 groups of agents that never met" in str(rate(apart, prior=1.0)), "with a prior all are rated"


def test_every_table_says_that_groups_never_met_and_ranks_nobody_unrated_last() -> None:
    games = [("top", "a"), ("top", "b"), *[("a", "b"), ("b", "a")] * 2, *[("x", "y"), ("y", "x")] * 2]
    for method in ("bradley_terry", "copeland", "maximal_lottery", "elo"):
        rating = rate(games, method)
        assert "2 groups of agents that never met: no game orders them against each other" in str(rating), method
        assert rating.extra["separate_groups"] == 2
        assert "separate_groups" not in rate(games[:6], method).extra
    rating = rate(games)
    assert rating["top"].rank is None
    assert next(line for line in str(rating).splitlines() if "top" in line).split()[0] == "-"
    assert rating.table()["rank"].null_count == 1


def test_a_comparison_says_what_the_tables_of_its_methods_say() -> None:
    games = [("top", "a"), ("top", "b"), *[("a", "b"), ("b", "a")] * 2, *[("x", "y"), ("y", "x")] * 2]
    compared = compare(games, ["bradley_terry", "elo"])
    lines = str(compared).splitlines()
    assert "2 groups of agents that never met: no game orders them against each other" in lines
    assert any(line.startswith("bradley_terry: 1 without a rating: it won all its 2 games") for line in lines)
    assert next(line for line in lines if line.startswith("top")).split()[1:3] == ["-", "-"]
    assert compared.table()["bradley_terry_rank"].null_count == 1
    figure = compared.plot()
    rank = int(compared["elo"].ranking.rank[compared.names.index("top")])
    assert next(line for line in figure.data if line.name == "top").y[1:3] == (None, rank)
    assert "pairs of agents that both rate in another order: " in str(compared)
    few = compare([*[("a", "b"), ("b", "c"), ("c", "a")] * 2, *((f"new {i}", "a") for i in range(8))], ["bradley_terry", "elo"])
    assert "bradley_terry ties all of the 3 agents that it rates; a pair that only one method ties counts half" in str(few)
    nobody = compare([("a", "b"), ("b", "c"), ("a", "c")], ["bradley_terry", "elo"])
    assert " ties " not in str(nobody), "nobody is rated, so nobody is tied"
    assert nobody.plot().data
    assert np.isnan(nobody.distances[0, 1])
    assert "pairs of agents that both rate in another order: bradley_terry and elo -" in str(nobody)


def test_an_option_that_is_almost_an_argument_names_it() -> None:
    for name, near in (("interval", "intervals"), ("column", "columns")):
        with pytest.raises(InputError, match=f"an argument of rate such as {near}"):
            rate(PAIRS, **{name: True})
    with pytest.raises(InputError, match=r"did you mean prior\?"):
        rate(PAIRS, priors=1.0)


def test_groups_are_not_said_where_nobody_is_rated() -> None:
    text = str(rate([("a", "b"), ("b", "c"), ("a", "c")]))
    assert "3 without a rating" in text
    assert "solve with prior=1" in text
    assert "groups" not in text


def test_every_method_is_a_function_at_the_top() -> None:
    for name in [*METHODS, *RATERS]:
        assert callable(getattr(ratings_core, name)), name
        assert name in dir(ratings_core)
    lottery = ratings_core.maximal_lottery(PAIRS).lottery  # type: ignore[attr-defined]
    assert sum(lottery.values()) == pytest.approx(1)
    with pytest.raises(AttributeError):
        _ = ratings_core.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        from ratings_core import nothing  # type: ignore[attr-defined]  # noqa: F401, PLC0415


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rate(PAIRS, "bradley_tery"), "did you mean bradley_terry"),
        (lambda: rate(PAIRS, "elo", kk=3.0), "did you mean k"),
        (lambda: rate(PAIRS, prio=3.0), "prior"),
        (lambda: rate(PAIRS, "elo", intervals=True), "online methods fold games once"),
        (lambda: rate([]), "at least one game"),
        (lambda: rate([("a", "a")]), "must differ"),
        (lambda: rate([("a", "b", 2)]), "must be the result of the first agent"),
        (lambda: rate([("a", "b", 1, 2)]), "tuples"),
        (lambda: rate([("a ", "b")]), "white space"),
        (lambda: rate(5), "data frame"),
        (lambda: rate({"x": [1], "y": [2]}), "must determine games"),
        (lambda: rate(COLUMNS, columns={"won": "winner"}), "must be one of the roles"),
        (lambda: rate(COLUMNS, columns={"first": "nobody"}), "must be a column of the table"),
        (lambda: rate({"winner": ["a", "b"], "loser": ["b", "b"]}), r"row 2.*must differ.*1 bad row of 2"),
        (lambda: rate("/no/such/file.csv"), "No such file"),
        (lambda: compare(PAIRS, "elo"), "names of one or more methods"),
        (lambda: compare(PAIRS, ["elo", "elo"]), "each once"),
        (lambda: compare(PAIRS, ["elo"], options={"copeland": {}}), "compared methods"),
    ],
)
def test_what_is_wrong_is_said(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_columns_of_any_name_and_reading_options() -> None:
    table = {"x": ["a", "b", "a"], "y": ["b", "a", "b"], "who": ["L", "R", "L"], "kind": ["t", "t", "u"]}
    reading = ReadOptions(values={"L": "first", "R": "second"}, where=(("kind", "t"),))
    rating = rate(table, "copeland", columns={"first": "x", "second": "y", "winner": "who"}, reading=reading)
    assert rating["a"].games == 2
    assert rating.ranking.rank.tolist() == [1, 2]


def test_a_file_is_opened_once() -> None:
    """A pipe gives its bytes once."""
    begin, end = os.pipe()
    with open(end, "w") as pipe:  # noqa: PTH123 - a number, not a path
        pipe.write("winner,loser\nann,bob\nbob,cem\nann,cem\ncem,ann\n")
    try:
        assert rate(f"/dev/fd/{begin}").names == ("ann", "bob", "cem")
    finally:
        os.close(begin)


def test_a_column_of_mixed_types_is_read_as_texts() -> None:
    odd = [1, "x", None, float("nan"), pd.NA, pd.NaT, pd.Timestamp("2026-01-05"), {"a": 1}, [1, 2], b"y", 2**70, True] * 2
    games = {"winner": ["ann", "bob", 7, 7.0] * 6, "loser": ["cem"] * 24, "odd": odd}
    for source in (games, pd.DataFrame(games)):
        assert rate(source, "copeland").names == ("7", "ann", "bob", "cem")
    chosen = rate(pd.DataFrame(games), "copeland", reading=ReadOptions(where=(("odd", "x"),)))
    assert chosen.names == ("bob", "cem")
    with pytest.raises(InputError, match="must be the header of only one column"):
        rate(pd.DataFrame([["a", "b", 1, "c"]], columns=["winner", "loser", "x", "x"]))
    with pytest.raises(InputError, match="must be a table of columns"):
        rate({"winner": ["a", "b"], "loser": ["b"]})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "scores"}, "kind must be left out for a table in memory"),
        ({"delimiter": ";"}, "delimiter must be left out"),
        ({"slice_by": "winner"}, "slice_by must be left out for one answer"),
    ],
)
def test_options_that_do_not_apply_to_a_frame_are_refused(options: dict[str, Any], words: str) -> None:
    reading = ReadOptions(**options)
    with pytest.raises(InputError, match=words):
        rate(COLUMNS, reading=reading)
    for games in (PAIRS, part_of(PAIRS).columns):
        with pytest.raises(InputError, match="must be left out for games without columns"):
            rate(games, reading=reading)
    rate(COLUMNS, reading=ReadOptions(kind=FileKind.GAMES, trim=True))


def test_options_that_do_not_apply_to_one_answer_are_refused(tmp_path: Path) -> None:
    path = sources(tmp_path)["csv"]
    with pytest.raises(InputError, match="slice_by must be left out for one answer"):
        rate(path, reading=ReadOptions(slice_by="winner"))
    for method in ("elo", "bradley_terry"):
        with pytest.raises(InputError, match="slice_by must be left out for one answer: group the rows"):
            rate(COLUMNS, method, slice_by="winner")
    table = {"first": ["a", "b"], "second": ["b", "a"], "result": [1, 1], "x": [1.0, 2.0]}
    for call in (
        lambda: rate(table, "elo", features=["x"]),
        lambda: Online().learn_many(table, reading=ReadOptions(features=(Feature.parsed("x"),))),
    ):
        with pytest.raises(InputError, match="features must be left out for elo"):
            call()


def test_intervals_of_bradley_terry_of_draws_and_of_refits() -> None:
    rating = rate(PAIRS * 20, intervals=True)
    assert rating.level == 0.95
    assert rating.low is not None
    assert rating.high is not None
    assert (rating.low < rating.ratings).all()
    assert (rating.ratings < rating.high).all()
    assert "95 % interval" in str(rating)
    draws = rate(PAIRS * 20, "fenchel_young_fit", intervals=True)
    refits = rate(PAIRS * 20, "fenchel_young_fit", intervals=True, margins="observed")
    for replicates, word in ((draws, "draws"), (refits, "refits")):
        assert re.fullmatch(rf"\d+ {word}", replicates.extra["intervals"])
    row = draws["ann"]
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.rating < row.high
    assert row.rank_low is not None
    assert row.rank_high is not None
    assert row.rank_low <= row.rank <= row.rank_high


def test_a_row_without_an_interval_of_its_rank_has_none() -> None:
    for rating in (rate(PAIRS), rate(PAIRS, "glicko2")):
        assert (rating["ann"].rank_low, rating["ann"].rank_high) == (None, None)
        assert "rank_low" not in rating.table().column_names


def test_a_printed_result_has_the_intervals_of_its_ranks() -> None:
    rating = rate([*PAIRS * 20, ("top", "ann")], intervals=True)
    head, *rows = str(rating).splitlines()[1:6]
    row, heads = rating["ann"], [text.strip() for text in head.split("  ") if text.strip()]
    assert heads == ["rank", "agent", "rating", "95 % interval", "ranks", "games"]
    assert f"{row.rank_low} to {row.rank_high}" in next(line for line in rows if " ann " in line)
    assert "<th>ranks</th>" in rating._repr_html_()
    assert next(line for line in rows if " top " in line).split() == ["-", "top", "-", "-", "-", "1"], "an agent without a rating"
    assert "ranks" not in str(rate(PAIRS))


def test_intervals_that_are_not_to_be_had_are_said() -> None:
    rating = rate(PAIRS, "maximal_lottery", intervals=True, interval_seconds=1e-9)
    assert rating.level is None
    assert "1 draw took" in str(rating)
    assert "(interval_seconds)" in str(rating)
    refitted = rate(PAIRS, "maximal_lottery", margins="observed", intervals=True, interval_seconds=1e-9)
    assert "1 refit took" in str(refitted)


def test_methods_side_by_side() -> None:
    both = compare(PAIRS, ["elo", "bradley_terry", "copeland"], options={"elo": {"k": 8.0}})
    assert both.names == ("ann", "bob", "cem")
    assert both["copeland"].method == "copeland"
    assert both.distances.shape == (3, 3)
    assert both.distances[1, 2] == both.distances[2, 1]
    assert both.table().column_names == ["agent", "elo_rank", "elo", "bradley_terry_rank", "bradley_terry", "copeland_rank", "copeland"]
    assert "pairs of agents in another order" in str(both)
    assert "copeland" in both._repr_html_()
    with pytest.raises(InputError, match="must be one of elo"):
        both["sco"]


def test_a_comparison_can_be_plotted_and_says_which_method_ties_nearly_all() -> None:
    games = [("a", other) for other in "bcdef"] + [("b", other) for other in "cdef"] + [("c", other) for other in "def"]
    both = compare(games, ["elo", "maximal_lottery"])
    assert "maximal_lottery ties all but 1; a pair that only one method ties counts half" in str(both)
    assert "elo ties" not in str(both)
    figure = both.plot(3)
    lines = [line for line in figure.data if line.mode == "lines"]
    assert [line.name for line in lines] == ["a", "b", "c"]
    assert [list(line.y) for line in lines] == [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 2, 3]], "tied lines meet, their labels do not"
    assert list(figure.layout.yaxis.ticktext) == ["a  1", "b  2", "c  3"]
    assert list(figure.layout.yaxis2.ticktext) == ["1  a", "2  b", "2  c"]
    with pytest.raises(InputError, match="agents must be"):
        both.plot(0)


def test_results_record_the_version_and_the_seeds_that_were_used() -> None:
    version = importlib.metadata.version("equirank")
    assert ratings_core.__version__ == rate(PAIRS).version == rate(PAIRS, "elo").version == version
    assert rate(PAIRS).table().schema.metadata[b"equirank_version"] == version.encode()
    assert compare(PAIRS, ["elo"]).table().schema.metadata == {b"equirank_version": version.encode()}
    assert "seed" not in rate(PAIRS, "ranked_pairs").extra
    assert rate(PAIRS, "ranked_pairs", tie_rule="seed", seed=7).table().schema.metadata[b"seed"] == b"7"
    draws = rate(PAIRS * 5, "fenchel_young_fit", intervals=True)
    assert draws.table().schema.metadata[b"interval_seed"] == str(draws.extra["interval_seed"]).encode()


def test_predict() -> None:
    assert predict(PAIRS, "ann", "bob") == pytest.approx(rate(PAIRS).predict("ann", "bob"))
    with pytest.raises(InputError, match="predicts results"):
        predict(PAIRS, "ann", "bob", "copeland")


@pytest.mark.parametrize("method", RATERS)
def test_an_online_learner_gives_the_ratings_of_rate_game_by_game(method: str) -> None:
    one, many = Online(method), Online(method).learn_many(PAIRS)
    assert one.predict_one("ann", "bob") == pytest.approx(0.5, abs=0.01)
    for winner, loser in PAIRS:
        assert 0 < one.predict_one(winner, loser) < 1
        one.learn_one(winner, loser)
    whole = rate(PAIRS, method)
    for learner in (one, many):
        np.testing.assert_array_equal(learner.rating().ratings, whole.ratings)
        assert learner.predict_one("ann", "bob") == whole.predict("ann", "bob")
    assert len(one) == 3
    assert 0 < one.predict_one("ann", "dee") < 1
    assert len(one) == 3


def test_an_online_learner_shows_what_it_is_and_has_learned() -> None:
    assert repr(Online()) == "Online('elo'): 0 agents, 0 outcomes"
    assert repr(Online("elo", k=8, start=1500).learn_one("a", "b")) == "Online('elo', k=8.0): 2 agents, 1 outcome"
    for method in RATERS:
        assert repr(Online(method).learn_many(PAIRS)) == f"Online('{method}'): 3 agents, {len(PAIRS)} outcomes"


def test_a_printed_result_says_how_many_agents_it_does_not_show() -> None:
    for agents, said in ((20, None), (21, "1 more agent is not shown"), (25, "5 more agents are not shown")):
        games = [(f"a{i}", f"a{(i + 1) % agents}") for i in range(agents)]
        for result in (rate(games), compare(games, ["elo"])):
            lines = [line for line in str(result).splitlines() if "not shown" in line]
            assert lines == ([] if said is None else [f"{said}: table() has all {agents}"])
            assert all(line in result._repr_html_() for line in lines)
    assert str(compare(games, ["elo"])).startswith("1 method on 25 agents")


def test_a_long_name_does_not_widen_a_printed_table_and_is_whole_in_html() -> None:
    long = "x" * 200 + " end"
    for result in (rate([(long, "b"), ("b", long)]), compare([(long, "b"), ("b", long)], ["elo"])):
        assert max(map(len, str(result).splitlines()[:4])) < 100
        assert "xxx…xxx" in str(result)
        assert "xx end " in str(result)
        assert long in result._repr_html_()


def test_an_online_learner_refuses_what_is_no_game() -> None:
    learner = Online("elo", k=8.0)
    for call, words in (
        (lambda: learner.learn_one("a", "a"), "must differ"),
        (lambda: learner.learn_one("a", "b", 0.7), "1, 0.5 or 0"),
        (lambda: learner.learn_one("a", "b", True), "1, 0.5 or 0"),
        (lambda: learner.learn_one("a", "b", "1"), "1, 0.5 or 0"),
        (lambda: learner.learn_one("a", "b", [1]), "1, 0.5 or 0"),
        (lambda: learner.learn_one("a", "b", None), "1, 0.5 or 0"),
        (lambda: learner.predict_one("a", "a"), "must differ"),
        (learner.rating, "one game at least"),
        (lambda: Online("elo", q=1.0), "must be an option of elo"),
        (lambda: Online("bradley_terry"), "must be one of"),
    ):
        with pytest.raises(InputError, match=words):
            call()  # type: ignore[no-untyped-call]


def test_files_of_every_kind_are_rated(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("task,a,b,c\nt,1,2,3\nu,3,1,2\nv,2,3,1\n")
    assert rate(tmp_path / "s.csv", "maximal_lottery").lottery == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    (tmp_path / "p.soc").write_text("# DATA TYPE: soc\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n2: 1,2\n1: 2,1\n")
    assert rate(tmp_path / "p.soc", "borda").top(1)[0].agent == "A"
    (tmp_path / "m.csv").write_text("x,a,b\na,0,1\nb,-1,0\n")
    assert rate(tmp_path / "m.csv", "copeland").top(1)[0].agent == "a"
    (tmp_path / "g.pgn").write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n')
    assert rate(tmp_path / "g.pgn", "elo").top(1)[0].agent == "a"
    (tmp_path / "o.jsonl").write_text('{"v":1,"pool":"p","sides":[]}\n')
    with pytest.raises(InputError, match="equirank solve"):
        rate(tmp_path / "o.jsonl")
    with pytest.raises(InputError, match="online methods rate games"):
        rate(tmp_path / "s.csv", "elo")
    battles = [{"model_a": "x", "model_b": "y", "winner": "model_a" if i % 3 else "model_b", "n": {"a": i, "b": 5}} for i in range(30)]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, battles)))
    styled = rate(tmp_path / "b.jsonl", "contextual_bradley_terry", features=["n.a:n.b"], prior=1.0)
    assert styled["x"].rank == 1


def test_a_rating_can_be_plotted() -> None:
    rating = rate(PAIRS * 20, intervals=True)
    assert rating.plot().layout.title.text == "bradley_terry of 3 agents"
    figure = rating.plot(2)
    assert figure.layout.title.text == "bradley_terry of 2 of 3 agents"
    assert list(figure.data[0].y) == ["bob", "ann"]
    assert len(figure.data[0].error_x.array) == 2


def test_a_notebook_gets_a_figure_as_html_too() -> None:
    for figure in (rate(PAIRS).plot(2), compare(PAIRS, ["elo", "copeland"]).plot()):
        bundle = figure._repr_mimebundle_(include=None, exclude=None)
        assert set(bundle) == {"application/vnd.plotly.v1+json", "text/html"}
        assert bundle["text/html"].startswith('<iframe srcdoc="')
        assert "ann" in figure._repr_html_()
        assert not callable(figure._ipython_display_)
        json.dumps(bundle)


def test_games_are_counted_by_the_kind_that_a_method_takes() -> None:
    table = {"first": ["a", "b", "a"], "second": ["b", "a", "b"], "result": [1, 1, 0.5], "task": ["t", "u", "t"]}
    rating = rate(table, "deviation", columns={"task": "task"})
    assert set(rating.names) == {"a", "b"}


def test_rows_that_were_left_out_are_told(tmp_path: Path) -> None:
    games = {"model_a": ["x", "y", "z", "x"], "model_b": ["y", "z", "x", "z"], "winner": ["model_a", None, "tie", "model_b"]}
    for source in (games, pd.DataFrame(games)):
        rating = rate(source)
        assert rating.extra["left_out"] == {"no result (unplayed)": 1}
        assert "left out: 1, no result (unplayed)" in str(rating)
    assert "left_out" not in rate(PAIRS).extra


def test_features_are_refused_by_a_method_that_does_not_use_them() -> None:
    games = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "model_b"], "long": [1, 2]}
    with pytest.raises(InputError, match="features must be left out for bradley_terry, which does not use them; contextual"):
        rate(games, features=["long"])


def test_errors_say_which_columns_there_are_and_how_a_choice_is_made_in_python() -> None:
    with pytest.raises(InputError, match="no two headers are usual ones of the two sides: name the columns, got 'p, q'"):
        rate({"p": ["x"], "q": ["y"]})
    with pytest.raises(InputError, match=r"such as model_a, model_b, tie, .*in Python: reading=ReadOptions\(values=\{WORD: MEANING\}\)"):
        rate({"model_a": ["x"], "model_b": ["y"], "winner": ["z"]})
    with pytest.raises(InputError, match="must be pairs of a column and a value"):
        ReadOptions(where={"language": "German"})  # type: ignore[arg-type]
