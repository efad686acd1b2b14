"""Fits as boards: names beside live boards, what they add, sparse pools."""

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.front.remarks import remarks
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS
from ratings_core.problems.inputs import MarginsInput, PairsInput, ProfileInput
from ratings_core.tallies import PairCounts
from ratings_core.voting.profile import Ballot, Profile
from services.solve.registry.methods import solve

EQ11 = Profile.from_ballots([Ballot(2.0, ((0,), (1,), (2,))), Ballot(3.0, ((2,), (0,), (1,)))], ("A", "B", "C"))


def test_no_solved_method_hides_behind_a_live_board_of_its_name() -> None:
    assert set(RATERS) & set(METHODS) == set()


def test_sco_finds_the_condorcet_winner_that_fenchel_young_does_not() -> None:
    sco, fenchel_young = (solve(f"{name}_fit", ProfileInput(EQ11)) for name in ("sco", "fenchel_young"))
    assert [row.agent for row in sco.agents] == ["C", "A", "B"]
    assert sco.extra["condorcet_winner"] == "C"
    assert sco.extra["loss"] == pytest.approx(sco.extra["bound"]) == pytest.approx(4.0)
    assert [row.agent for row in fenchel_young.agents] == ["A", "C", "B"]
    assert fenchel_young.extra["at_bound"] == 0


def test_margins_are_enough_for_sco() -> None:
    from_margins, from_votes = solve("sco_fit", MarginsInput(EQ11.names, EQ11.margins())), solve("sco_fit", ProfileInput(EQ11))
    assert from_margins.agents == from_votes.agents


def test_thousands_of_agents_that_hardly_met() -> None:
    first = np.arange(5_999, dtype=np.int32)
    chain = PairCounts(first, first + 1, np.full(5_999, 2.0), np.ones(5_999), np.zeros(5_999))
    problem = PairsInput(tuple(f"{i:04d}" for i in range(6_000)), chain)
    for method in ("sco_fit", "fenchel_young_fit"):
        assert len(solve(method, problem, {"prior": 1.0, "margins": "observed"}).agents) == 6_000
        taken = solve(method, problem, {"prior": 1.0})
        assert taken.extra["roster"] == {"agents": 2_000, "left_out": 4_000, "by": "most active"}


@pytest.mark.parametrize("method", ["sco_fit", "fenchel_young_fit", "davidson"])
def test_replicates_give_intervals_of_ratings_and_ranks(method: str) -> None:
    wins = np.array([[0.0, 30, 40], [20, 0, 35], [10, 15, 0]])
    problem = PairsInput(("a", "b", "c"), PairCounts.from_dense(wins, np.ones((3, 3)) - np.eye(3)))
    found = solve(method, problem, {"replicates": 30, "seed": 5})
    assert solve(method, problem, {"replicates": 30, "seed": 5}).agents == found.agents
    ranks = found.extra["rank_intervals"]
    for row in found.agents:
        assert row.rating is not None
        assert row.low <= row.rating <= row.high
        assert ranks[row.agent][0] <= row.rank <= ranks[row.agent][1]
    assert found.extra["assumes"] == "independent pairs"
    assert solve(method, problem).agents[0].low is None


def test_replicates_need_whole_counts_of_games() -> None:
    with pytest.raises(InputError, match="margins"):
        solve("sco_fit", MarginsInput(EQ11.names, EQ11.margins()), {"replicates": 10})
    halves = PairsInput(("a", "b"), PairCounts.from_dense([[0, 0.5], [1.5, 0]]))
    with pytest.raises(InputError, match="whole number"):
        solve("fenchel_young_fit", halves, {"replicates": 10})


def test_davidson_says_how_likely_ties_are() -> None:
    problem = PairsInput(("a", "b"), PairCounts.from_dense([[0, 4], [1, 0]], [[0, 2], [2, 0]]))
    assert solve("davidson", problem).extra["nu"] == pytest.approx(1.0)
    tied = PairsInput(("a", "b"), PairCounts.from_dense([[0, 0], [0, 0]], [[0, 2], [2, 0]]))
    assert solve("davidson", tied).extra["nu"] is None


@pytest.mark.parametrize("method", ["bradley_terry", "davidson"])
def test_who_has_no_rating_is_told_why(method: str) -> None:
    one_game = PairsInput(("a", "b"), PairCounts.from_dense([[0, 1], [0, 0]]))
    found = solve(method, one_game)
    assert [row.rating for row in found.agents] == [None, None]
    assert found.extra["unrated"] == 2
    (line,) = remarks(found.extra, 2)
    assert line.startswith("2 without a rating: 1 won its only game, 1 lost its only game")
    assert remarks(solve(method, one_game, {"prior": 1.0}).extra, 0) == []
