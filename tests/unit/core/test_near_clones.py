"""Near copies at chosen equilibria: where ratings jump it is because the targets do, and the solve itself stays exact and short."""

import numpy as np
import pytest

from ratings_core.equilibria import LLEOptions, cce, lle
from ratings_core.games import AgentAgentTask

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
