"""Which agents a solve takes of many, and that it says whom it left out."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ratings_core.batch.comparisons import Comparisons
from ratings_core.errors import InputError
from ratings_core.methods.registry import METHODS, find, why_not
from ratings_core.methods.rosters import roster
from ratings_core.problems.inputs import FeaturesInput, GamesInput, MarginsInput, PairsInput, Problem, ProfileInput, ScoresInput
from ratings_core.tallies import PairCounts, PlaceCounts
from ratings_core.voting.profile import Ballot, Profile
from services.solve.registry.methods import solve

NAMES = ("zed", "amy", "bob", "cyd")
WINS = np.array([[0.0, 3, 1, 0], [1, 0, 4, 0], [3, 1, 0, 2], [0, 0, 1, 0]])
PAIRS = PairsInput(NAMES, PairCounts.from_dense(WINS))
PLACES = PlaceCounts(*(np.array(column, np.int32) for column in ([0, 1, 2, 3], [4] * 4, [0, 1, 1, 3], [1, 2, 2, 1])), np.full(4, 3.0))
SCORES = np.array([[1.0, 2, np.nan], [3, 1, 2], [2, 3, 1], [np.nan, np.nan, 5]])
BALLOTS = Profile.from_ballots([Ballot(3.0, ((0, 2), (3,), (1,))), Ballot(2.0, ((3,),)), Ballot(1.0, ((2,), (0,)))], NAMES)
FEATURES = FeaturesInput(
    NAMES,
    Comparisons(4, *(np.array(ids) for ids in ([0, 0, 0, 2, 2], [1, 2, 2, 0, 0])), np.array([1, 1, 0, 1, 0.0]), np.arange(5), np.ones(5)),
    np.array([[0.5], [0.2], [0.1], [0.2], [0.1]]),
    ("length",),
)
PROBLEMS: list[Problem] = [
    PAIRS,
    GamesInput(NAMES, PAIRS.counts, PLACES, ("t",), (PairCounts.from_dense(WINS.T),)),
    MarginsInput(NAMES, WINS - WINS.T),
    ScoresInput(NAMES, ("t1", "t2", "t3"), SCORES),
    ProfileInput(BALLOTS),
]
IDS = [problem.__class__.__name__ for problem in PROBLEMS]


def take(problem: Problem, **given: object) -> tuple[Problem, dict[str, object]]:
    limit = given.pop("limit", None)
    method = replace(find("copeland"), most_agents=limit)
    found, extra = roster(problem.by_name(), method, {"most_agents": 0, "roster_by": "activity", "only_agents": "", **given})
    return found, extra.get("roster", {})


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
def test_all_are_taken_where_nothing_limits(problem: Problem) -> None:
    found, said = take(problem, limit=4)
    assert (found.names, said) == (tuple(sorted(NAMES)), {})


BEST = [("amy", "bob"), ("amy", "bob"), ("amy", "bob"), ("amy", "bob"), ("cyd", "bob")]


@pytest.mark.parametrize(("problem", "best"), list(zip(PROBLEMS, BEST, strict=True)), ids=IDS)
def test_the_most_active_are_taken_and_the_rest_is_counted(problem: Problem, best: tuple[str, str]) -> None:
    for limit in ({"most_agents": 2}, {"limit": 2}, {"most_agents": 3, "limit": 2}):
        found, said = take(problem, **limit)
        assert set(found.names) == set(best)
        assert said == {"agents": 2, "left_out": 2, "by": "most active"}


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
def test_a_roster_by_name_is_the_problem_without_the_others(problem: Problem) -> None:
    found, said = take(problem, only_agents=json.dumps(["zed", "bob", "amy"]))
    assert found.names == ("amy", "bob", "zed")
    assert said == {"agents": 3, "left_out": 1, "by": "named"}
    ids = [1, 2, 0]
    if isinstance(problem, ScoresInput):
        np.testing.assert_array_equal(found.scores, SCORES[ids])
    elif isinstance(problem, MarginsInput | PairsInput):
        np.testing.assert_array_equal(found.margins, (WINS - WINS.T)[np.ix_(ids, ids)])
    else:
        np.testing.assert_array_equal(found.margins, problem.margins[np.ix_(ids, ids)])


def test_games_keep_places_of_those_taken_and_ballots_those_that_list_one() -> None:
    games, _ = take(PROBLEMS[1], only_agents='["cyd", "zed"]')
    assert isinstance(games, GamesInput)
    assert (games.places.agent.tolist(), games.places.ahead.tolist()) == ([0, 1], [3, 0])
    assert games.by_task[0].wins.tolist() == []
    ballots, _ = take(PROBLEMS[4], only_agents='["amy", "zed"]')
    assert isinstance(ballots, ProfileInput)
    assert ballots.profile.ballots == (Ballot(3.0, ((1,), (0,))), Ballot(1.0, ((1,),)))


def test_named_ones_beyond_the_limit_go_by_activity() -> None:
    found, said = take(PAIRS, only_agents='["zed", "cyd", "amy"]', limit=2)
    assert found.names == ("amy", "zed")
    assert said == {"agents": 2, "left_out": 2, "by": "most active of those named"}


@pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)
def test_the_best_rated_are_taken_where_that_is_asked(problem: Problem) -> None:
    found, said = take(problem, most_agents=1, roster_by="rating")
    best = "amy" if isinstance(problem, MarginsInput) else solve("bradley_terry", problem, {"prior": 1.0}).agents[0].agent
    assert found.names == (best,)
    assert said == {"agents": 1, "left_out": 3, "by": "best rated"}
    assert take(problem, most_agents=1, roster_by="rating", only_agents='["amy", "bob"]')[1]["by"] == "best rated of those named"


def test_rating_and_activity_take_others() -> None:
    wins = np.zeros((3, 3))
    wins[0, 1], wins[1, 2], wins[2, 1] = 3, 9, 9
    problem = PairsInput(("few", "much", "more"), PairCounts.from_dense(wins))
    assert take(problem, most_agents=1)[0].names == ("much",)
    assert take(problem, most_agents=1, roster_by="rating")[0].names == ("few",)


@pytest.mark.parametrize("text", ["zed", "[]", '{"zed": 1}', '["zed", "zed"]', '["nobody"]', "[1]", '[["zed"]]', '[{"zed": 1}]'])
def test_lists_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="only_agents"):
        take(PAIRS, only_agents=text)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_a_roster_and_says_so(method: str) -> None:
    problems = [PROBLEMS[1], ScoresInput(NAMES[:3], ("t1", "t2"), SCORES[:3, :2]), FEATURES]
    solvable = [problem for problem in problems if why_not(METHODS[method], problem) is None]
    assert solvable
    for problem in solvable:
        found = solve(method, problem, {"only_agents": '["zed", "bob"]'})
        assert sorted(row.agent for row in found.agents) == ["bob", "zed"]
        assert found.extra["roster"]["left_out"] == len(problem.names) - 2


def test_more_agents_than_a_method_takes_are_cut_to_the_most_active(monkeypatch: pytest.MonkeyPatch) -> None:
    assert METHODS["kemeny"].most_agents == 1000
    smaller = replace(METHODS["kemeny"], most_agents=100)  # 1,000 agents take six seconds
    monkeypatch.setattr("ratings_core.methods.voting.REGISTERED", (smaller,))
    n = 110
    wins = np.triu(np.ones((n, n)), 1)
    wins[:, 100:] *= 0
    wins[:100, 100] = 1
    names = tuple(f"a{i:04}" for i in range(n))
    found = solve("kemeny", PairsInput(names, PairCounts.from_dense(wins)))
    assert found.extra["roster"] == {"agents": 100, "left_out": 10, "by": "most active"}
    assert [row.agent for row in found.agents] == list(names[:100])


@pytest.mark.parametrize("parameters", [{"most_agents": 1}, {"only_agents": '["a"]'}])
def test_too_few_agents_are_too_few_however_the_others_were_left_out(parameters: dict[str, float | int | str | bool]) -> None:
    problem = ScoresInput(("a", "b"), ("t",), np.array([[1.0], [2.0]]))
    with pytest.raises(InputError, match="at least 2 agents, but there are 1"):
        solve("copeland", problem, parameters)
