"""Boards of CCE and limiting logit equilibria: which game is played, what is reported, what is refused."""

import numpy as np
import pytest

from ratings_core.equilibria import cce, lle
from ratings_core.errors import InputError
from ratings_core.games import AgentAgentTask, KingOfTheHill
from ratings_core.problems.inputs import GamesInput, ScoresInput
from ratings_core.tallies import PairCounts, PlaceCounts
from services.solve.registry.methods import solve

NAMES, TASKS = ("a", "b", "c", "d"), ("t", "u", "v", "w", "x")
TABLE = np.random.default_rng(4).normal(size=(4, 5)).round(2)
SCORES = ScoresInput(NAMES, TASKS, TABLE)
NO_PLACES = PlaceCounts(*(np.zeros(0, np.int32) for _ in range(4)), np.zeros(0))
BOTH = pytest.mark.parametrize(("method", "core"), [("cce", cce), ("lle", lle)])


def by_name(rows, name):
    return {getattr(row, name): row.rating for row in rows}


@BOTH
def test_scores_are_king_of_the_hill_by_who_is_higher(method, core):
    found = solve(method, SCORES)
    wanted = core(KingOfTheHill.of(np.sign(TABLE.T[:, :, None] - TABLE.T[:, None, :])))
    assert by_name(found.agents, "agent") == pytest.approx(dict(zip(NAMES, wanted.ratings, strict=True)), abs=1e-9)
    assert by_name(found.tasks, "task") == pytest.approx(dict(zip(TASKS, wanted.by_player[0], strict=True)), abs=1e-9)
    assert list(found.extra["payoffs"]) == ["prompt", "king", "rebel"]
    assert found.certificate.kind == "regret"


@BOTH
def test_scores_are_differences_between_agents_on_a_task_where_told(method, core):
    found = solve(method, SCORES, {"game": "agent_agent_task"})
    wanted = core(AgentAgentTask.of(TABLE))
    assert by_name(found.agents, "agent") == pytest.approx(dict(zip(NAMES, wanted.ratings, strict=True)), abs=1e-9)
    assert by_name(found.tasks, "task") == pytest.approx(dict(zip(TASKS, wanted.by_player[2], strict=True)), abs=1e-9)


@BOTH
def test_games_by_task_are_wins_less_losses(method, core):
    per_task = tuple(PairCounts.from_dense(np.maximum(np.sign(np.subtract.outer(own, own)), 0)) for own in TABLE.T)
    games = GamesInput(NAMES, per_task[0], NO_PLACES, TASKS, per_task)
    assert by_name(solve(method, games).agents, "agent") == pytest.approx(by_name(solve(method, SCORES).agents, "agent"), abs=1e-9)
    u = np.sign(TABLE.T[:, :, None] - TABLE.T[:, None, :])
    two = solve(method, games, {"game": "agent_agent_task", "target": "even"})
    wanted = core(KingOfTheHill.of(u, penalty=0.0), target="even")
    assert by_name(two.agents, "agent") == pytest.approx(dict(zip(NAMES, wanted.ratings, strict=True)), abs=1e-9)


def test_a_correlated_equilibrium_lists_its_likeliest_joints_and_its_eps():
    found = solve("cce", SCORES, {"eps": 0.05, "joints": 3})
    shares = [one["probability"] for one in found.extra["likeliest"]]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)
    assert found.extra["eps"] == 0.05
    assert max(by_name(found.agents, "agent").values()) == pytest.approx(0.05, abs=1e-6)
    assert all(sum(mix.values()) == pytest.approx(1, abs=1e-4) for mix in found.extra["marginals"].values())
    assert solve("cce", SCORES, {"joints": 0}).extra["likeliest"] == []


def test_a_logit_equilibrium_tells_its_branch():
    found = solve("lle", SCORES, {"game": "agent_agent_task"})
    assert found.extra["branch"] == "symmetric branch"
    assert found.extra["mixes"]["agent"] == pytest.approx(found.extra["mixes"]["opponent"])


@pytest.mark.parametrize("method", ["cce", "lle"])
def test_copies_of_agents_and_tasks_move_no_rating(method):
    copied = ScoresInput((*NAMES, "e", "f"), (*TASKS, "y"), TABLE[[0, 1, 2, 3, 1, 1]][:, [0, 1, 2, 3, 4, 2]])
    plain, found = solve(method, SCORES), solve(method, copied)
    ratings = by_name(found.agents, "agent")
    assert {name: ratings[name] for name in NAMES} == pytest.approx(by_name(plain.agents, "agent"), abs=1e-6)
    assert ratings["e"] == ratings["f"] == ratings["b"]


def test_what_is_not_measured_is_dropped_by_name():
    table = TABLE.copy()
    table[3, 0] = np.nan
    problem = ScoresInput(NAMES, TASKS, table)
    with pytest.raises(InputError, match="missing"):
        solve("cce", problem)
    found = solve("lle", problem, {"missing": "drop_agents"})
    assert found.extra["dropped_agents"] == ["d"]
    assert found.agents[-1].rating is None
    assert solve("cce", problem, {"missing": "drop_tasks"}).extra["dropped_tasks"] == ["t"]


def test_normalising_is_for_differences_of_scores():
    with pytest.raises(InputError, match="normalise must be none"):
        solve("cce", SCORES, {"normalise": "minmax"})
    assert solve("cce", SCORES, {"normalise": "minmax", "game": "agent_agent_task"}).status == "optimal"


def test_too_large_games_are_refused_before_they_are_stored(monkeypatch):
    monkeypatch.setattr("ratings_core.methods.games._STORED_CELLS", 10)
    with pytest.raises(InputError, match="tasks x agents x agents must be at most 10"):
        solve("cce", SCORES)
