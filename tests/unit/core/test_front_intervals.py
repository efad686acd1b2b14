"""Intervals of the front door: of plain duels those of the sandwich over single games, of other games those of random groups.

Those of ranks hold together, whatever they come from.
"""

from typing import Any

import numpy as np
import pytest

from ratings_core import compare, rate
from ratings_core.analysis.rank_intervals import PAIRED_AGENTS, simultaneous_ranks, simultaneous_ranks_of_errors
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.contextual import contextual_bradley_terry
from ratings_core.formats.options import ReadOptions

AGENTS = 12
Z = 1.959963984540054


def battles(games: int, seed: int = 4) -> list[tuple[str, str, float]]:
    draw = np.random.default_rng(seed)
    strength = draw.normal(0.0, 0.8, AGENTS)
    found = []
    for _ in range(games):
        a, b = draw.choice(AGENTS, 2, replace=False)
        won = draw.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
        found.append((f"m{a:02}", f"m{b:02}", 0.5 if draw.random() < 0.2 else float(won)))
    return found


def sandwich(games: list[tuple[str, str, float]], names: tuple[str, ...], logits: np.ndarray) -> np.ndarray:
    """Standard errors of logits less their mean: H+ G H+, with one term of G for each game (White 1982), over 1 minus its leverage.

    The expected square of a game replaces a share of the actual one.
    """
    at = {name: i for i, name in enumerate(names)}
    information, scores = np.zeros((2, len(names), len(names)))
    played = []
    for first, second, result in games:
        arms = np.zeros(len(names))
        arms[at[first]], arms[at[second]] = 1.0, -1.0
        p = 1 / (1 + np.exp(-arms @ logits))
        played.append((arms, p, result))
        information += p * (1 - p) * np.outer(arms, arms)
    inverse = np.linalg.pinv(information)
    for arms, p, result in played:
        share = 0.5 / (0.5 + information.diagonal()[arms != 0].min())
        actual = (result - p) ** 2 / (1 - p * (1 - p) * (arms @ inverse @ arms))
        scores += ((1 - share) * actual + share * p * (1 - p)) * np.outer(arms, arms)
    return np.sqrt(np.diag(inverse @ scores @ inverse))


def test_intervals_of_duels_are_those_of_single_games() -> None:
    games = battles(900)
    rating = rate(games, intervals=True, scale=1.0, centre=0.0)
    assert rating.low is not None
    assert rating.high is not None
    assert rating.extra["intervals"] == "normal (sandwich)"
    np.testing.assert_allclose((rating.high - rating.low) / 2, Z * sandwich(games, rating.names, rating.ratings), rtol=1e-6)


@pytest.mark.parametrize("weight", [2.0, 0.5])
def test_intervals_of_games_with_weights_are_those_of_groups(weight: float) -> None:
    """A game that counts twice is one game, so its intervals are wider than those of two games."""
    games = battles(900)
    columns = {"winner": [a if r else b for a, b, r in games], "loser": [b if r else a for a, b, r in games]}
    plain = rate(columns, intervals=True)
    weighed = rate(columns | {"weight": [weight] * len(games)}, intervals=True, reading=ReadOptions(kind="games"))
    assert plain.low is not None
    assert weighed.low is not None
    assert plain.high is not None
    assert weighed.high is not None
    np.testing.assert_allclose(weighed.ratings, plain.ratings, atol=1e-6)
    ratio = float(np.mean((weighed.high - weighed.low) / (plain.high - plain.low)))
    assert 0.8 < ratio < 1.3


def compared(games: list[tuple[str, str, float]], names: tuple[str, ...]) -> Comparisons:
    at = {name: i for i, name in enumerate(names)}
    first, second = (np.array([at[game[side]] for game in games]) for side in (0, 1))
    return Comparisons(len(names), first, second, np.array([game[2] for game in games]), np.arange(len(games)), np.ones(len(games)))


def test_ranks_of_ratings_with_features_hold_together_by_the_covariance_of_their_fit() -> None:
    games = battles(900)
    longer = np.random.default_rng(1).normal(size=len(games))
    table = {"first": [a for a, _, _ in games], "second": [b for _, b, _ in games], "result": [r for _, _, r in games], "longer": longer}
    rating = rate(table, "contextual_bradley_terry", features=["longer"], intervals=True)
    fit = contextual_bradley_terry(compared(games, rating.names), longer[:, None])
    first, last = simultaneous_ranks(fit.ratings, fit.covariance[:AGENTS, :AGENTS])
    assert rating.rank_low is not None
    assert rating.rank_high is not None
    assert (rating.rank_low.tolist(), rating.rank_high.tolist()) == (first.tolist(), last.tolist())
    assert (first < last).any()
    assert rating["m00"].rank_low == first[0]
    assert rating.table().column_names[-2:] == ["rank_low", "rank_high"]


def test_standard_errors_of_a_fit_give_the_ranks_that_its_intervals_do() -> None:
    games = battles(900)
    rating = rate(games, standard_errors="sandwich")
    fit = bradley_terry(compared(games, rating.names), options=BradleyTerryOptions(standard_errors="sandwich"))
    assert fit.covariance is not None
    assert rating.rank_low is not None
    assert rating.rank_low.tolist() == simultaneous_ranks(fit.ratings, fit.covariance)[0].tolist()
    with_intervals = rate(games, intervals=True)
    assert with_intervals.rank_low is not None
    assert with_intervals.rank_low.tolist() == rating.rank_low.tolist()


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("bradley_terry", {"intervals": True}),
        ("davidson", {"intervals": True}),
        ("bradley_terry", {"standard_errors": "sandwich"}),
        ("bradley_terry", {"standard_errors": "fisher"}),
        ("contextual_bradley_terry", {"features": ["longer"]}),
    ],
)
def test_a_prior_does_not_order_agents_that_no_games_link_and_the_newcomer_may_be_anywhere_in_its_group(method, asked) -> None:
    """Two pairs of agents with hundreds of games, and a newcomer that won its only game in the first pair."""
    results = [("a", "b", 1.0)] * 400 + [("a", "b", 0.0)] * 100 + [("c", "d", 1.0)] * 300 + [("c", "d", 0.0)] * 200
    games = [*results, ("a", "b", 0.5), ("c", "d", 0.5), ("new", "b", 1.0)]
    table = {"first": [a for a, _, _ in games], "second": [b for _, b, _ in games], "result": [r for _, _, r in games]}
    table["longer"] = np.random.default_rng(1).normal(size=len(games))
    rating = rate(table, method, prior=1.0, **asked)
    ranks = {agent: (rating[agent].rank_low, rating[agent].rank_high) for agent in ("a", "b", "c", "d", "new")}
    assert ranks == {"a": (1, 4), "b": (2, 5), "c": (1, 4), "d": (2, 5), "new": (1, 5)}
    for agent in ("a", "b", "c", "d", "new"):
        assert rating[agent].low < rating[agent].rating < rating[agent].high


def test_more_agents_than_pairs_are_compared_for_have_ranks_by_their_standard_errors() -> None:
    around = [(f"m{i:04}", f"m{(i + 1) % (PAIRED_AGENTS + 1):04}") for i in range(PAIRED_AGENTS + 1)]
    games = [(a, b, result) for i, (a, b) in enumerate(around) for result in [1.0] * (40 if i % 2 else 2) + [0.0] * 2]
    rating = rate(games, standard_errors="fisher")
    fit = bradley_terry(compared(games, rating.names), options=BradleyTerryOptions(standard_errors="fisher"))
    assert fit.standard_error is not None
    assert rating.rank_low is not None
    assert rating.rank_low.tolist() == simultaneous_ranks_of_errors(fit.ratings, fit.standard_error)[0].tolist()


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("bradley_terry", {"standard_errors": "fisher"}, "normal (fisher)"),
        ("bradley_terry", {}, "normal (sandwich)"),
        ("sco_fit", {"replicates": 40}, "40 refits"),
    ],
)
def test_a_rating_says_what_its_intervals_are_of_and_assume(method: str, options: dict[str, Any], said: str) -> None:
    rating = rate([("a", "b"), ("b", "c"), ("c", "a")] * 20, method, intervals=True, **options)
    assert rating.extra["intervals"] == said
    assert "independent" in rating.extra["assumes"]
    assert "intervals" not in rate([("a", "b"), ("b", "a")], method).extra


def test_a_comparison_prints_ranks_with_their_intervals_in_80_columns() -> None:
    games = [(f"model_{i}", f"model_{j}") for i in range(12) for j in range(12) for _ in range(3 if i < j else 1) if i != j]
    methods = ["elo", "bradley_terry", "davidson", "maximal_lottery", "copeland"]
    both = compare(games, methods, intervals=True)
    title, heads, *rows = str(both).splitlines()
    assert title.startswith("5 methods on 12 agents: ranks, with 95 % intervals")
    assert heads.split() == ["agent", *methods]
    assert max(map(len, (title, heads, *rows[:12]))) <= 80
    fit = both["bradley_terry"]
    for row in fit.top(12):
        line = next(line for line in rows if line.split()[0] == row.agent)
        assert f" {row.rank} ({row.rank_low}-{row.rank_high}) " in line
    assert "elo: no intervals, as of all online methods" in rows
    table = both.table()
    assert table["bradley_terry_rank_low"].to_pylist() == [fit[agent].rank_low for agent in table["agent"].to_pylist()]
    assert table["bradley_terry_low"].to_pylist() == [fit[agent].low for agent in table["agent"].to_pylist()]
    assert not [name for name in table.column_names if name.startswith("elo_") and name != "elo_rank"]
