"""Intervals of boards are 95 % normal intervals of the method's standard errors."""

import numpy as np
import pytest

from ratings_core.problems.inputs import PairsInput
from ratings_core.tallies import PairCounts
from services.solve.registry.methods import solve


@pytest.mark.parametrize("errors", ["fisher", "sandwich"])
def test_two_even_agents(errors: str) -> None:
    """Fifty wins each: the difference has variance 1 / (100 / 4) in logits, each agent's share of it is half the difference."""
    even = PairsInput(("a", "b"), PairCounts.from_dense([[0, 50], [50, 0]]))
    error = 400 / np.log(10) / 10
    for row in solve("bradley_terry", even, {"standard_errors": errors}).agents:
        assert (row.low, row.rating, row.high) == pytest.approx((1500 - 1.959964 * error, 1500, 1500 + 1.959964 * error), abs=1e-4)
