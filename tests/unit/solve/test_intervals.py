"""Intervals of boards are 95 % normal intervals of the method's standard errors."""

import numpy as np
import pytest

from ratings_core.problems.inputs import PairsInput
from ratings_core.tallies import PairCounts
from services.solve.registry.methods import solve


@pytest.mark.parametrize(("errors", "corrected"), [("fisher", 1.0), ("sandwich", 0.98 * 100 / 99 + 0.02)])
def test_two_even_agents(errors: str, corrected: float) -> None:
    """Fifty wins each: the difference has variance 1 / (100 / 4) in logits, each agent's share of it is half the difference.

    Of the sandwich, 98 % are divided by 1 minus the leverage of one of 100 games, and 2 % are what the model expects.
    """
    even = PairsInput(("a", "b"), PairCounts.from_dense([[0, 50], [50, 0]]))
    error = 400 / np.log(10) / 10 * np.sqrt(corrected)
    for row in solve("bradley_terry", even, {"standard_errors": errors}).agents:
        assert (row.low, row.rating, row.high) == pytest.approx((1500 - 1.959964 * error, 1500, 1500 + 1.959964 * error), abs=1e-2)
