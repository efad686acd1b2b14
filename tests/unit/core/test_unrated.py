"""The reason why agents have no rating: it counts their games, and its grammar fits one agent and several."""

from typing import Any

import numpy as np
import pytest

from ratings_core import rate
from ratings_core.methods.explained import Solve
from ratings_core.methods.explanations import explain
from ratings_core.methods.registry import taken
from ratings_core.methods.unrated import unrated_because
from ratings_core.problems.inputs import ProfileInput, ScoresInput
from ratings_core.voting.profile import Profile

LINKED = [("a", "b"), ("b", "a")]
REMEDY = "; play more games, or solve with prior=1"


@pytest.mark.parametrize("method", ["bradley_terry", "davidson"])
@pytest.mark.parametrize(
    ("games", "reason"),
    [
        ([("top", "a")], "it won its only game"),
        ([("top", "a"), ("top", "b")] * 7 + [("top", "a")], "it won all its 15 games"),
        ([("a", "low")] * 3, "it lost all its 3 games"),
        ([("top", "a"), ("best", "b")] * 2, "they won all their games (2 each)"),
        ([("top", "a"), ("best", "b"), ("best", "b")], "they won all their games (1 to 2 each)"),
        ([("a", "mid"), ("mid", "low")] * 2, "1 lost all its 2 games, 1 is linked to no other agent by chains of wins in both directions"),
        ([("c", "a"), ("d", "c"), ("d", "b")], "1 won all its 2 games, 1 is linked to no other agent by chains of wins in both directions"),
        ([("a", "c"), ("c", "d"), ("d", "low"), ("top", "low")],
         "1 won its only game, 1 lost all its 2 games, 2 are linked to no other agent by chains of wins in both directions"),
    ],
)  # fmt: skip
def test_the_reason_counts_the_games_of_the_agents(method: str, games: list[Any], reason: str) -> None:
    rating = rate(LINKED + games, method)
    assert rating.extra["unrated_because"] == reason + REMEDY
    assert f"{rating.extra['unrated']} without a rating: {reason}{REMEDY}" in str(rating)


def test_results_of_ballots_and_tasks_are_no_games() -> None:
    ballots = ProfileInput(Profile.from_orders([[2, 0, 1], [2, 1, 0]], names=["a", "b", "top"]))
    assert unrated_because(ballots, np.array([2])) == "it won all its 4 results" + REMEDY
    scores = ScoresInput(("a", "b", "top"), ("t", "u"), np.array([[1.0, 0.0], [0.0, 1.0], [2.0, np.nan]]))
    assert unrated_because(scores, np.array([2])) == "it won all its 2 results" + REMEDY
    unmeasured = ScoresInput(("a", "b", "c"), ("t",), np.array([[1.0], [0.0], [np.nan]]))
    assert unrated_because(unmeasured, np.array([2])) == "it has no results that the method counts" + REMEDY


def test_an_explanation_names_the_reason_of_its_agent_only() -> None:
    problem = ScoresInput(("a", "b", "low", "top"), ("t", "u"), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, np.nan], [2.0, np.nan]]))
    run = taken("bradley_terry", problem)
    solve = Solve(run, run.rated())
    assert explain(solve, "top").why_not == "it won all its 3 results" + REMEDY
    assert explain(solve, "low").why_not == "it lost all its 3 results" + REMEDY
