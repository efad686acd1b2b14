"""Near copies at chosen equilibria: where ratings jump it is because the targets do, and the solve itself stays exact and short."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ratings_core.equilibria import CCEOptions, LLEOptions, cce, deviation, lle
from ratings_core.equilibria.cce_dual import Dual, shortfall, shortfalls
from ratings_core.games import AgentAgentTask, NormalForm
from ratings_core.games.tilted import contractions
from ratings_core.solution import Status
from tests.unit.core.rational_deviation import deviation_ratings

AGENTS, TASKS, COPIES = 6, 5, 10
NOISE = 1e-9


def table(seed):
    return np.random.default_rng(seed).beta(0.5, 0.5, size=(AGENTS, TASKS))


def near(scores, task, noise):
    return np.hstack([scores, scores[:, [task]] + noise * np.random.default_rng(task).normal(size=(len(scores), COPIES))])


def counted(task):
    """Targets in which a task stands for itself and its copies."""
    size = np.where(np.arange(TASKS) == task, COPIES + 1, 1)
    return [np.full(AGENTS, 1 / AGENTS), np.full(AGENTS, 1 / AGENTS), size / size.sum()]


@pytest.mark.parametrize("method", [cce, lle])
@pytest.mark.parametrize(("seed", "task"), [(0, 0), (1, 4), (9, 2)])
def test_near_copies_of_a_task_are_strategies_of_their_own_in_the_targets_and_nothing_else_jumps(method, seed, task):
    scores = table(seed)
    alone = method(AgentAgentTask.of(scores)).ratings
    weighted = method(AgentAgentTask.of(scores), target=counted(task)).ratings
    found = method(AgentAgentTask.of(near(scores, task, NOISE)))
    assert found.ratings == pytest.approx(weighted, abs=1e-6)
    assert np.abs(weighted - alone).max() > 0.02


def test_exact_copies_are_one_strategy_and_jump_nowhere():
    scores = table(0)
    for method in (cce, lle):
        assert method(AgentAgentTask.of(near(scores, 0, 0.0))).ratings == pytest.approx(method(AgentAgentTask.of(scores)).ratings, abs=1e-9)


def test_a_path_that_cannot_tell_copies_apart_ends_at_its_regret_and_not_after_thousands_of_steps():
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 0.5, size=(20, 18)) * rng.uniform(0.3, 1, size=(20, 1))
    copies = scores[:, [9]] + 1e-8 * np.random.default_rng(9).normal(size=(20, COPIES))
    found = lle(AgentAgentTask.of(np.hstack([scores, copies])), options=LLEOptions(max_steps=500))
    assert found.certificate.value <= 1e-7
    assert found.stats["steps"] < 200


CYCLE = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def with_near_copy(noise, players, seed):
    """Rock, paper, scissors and a copy of rock that differs by noise, for two players, or for three with a third of random payoffs."""
    rng = np.random.default_rng(seed)
    change = noise * rng.normal(size=(4, 4))
    change[:3, :3] = 0.0
    copied = np.array([0, 1, 2, 0])
    duel = CYCLE[np.ix_(copied, copied)] + change - change.T
    if players == 2:
        return NormalForm.of([duel, -duel])
    stack = np.stack([duel, 0.5 * duel, -0.2 * duel], -1)
    return NormalForm.of([stack, -stack, rng.normal(size=stack.shape)])


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("digits", range(1, 17))
def test_a_near_copy_in_a_cycle_leaves_an_equilibrium_within_the_tolerance_at_any_noise(digits, players):
    for seed in range(2):
        game = with_near_copy(10.0**-digits, players, seed)
        for method in (cce, lle):
            assert method(game).status is Status.OPTIMAL


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("digits", range(1, 17))
def test_deviation_ratings_with_a_near_copy_in_a_cycle_are_exact_at_any_noise(digits, players):
    """With tolerances, 21 of 640 such games were refused at noise of 1e-4 to 1e-8, and smaller noise gave wrong certificates."""
    for seed in range(5):
        assert deviation(with_near_copy(10.0**-digits, players, seed)).certificate.value <= 1e-13


@pytest.mark.parametrize(("digits", "seed"), [(7, 2), (9, 5)])
def test_deviation_ratings_with_a_near_copy_are_those_of_rational_arithmetic(digits, seed):
    """Payoffs are rounded to 14 digits, which changes differences of copies, and so ratings, by 1e-14 over the noise."""
    decimals = digits + 1
    payoffs = [np.round(own, decimals) for own in with_near_copy(10.0**-digits, 3, seed).payoffs]
    shape = payoffs[0].shape
    whole = [{joint: Fraction(round(own[joint] * 10**decimals), 10**decimals) for joint in np.ndindex(shape)} for own in payoffs]
    exact = np.array([float(rating) for rating in deviation_ratings(whole, shape)])
    found = deviation(NormalForm.of(payoffs))
    assert np.concatenate(found.by_player) == pytest.approx(exact, abs=100 * 1e-14 * 10.0**digits)


def test_where_multipliers_are_beyond_float64_the_equilibrium_has_slack_that_the_certificate_counts():
    game = with_near_copy(1e-6, 2, 0)
    answer = cce(game)
    assert answer.slack == 5e-7
    assert answer.certificate.value == pytest.approx(5e-7, rel=1e-3)
    allowed = cce(game, options=CCEOptions(eps=5e-7 * answer.units[0]))
    assert allowed.slack == 0
    assert answer.ratings == pytest.approx(allowed.ratings, abs=1e-9)
    assert answer.relative_entropy == pytest.approx(allowed.relative_entropy, abs=1e-6)


@pytest.mark.parametrize("noise", [1e-7, 1e-9, 1e-12])
def test_a_copy_that_differs_by_less_than_the_tolerance_is_played_as_its_target_says(noise):
    answer = cce(with_near_copy(noise, 2, 1))
    counted_twice = cce(with_near_copy(0.0, 2, 1), target="even", options=CCEOptions(merge=False))
    assert answer.relative_entropy == pytest.approx(counted_twice.relative_entropy, abs=1e-6)
    assert answer.slack == 0


def test_gains_that_are_no_numbers_are_never_within_the_tolerance():
    """Python's max(0.0, nan) is 0.0, which would make such a point the best one."""
    game = with_near_copy(0.0, 2, 0)
    logs = tuple(np.log(np.full(n, 1 / n)) for n in game.shape)
    dual = Dual(contractions(game), logs, np.zeros(8), np.ones(8), 16)
    at = replace(dual.moments(np.zeros(8)), gains=(np.full(4, np.nan), np.zeros(4)))
    excess, gap = shortfalls(dual, np.ones(8), at)
    assert np.isnan([excess, gap, shortfall(excess, gap), shortfall(0.0, gap)]).all()
