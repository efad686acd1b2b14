"""Designs of next measurements: against a solver that knows nothing of water filling, and the laws."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ratings_core.analysis.next_cells import next_cells
from ratings_core.errors import InputError


def drawn(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (3, 4)), rng.uniform(0.1, 2, (3, 4)), rng.integers(0, 9, (3, 4)).astype(float)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # some versions of scipy step over a bound
@pytest.mark.parametrize("floor", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_rates_are_better(seed, floor):
    s, v, n = drawn(seed)
    found = next_cells(s, v, n, measurements=25, floor=floor)

    def after(rate):
        return float((s**2 * v / (np.maximum(n, 1) + 25 * rate.reshape(s.shape))).sum())

    best = minimize(after, np.full(12, 1 / 12), bounds=[(floor / 12, 1)] * 12, constraints={"type": "eq", "fun": lambda r: r.sum() - 1},
                    method="SLSQP", options={"ftol": 1e-14, "maxiter": 500})  # fmt: skip
    assert found.after == pytest.approx(after(found.rate.ravel()))
    assert found.after <= best.fun * (1 + 1e-7)
    assert (found.before, found.uniform) == (pytest.approx(after(np.zeros(12))), pytest.approx(after(np.full(12, 1 / 12))))
    assert found.rate.sum() == pytest.approx(1)
    assert found.rate.min() >= floor / 12 * (1 - 1e-12)


def test_renaming_renames_and_nothing_to_gain_is_spread_evenly():
    s, v, n = drawn(9)
    turned = next_cells(s[::-1], v[::-1], n[::-1], measurements=7).rate
    assert turned[::-1] == pytest.approx(next_cells(s, v, n, measurements=7).rate)
    assert next_cells(np.zeros((2, 2)), np.ones((2, 2)), np.ones((2, 2)), measurements=3).rate == pytest.approx(np.full((2, 2), 0.25))


@pytest.mark.parametrize(("argument", "value"), [("variance", -1.0), ("count", -1.0), ("sensitivity", np.nan)])
def test_what_makes_no_sense_is_refused(argument, value):
    given = {"sensitivity": np.ones((2, 2)), "variance": np.ones((2, 2)), "count": np.ones((2, 2))}
    given[argument] = np.full((2, 2), value)
    with pytest.raises(InputError, match=argument):
        next_cells(**given, measurements=1)
