"""Arguments of the front door: none is without effect, rows are folded in the order that is said, and misspelt names get suggestions."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ratings_core
from ratings_core import Online, compare, rate, scoreboard
from ratings_core.arrays.arena import pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns.duels import duels
from ratings_core.errors import InputError
from ratings_core.formats.options import ReadOptions
from ratings_core.front.remarks import few_games_lead
from ratings_core.online import RATERS
from ratings_core.ranking import Ranking

DAYS = [f"2026-01-0{day}" for day in range(1, 7)]
GAMES: dict[str, Any] = {
    "model_a": ["x", "y", "z", "x", "y", "z"],
    "model_b": ["y", "z", "x", "z", "x", "y"],
    "winner": ["model_a", "model_b", "tie", "model_a", "model_a", "tie"],
    "date": DAYS,
}
REVERSED = {name: column[::-1] for name, column in GAMES.items()}
MIXED = {name: [column[i] for i in (1, 0, 2, 3, 4, 5)] for name, column in GAMES.items()}
HALVES = {name: [*column[3:], *column[:3]] for name, column in GAMES.items()}


@pytest.mark.parametrize("method", RATERS)
def test_online_methods_refuse_what_only_solved_methods_have(method: str) -> None:
    for make in (lambda **options: rate(GAMES, method, **options), lambda **options: Online(method, **options)):
        with pytest.raises(InputError, match=rf"half_life must be left out for {method}: only solved methods.*count more by themselves"):
            make(half_life=3.0)
        with pytest.raises(InputError, match=f"most_agents must be left out for {method}: only solved methods"):
            make(most_agents=3)
    with pytest.raises(InputError, match=f"bucket_seconds must be left out for {method}: half_life counts in time buckets"):
        rate(GAMES, method, bucket_seconds=86400.0)


def test_time_buckets_that_nothing_counts_in_are_refused() -> None:
    with pytest.raises(InputError, match="bucket_seconds must be left out without half_life"):
        rate(GAMES, bucket_seconds=86400.0)
    table = GAMES | {"long": range(6)}
    with pytest.raises(InputError, match="bucket_seconds must be left out: only games without features"):
        rate(table, "contextual_bradley_terry", features=["long"], bucket_seconds=86400.0, half_life=2.0)
    recent = rate(GAMES, bucket_seconds=86400.0, half_life=2.0)
    assert recent.extra["recency"]["half_life"] == 2
    assert (recent.games < rate(GAMES).games).all()


@pytest.mark.parametrize("value", [0.9, 0.95, 95, 1, 60.0, None, "yes"])
def test_intervals_are_a_switch_and_not_a_level(value: Any) -> None:
    for call in (rate, compare):
        with pytest.raises(InputError, match=r"must be True or False: intervals hold with 95 %.*interval_seconds=S is the time limit"):
            call(GAMES, intervals=value)


def test_a_time_limit_belongs_to_intervals() -> None:
    for call in (rate, compare):
        with pytest.raises(InputError, match="interval_seconds must be left out without intervals=True"):
            call(GAMES, interval_seconds=5.0)
        with pytest.raises(InputError, match="interval_seconds must be a finite number > 0"):
            call(GAMES, intervals=True, interval_seconds=0.0)
    assert rate(GAMES, intervals=np.True_, interval_seconds=5.0).level == 0.95
    both = compare(GAMES, ["elo", "bradley_terry"], intervals=True)
    assert both["elo"].level is None
    np.testing.assert_array_equal(both["bradley_terry"].low, rate(GAMES, intervals=True).low)
    with pytest.raises(InputError, match="intervals must be False for elo, glicko2: online methods have no intervals"):
        compare(GAMES, ["elo", "glicko2"], intervals=True)


def test_a_comparison_counts_by_time_for_the_methods_with_a_half_life() -> None:
    options = {"bradley_terry": {"half_life": 2.0}}
    both = compare(GAMES, ["bradley_terry", "davidson", "elo"], bucket_seconds=86400.0, options=options)
    np.testing.assert_array_equal(both["bradley_terry"].ratings, rate(GAMES, half_life=2.0, bucket_seconds=86400.0).ratings)
    np.testing.assert_array_equal(both["davidson"].ratings, rate(GAMES, "davidson").ratings)
    with pytest.raises(InputError, match="bucket_seconds must be left out without half_life"):
        compare(GAMES, ["bradley_terry", "elo"], bucket_seconds=86400.0)


@pytest.mark.parametrize("method", RATERS)
def test_rows_of_an_online_method_can_be_sorted_by_time(method: str) -> None:
    ordered = rate(GAMES, method)
    assert "notes" not in ordered.extra
    mixed = "are not in the order of their times"
    for games, order in ((REVERSED, "run from new to old"), (MIXED, mixed), (HALVES, mixed)):
        note = f"the rows {order}, and an online method folds them in their order: sort=True folds them by time"
        assert note in str(rate(games, method)).splitlines()
        for source in (games, pd.DataFrame(games)):
            rating = rate(source, method, sort=True)
            np.testing.assert_array_equal(rating.ratings, ordered.ratings)
            assert "notes" not in rating.extra


def test_a_comparison_says_the_order_of_rows_of_online_methods_only(tmp_path: Any) -> None:
    path = tmp_path / "games.csv"
    pd.DataFrame(REVERSED).to_csv(path, index=False)
    for source in (REVERSED, path):
        assert "elo: the rows run from new to old" in str(compare(source, ["elo", "bradley_terry"]))
        assert "notes" not in rate(source).extra
        sorted_ = compare(source, ["elo", "bradley_terry"], sort=True)
        assert "the rows" not in str(sorted_)
        np.testing.assert_array_equal(sorted_["elo"].ratings, rate(GAMES, "elo").ratings)


def test_only_games_with_times_are_sorted(tmp_path: Any) -> None:
    (tmp_path / "s.csv").write_text("task,a,b,c\nt,1,2,3\nu,3,1,2\nv,2,3,1\n")
    for source, words in (
        ([("a", "b")], "sort must be left out: not every row has a time"),
        (tmp_path / "s.csv", "sort must be left out: only games have an order"),
    ):
        with pytest.raises(InputError, match=words):
            rate(source, "copeland", sort=True)
    with pytest.raises(InputError, match="sort must be True or False"):
        rate(GAMES, "elo", sort="date")  # type: ignore[arg-type]


def test_games_as_columns_have_times_unless_all_are_zero() -> None:
    first, second = (Coded.of(pack(REVERSED[side])) for side in ("model_a", "model_b"))
    won = np.array([{"model_a": 1, "model_b": -1, "tie": 0}[word] for word in REVERSED["winner"]], np.int8)
    timed = duels(first, second, won, time=np.arange(6.0)[::-1])
    assert "the rows run from new to old" in str(rate(timed, "elo"))
    np.testing.assert_array_equal(rate(timed, "elo", sort=True).ratings, rate(GAMES, "elo").ratings)
    for argument in ({"sort": True}, {"bucket_seconds": 60.0, "half_life": 2.0}):
        with pytest.raises(InputError, match="must be left out: not every row has a time"):
            rate(duels(first, second, won), **argument)  # type: ignore[arg-type]


def test_a_column_of_times_without_a_time_is_said() -> None:
    for method in ("elo", "bradley_terry"):
        rating = rate(GAMES | {"date": ["never"] * 6}, method)
        assert "column date: not used: none of its cells is a time" in str(rating)
        assert "ReadOptions(time_format=FORMAT)" in str(rating)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rate(GAMES, "bradly_terry"), "did you mean bradley_terry"),
        (lambda: rate(GAMES, "Bradley-Terry"), r"did you mean bradley_terry\?"),
        (lambda: rate(GAMES, "ELO"), r"did you mean elo\?"),
        (lambda: rate(GAMES, halflife=3.0), "did you mean half_life"),
        (lambda: rate(GAMES, "elo", scael=3.0), "did you mean scale"),
        (lambda: rate(GAMES, "elo").predict("xx", "y"), r"did you mean x\?"),
        (lambda: rate(GAMES, "copeland", only_agents='["x", "Y"]'), r"only_agents must name agents.*did you mean y\?\), got 'Y'"),
        (lambda: Online().learn_many(GAMES, columns={"frist": "model_a"}), "did you mean first"),
        (lambda: rate(GAMES, interval_second=3), "such as interval_seconds"),
        (lambda: rate(GAMES, columns={"frist": "model_a"}), "did you mean first"),
        (lambda: rate(GAMES, columns={"time": "dat"}), r"time must be a column of the table.*did you mean date\?"),
        (lambda: compare(GAMES, ["elo", "copland"]), r"did you mean copeland\?"),
        (lambda: compare(GAMES, ["elo", "copeland"])["copland"], r"did you mean copeland\?"),
        (lambda: compare(GAMES, ["elo"], options={3: {}}), r"must be of the compared methods elo, got 3"),  # type: ignore[dict-item]
        (lambda: rate(GAMES, columns={"time": 3}), r"time must be a column of the table.*, got 3"),  # type: ignore[dict-item]
        (lambda: compare(GAMES, ["elo"], options={"eloo": {}}), r"did you mean elo\?"),
        (lambda: compare(GAMES, ["elo"], options={"elo": {"scael": 3.0}}), "did you mean scale"),
        (lambda: scoreboard(GAMES, ["glico2"]), r"did you mean glicko2\?"),
        (lambda: Online("gliko2"), r"did you mean glicko2\?"),
        (lambda: Online("elo", scael=3.0), "did you mean scale"),
        (lambda: ReadOptions(unplayed="skp"), r"did you mean skip\?"),  # type: ignore[arg-type]
    ],
)
def test_misspelt_names_get_suggestions(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_a_misspelt_function_can_be_suggested() -> None:
    with pytest.raises(AttributeError) as raised:
        _ = ratings_core.bradly_terry  # type: ignore[attr-defined]
    assert (raised.value.name, raised.value.obj) == ("bradly_terry", ratings_core)


def test_a_learner_takes_the_same_words_for_games_as_rate() -> None:
    games = {"p": MIXED["model_a"], "q": MIXED["model_b"], "who": ["L", "draw", "L", "q", "L", "draw"], "date": MIXED["date"]}
    columns, reading = {"first": "p", "second": "q", "winner": "who"}, ReadOptions(values={"L": "first", "q": "second"})
    for sort in (False, True):
        learned = Online("elo").learn_many(games, columns=columns, reading=reading, sort=sort).rating()
        rated = rate(games, "elo", columns=columns, reading=reading, sort=sort)
        np.testing.assert_array_equal(learned.ratings, rated.ratings)
    with pytest.raises(InputError, match="sort must be left out: not every row has a time"):
        Online("elo").learn_many([("x", "y")], sort=True)


def test_a_prediction_says_which_agent_has_no_rating_and_why() -> None:
    rating = rate([("a", "b"), ("b", "a"), ("a", "c"), ("x", "y"), ("y", "x")])
    for first, second, argument in (("a", "c", "second"), ("c", "a", "first")):
        with pytest.raises(InputError, match="must be an agent with a rating; of those without one: it lost its only game") as raised:
            rating.predict(first, second)
        assert (raised.value.argument, raised.value.value) == (argument, "c")
    with pytest.raises(InputError, match="must be in the group of a: wins do not compare agents of different groups") as raised:
        rating.predict("a", "x")
    assert (raised.value.argument, raised.value.value) == ("second", "x")


def test_a_leader_of_few_games_is_said_also_where_games_lose_weight() -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 21)]
    games: dict[str, list[str]] = {"first": [], "second": [], "winner": [], "date": []}
    for day in days:
        for first, second in (("x", "y"), ("y", "z"), ("z", "x")) * 4:
            for name, cell in zip(games, (first, second, first, day), strict=True):
                games[name].append(cell)
    new = [("new", "x", "x", days[0]), *[("new", "x", "new", days[-1])] * 2]
    table = {name: [*column, *(row[at] for row in new)] for at, (name, column) in enumerate(games.items())}
    plain, recent = rate(table), rate(table, half_life=3.0, bucket_seconds=86400.0)
    assert "new leads on few games: 3, where agents have 121.5 on average" in str(plain).splitlines()
    weight = recent.games[recent.names.index("new")]
    said = f"new leads on few games: {weight:.4g}, where agents have {recent.games.mean():.4g} on average, weighted by age"
    assert 2 < weight < 3
    assert said in str(recent).splitlines()
    both = compare(table, ["bradley_terry", "elo"], options={"bradley_terry": {"half_life": 3.0}}, bucket_seconds=86400.0)
    assert f"bradley_terry: {said}" in str(both).splitlines()
    assert "few games" not in str(rate(games))
    assert "few games" not in str(rate([("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")]))


def test_several_leaders_of_few_games_are_one_line() -> None:
    ratings, games = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0, 100.0, 100.0])
    lines = few_games_lead("abcdef", ratings, Ranking.from_scores(ratings).rank, games, by_age=False)
    assert lines == ["a, b, c and 1 more lead on few games: 1 to 4, where agents have 35 on average"]
