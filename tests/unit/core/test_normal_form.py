"""Games in normal form and the game of two agents on a task: against loops over their definitions, and against each other."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.normal_form import (
    JointDistribution,
    NormalForm,
    cce_gap,
    deviation_gains,
    expected_payoffs,
    mix_regrets,
    regrets,
    uniform_mixes,
)

CHICKEN = NormalForm.of(([[0, 7], [2, 6]], [[0, 2], [7, 6]]), (("dare", "chicken"),) * 2, ("row", "column"))
PENNIES = NormalForm.of(([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]))


@st.composite
def games(draw):
    players = draw(st.integers(2, 4))
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=players, max_size=players)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return NormalForm.of([rng.normal(size=shape) for _ in shape]), rng


def close_to(values):
    return pytest.approx(np.asarray(values), abs=1e-12)


def gains_by_loops(payoffs, dense):
    """The definition, joint by joint."""
    found = [np.zeros(n) for n in dense.shape]
    for a in itertools.product(*map(range, dense.shape)):
        for p, n in enumerate(dense.shape):
            for own in range(n):
                found[p][own] += dense[a] * (payoffs[p][(*a[:p], own, *a[p + 1 :])] - payoffs[p][a])
    return found


@given(games())
@settings(max_examples=40)
def test_gains_and_payoffs_are_their_definitions(case):
    game, rng = case
    dense = rng.dirichlet(np.ones(np.prod(game.shape))).reshape(game.shape)
    play = JointDistribution.from_dense(dense)
    for found, wanted in zip(deviation_gains(game, play), gains_by_loops(game.payoffs, dense), strict=True):
        assert found == close_to(wanted)
    assert expected_payoffs(game, play) == close_to([(dense * tensor).sum() for tensor in game.payoffs])
    assert cce_gap(game, play) == close_to(sum(max(0, own.max()) for own in gains_by_loops(game.payoffs, dense)))


@given(games())
@settings(max_examples=40)
def test_independent_mixes_are_the_product_distribution(case):
    game, rng = case
    mixes = [rng.dirichlet(np.ones(n)) for n in game.shape]
    product = np.ones(())
    for mix in mixes:
        product = np.multiply.outer(product, mix)
    play = JointDistribution.from_dense(product)
    against, paid = game.payoffs_against(mixes), expected_payoffs(game, play)
    for p, gains in enumerate(deviation_gains(game, play)):
        assert against[p] - paid[p] == close_to(gains)
        assert play.marginal(p, game.shape[p]) == close_to(mixes[p])
    assert mix_regrets(game, mixes) == close_to(regrets(game, play))


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_table_is_the_game_of_its_cubes(agents, tasks, seed):
    rng = np.random.default_rng(seed)
    game = AgentAgentTask.of(rng.integers(-3, 4, (agents, tasks)))
    stored = game.normal_form()
    assert (game.shape, game.players, game.strategies) == (stored.shape, stored.players, stored.strategies)
    joints = np.argwhere(np.ones(game.shape))
    assert game.payoffs_at(joints) == close_to(stored.payoffs_at(joints))
    mixes = [rng.dirichlet(np.ones(n)) for n in game.shape]
    for one, other in (
        (game.deviations_at(joints), stored.deviations_at(joints)),
        (game.payoffs_against(mixes), stored.payoffs_against(mixes)),
    ):
        assert all(found == close_to(wanted) for found, wanted in zip(one, other, strict=True))


def test_a_thousand_tasks_of_two_hundred_agents_need_no_cube():
    scores = np.random.default_rng(0).random((200, 1000))
    tracemalloc.start()
    game = AgentAgentTask.of(scores)
    against = game.payoffs_against(uniform_mixes(game.shape))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 40 * 2**20, "bytes; one stored cube of the three has 320 MB"
    assert against[0] == pytest.approx(scores.mean(axis=1) - scores.mean())
    assert against[2][:3] == pytest.approx([np.abs(np.subtract.outer(task, task)).mean() for task in scores.T[:3]])
    play = JointDistribution.of([[0, 1, 2], [3, 4, 5]], [0.25, 0.75], game.shape)
    assert cce_gap(game, play) > 0


def test_chicken_has_its_correlated_equilibrium():
    """A third each on all joints but the crash (Aumann 1974)."""
    play = JointDistribution.of([[0, 1], [1, 0], [1, 1]], [1 / 3] * 3, CHICKEN.shape)
    assert cce_gap(CHICKEN, play) == 0
    assert expected_payoffs(CHICKEN, play) == close_to([5, 5])
    assert cce_gap(CHICKEN, JointDistribution.of([[0, 0]], [1.0], CHICKEN.shape)) == close_to(4)


def test_matching_pennies_are_in_equilibrium_at_even_odds_only():
    assert mix_regrets(PENNIES, uniform_mixes(PENNIES.shape)) == close_to([0, 0])
    assert mix_regrets(PENNIES, [[1, 0], [1, 0]]) == close_to([0, 2])


def test_equal_joints_add_up_and_unplayed_ones_go():
    play = JointDistribution.of([[1, 0], [0, 0], [1, 0], [0, 1]], [0.25, 0.5, 0.25, 0], (2, 2))
    assert play.joints.tolist() == [[0, 0], [1, 0]]
    assert play.probability == close_to([0.5, 0.5])


def test_names_default_to_numbers():
    assert PENNIES.strategies == (("0", "1"), ("0", "1"))
    assert CHICKEN.players == ("row", "column")
    assert AgentAgentTask.of([[1.0]], ["a"], ["t"]).strategies == (("a",), ("a",), ("t",))


@pytest.mark.parametrize(
    ("payoffs", "options", "argument"),
    [
        ((), {}, "payoffs"),
        (([1.0, 2.0],), {}, "payoffs"),
        (([[1.0]], [[1.0, 2.0]]), {}, r"payoffs\[1\]"),
        (([[1.0, 2.0]], [1.0, 2.0]), {}, r"payoffs\[1\]"),
        (([[1.0], [1.0, 2.0]], [[1.0]]), {}, r"payoffs\[0\]"),
        ((np.zeros((0, 2)), np.zeros((0, 2))), {}, r"payoffs\[0\]"),
        (([[np.nan]], [[1.0]]), {}, r"payoffs\[0\]\[0, 0\]"),
        (([[1.0]], [[np.inf]]), {}, r"payoffs\[1\]\[0, 0\]"),
        (([[1e200]], [[1.0]]), {}, r"payoffs\[0\]\[0, 0\]"),
        (([[1.0]], [[1.0]]), {"strategies": (("a",),)}, "strategies"),
        (([[1.0, 2.0]], [[1.0, 2.0]]), {"strategies": (("a",), ("b", "b"))}, r"strategies\[1\]"),
        (([[1.0]], [[1.0]]), {"players": ("a", "a")}, "players"),
        (([[1.0]], [[1.0]]), {"players": ("a",)}, "players"),
    ],
)
def test_bad_games_are_refused(payoffs, options, argument):
    with pytest.raises(InputError, match=argument):
        NormalForm.of(payoffs, **options)


@pytest.mark.parametrize(
    ("joints", "probability", "argument"),
    [
        (np.zeros((0, 2), int), [], "joints"),
        ([[0]], [1.0], "joints"),
        ([[0.5, 0]], [1.0], "joints"),
        ([[0, 2]], [1.0], r"joints\[0, 1\]"),
        ([[0, -1]], [1.0], r"joints\[0, 1\]"),
        ([[0, 0]], [0.5, 0.5], "probability"),
        ([[0, 0], [1, 1]], [1.5, -0.5], "probability"),
        ([[0, 0]], [0.9], "probability"),
        ([[0, 0]], [np.nan], "probability"),
    ],
)
def test_bad_distributions_are_refused(joints, probability, argument):
    with pytest.raises(InputError, match=argument):
        JointDistribution.of(joints, probability, (2, 2))


@pytest.mark.parametrize("dense", [[1.0], np.zeros((2, 2)), np.zeros((0, 2))])
def test_bad_dense_distributions_are_refused(dense):
    with pytest.raises(InputError, match="probability"):
        JointDistribution.from_dense(dense)


@pytest.mark.parametrize("mixes", [[[1.0, 0.0]], [[1.0, 0.0], [1.0]], [[1.0, 0.0], [0.5, 0.4]], [[1.0, 0.0], [2.0, -1.0]]])
def test_bad_mixes_are_refused(mixes):
    with pytest.raises(InputError, match="mixes"):
        mix_regrets(PENNIES, mixes)


@pytest.mark.parametrize("scores", [[], [1.0], [[np.nan]], [[1e200]], [["a"]]])
def test_bad_tables_are_refused(scores):
    with pytest.raises(InputError, match="scores"):
        AgentAgentTask.of(scores)


@pytest.mark.parametrize("options", [{"agents": ["a"]}, {"agents": ["a", "a"]}, {"tasks": []}])
def test_bad_names_are_refused(options):
    with pytest.raises(InputError, match=r"agents|tasks"):
        AgentAgentTask.of([[1.0], [2.0]], **options)
