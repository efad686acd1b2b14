"""Intervals of boards are 95 % normal intervals of the method's standard errors."""

import numpy as np
import pytest

from ratings_core.problems.inputs import PairsInput
from ratings_core.tallies import PairCounts
from services.solve.registry.methods import solve
from services.solve.worker.normal_intervals import with_normal_intervals


@pytest.mark.parametrize(("errors", "corrected"), [("fisher", 1.0), ("sandwich", 0.98 * 100 / 99 + 0.02)])
def test_two_even_agents(errors: str, corrected: float) -> None:
    """Fifty wins each: the difference has variance 1 / (100 / 4) in logits, each agent's share of it is half the difference.

    Of the sandwich, 98 % are divided by 1 minus the leverage of one of 100 games, and 2 % are what the model expects.
    """
    even = PairsInput(("a", "b"), PairCounts.from_dense([[0, 50], [50, 0]]))
    error = 400 / np.log(10) / 10 * np.sqrt(corrected)
    for row in solve("bradley_terry", even, {"standard_errors": errors}).agents:
        assert (row.low, row.rating, row.high) == pytest.approx((1500 - 1.959964 * error, 1500, 1500 + 1.959964 * error), abs=1e-2)


@pytest.mark.parametrize("method", ["bradley_terry", "davidson"])
def test_with_a_prior_an_undefeated_agent_may_have_any_rank_in_its_group_and_groups_are_not_ordered(method: str) -> None:
    """Agents a and b have hundreds of games, c won two games against b, and d and e met nobody else."""
    wins = np.zeros((5, 5))
    wins[0, 1], wins[1, 0], wins[2, 1], wins[3, 4], wins[4, 3] = 400, 100, 2, 300, 200
    problem, parameters = PairsInput(tuple("abcde"), PairCounts.from_dense(wins)), {"prior": 1.0}
    shown = with_normal_intervals(method, problem, parameters, solve(method, problem, parameters))
    assert shown is not None
    ranks = {row.agent: (row.rank_low, row.rank_high) for row in shown.agents}
    assert ranks == {"a": (1, 4), "b": (2, 5), "c": (1, 5), "d": (1, 4), "e": (2, 5)}
