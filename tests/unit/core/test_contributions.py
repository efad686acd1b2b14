"""Parts of ratings: their definition, their sums, and what they say of the Atari agents."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.analysis.contributions import contributions
from ratings_core.equilibria import cce, deviation, lle
from ratings_core.errors import InputError
from ratings_core.games import AgentAgentTask, JointDistribution, KingOfTheHill, NormalForm, agent_vs_agent_vs_task, deviation_gains

TABLE = list(csv.reader((Path(__file__).parents[2] / "golden/deviation/atari_table3.csv").read_text().splitlines()))
AGENTS, TASKS = TABLE[0][1:], [row[0] for row in TABLE[1:]]
SCORES = np.array([[float(score) for score in row[1:]] for row in TABLE[1:]]).T


@given(st.lists(st.integers(1, 3), min_size=2, max_size=4).map(tuple), st.integers(0, 10**6))
@settings(max_examples=30)
def test_parts_are_their_definition_and_sum_to_the_gains(shape, seed):
    rng = np.random.default_rng(seed)
    game = NormalForm.of([rng.normal(size=shape) for _ in shape])
    dense = rng.dirichlet(np.ones(np.prod(shape))).reshape(shape)
    play = JointDistribution.from_dense(dense)
    player, by = (int(p) for p in rng.integers(len(shape), size=2))
    wanted = np.zeros((shape[player], shape[by]))
    for own, a in itertools.product(range(shape[player]), itertools.product(*map(range, shape))):
        G = game.payoffs[player]
        wanted[own, a[by]] += dense[a] * (G[(*a[:player], own, *a[player + 1 :])] - G[a])
    found = contributions(game, play, player=player, by=by)
    assert found.values == pytest.approx(wanted, abs=1e-12)
    assert found.ratings == pytest.approx(deviation_gains(game, play)[player], abs=1e-12)


def test_by_products_of_marginals_as_printed_they_would_not_sum_to_the_rating():
    """Liu et al., sec. 4.3, as printed: x_j(a_j) (u(a_j, x_-j) - u(a_i, a_j, x_-i,-j)) with marginals x."""
    game = NormalForm.of(([[0, 7], [2, 6]], [[0, 2], [7, 6]]))
    play = JointDistribution.of([[0, 1], [1, 0], [1, 1]], [1 / 3] * 3, (2, 2))
    row, column = play.marginal(0, 2), play.marginal(1, 2)
    G = game.payoffs[0]
    printed = column * (row @ G - G)
    assert -printed.sum(axis=1) != pytest.approx(deviation_gains(game, play)[0], abs=0.1)
    assert contributions(game, play).ratings == pytest.approx(deviation_gains(game, play)[0])
    mixes = np.outer(row, column)
    independent = JointDistribution.from_dense(mixes)
    assert -printed.sum(axis=1) == pytest.approx(contributions(game, independent).ratings), "where play is independent only the sign is off"


@pytest.mark.parametrize("player", [0, 1, 2])
@pytest.mark.parametrize("by", [0, 1, 2])
@pytest.mark.parametrize("name", ["stored", "hill", "task"])
def test_parts_of_cce_and_limiting_logit_ratings_are_those_of_their_joints(name, player, by, monkeypatch):
    monkeypatch.setattr("ratings_core.analysis.contributions._CELLS", 50)
    rng = np.random.default_rng(5)
    half = rng.normal(size=(3, 4, 4))
    game = {
        "stored": NormalForm.of([rng.normal(size=(3, 2, 4)) for _ in range(3)]),
        "hill": KingOfTheHill.of(half - half.transpose(0, 2, 1)),
        "task": AgentAgentTask.of(half[0]),
    }[name]
    near, end = cce(game), lle(game)
    everywhere = np.argwhere(np.ones(game.shape))
    share = near.play.probability(everywhere)
    independent = np.prod([end.marginals[p][everywhere[:, p]] for p in range(3)], axis=0)
    for found, dense, ratings in ((near.play, share, near.by_player), (end.marginals, independent, end.by_player)):
        parts = contributions(game, found, player=player, by=by)
        wanted = contributions(game, JointDistribution.of(everywhere, dense / dense.sum(), game.shape), player=player, by=by)
        assert parts.values == pytest.approx(wanted.values, abs=1e-9)
        assert parts.ratings == pytest.approx(ratings[player], abs=1e-9)
        assert (parts.strategies, parts.parts) == (game.strategies[player], game.strategies[by])


def test_what_is_played_has_to_be_of_the_game():
    game, other = (NormalForm.of([np.eye(2), np.eye(2)]) for _ in range(2))
    with pytest.raises(InputError, match="play must belong to the given game"):
        contributions(game, cce(other).play)
    with pytest.raises(InputError, match="mixes"):
        contributions(game, [[1.0, 0.0]])


def test_what_ties_the_top_of_the_atari_agents_and_lifts_the_human():
    """Marris et al., appendix D.1: each of the three is far ahead where the others are not; human does well where agents struggle."""
    game = agent_vs_agent_vs_task(SCORES, agents=AGENTS, tasks=TASKS).game
    found = deviation(game)
    parts = contributions(game, found.play)
    assert parts.ratings == pytest.approx(found.ratings, abs=1e-9)
    assert contributions(game, found.play, by=1).ratings == pytest.approx(found.ratings, abs=1e-9)
    best = {agent: next(iter(parts.of(agent))) for agent in ("r2d2(bandit)", "muzero")}
    assert best == {"r2d2(bandit)": "solaris", "muzero": "asteroids"}
    assert {"pitfall", "private-eye"} == set(list(parts.of("agent57"))[:2])
    human, private_eye = AGENTS.index("human"), TASKS.index("private-eye")
    assert np.count_nonzero(parts.values[:, private_eye] > parts.values[human, private_eye]) == 2
    assert next(iter(parts.of("human"))) == "private-eye"


@pytest.mark.parametrize("options", [{"player": 2}, {"by": -3}, {"player": True}, {"by": 0.5}])
def test_bad_seats_are_refused(options):
    game = NormalForm.of([np.eye(2), np.eye(2)])
    with pytest.raises(InputError, match=next(iter(options))):
        contributions(game, JointDistribution.of([[0, 0]], [1.0], (2, 2)), **options)


def test_bad_names_and_distributions_are_refused():
    game = NormalForm.of([np.eye(2), np.eye(2)])
    with pytest.raises(InputError, match="strategy"):
        contributions(game, JointDistribution.of([[0, 0]], [1.0], (2, 2))).of("nobody")
    with pytest.raises(InputError, match="joints"):
        contributions(game, JointDistribution.of([[0, 2]], [1.0], (2, 3)))
