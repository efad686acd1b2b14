"""Allocation of measurements to cells (agent, task): sampling rates that reduce the variance of a figure the most.

If the figure changes by s when the mean of a cell changes by 1, its variance is the sum over cells of s**2 v / n, with v the variance of a
measurement and n the number of measurements of the cell. The best allocation of N more measurements is that of stratified sampling (Neyman
1934) with existing measurements included: the total number in each cell is proportional to |s| sqrt(v), and a cell that already has more
gets no new measurements.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCells:
    """rate: (agents, tasks), probability that the next measurement is in the cell; they sum to 1, and each is at least floor / cells.

    floor, measurements: as given. before, after, uniform: variance of the figure now, expected after `measurements` at these rates, and
    after as many at equal rates. A cell without measurements counts as measured once.
    """

    rate: Floats
    floor: float
    measurements: float
    before: float
    after: float
    uniform: float


def next_cells(sensitivity: ArrayLike, variance: ArrayLike, count: ArrayLike, *, measurements: float, floor: float = 0.1) -> NextCells:
    """Compute the exact optimal rates.

    sensitivity: s (agents, tasks); variance: v of a measurement (agents, tasks), >= 0; count: n (agents, tasks), >= 0; measurements: number
    of new measurements; floor: share of them spread evenly over all cells. If no measurement reduces the variance, all rates are equal.
    Raises `InputError`.
    """
    s, v, n = checks.finite("sensitivity", sensitivity), checks.finite("variance", variance), checks.finite("count", count)
    if s.ndim != 2 or not s.size or v.shape != s.shape or n.shape != s.shape:
        raise InputError("sensitivity", s.shape, f"must have the shape (agents, tasks) of variance {v.shape} and count {n.shape}")
    for name, values in (("variance", v), ("count", n)):
        if (values < 0).any():
            raise InputError(name, float(values.min()), "must be nonnegative")
    total, even = checks.number("measurements", measurements, above=0.0), checks.number("floor", floor, low=0.0, high=1.0)
    pull, held = np.abs(s) * np.sqrt(v), np.maximum(n, 1.0)
    spread = total * even / s.size
    own = _poured(pull.ravel(), held.ravel() + spread, total * (1 - even)).reshape(s.shape)
    rate = (own + spread) / total
    return NextCells(
        rate=rate,
        floor=even,
        measurements=total,
        before=float((pull**2 / held).sum()),
        after=float((pull**2 / (held + total * rate)).sum()),
        uniform=float((pull**2 / (held + total / s.size)).sum()),
    )


def _poured(pull: Floats, held: Floats, total: float) -> Floats:
    """Water filling: max(0, level * pull - held), with the level for which the values sum to `total`."""
    if not pull.any() or total == 0:
        return np.full(len(pull), total / len(pull))
    order = np.argsort(np.divide(held, pull, out=np.full(len(pull), np.inf), where=pull > 0), kind="stable")
    order = order[pull[order] > 0]
    level = (total + np.cumsum(held[order])) / np.cumsum(pull[order])
    opens = held[order] / pull[order]
    last = int(np.flatnonzero(level >= opens)[-1])
    own = np.maximum(0.0, level[last] * pull - held)
    if not own.any():  # `total` is within the rounding error of `held`
        own[order[0]] = 1.0
    return np.asarray(own * (total / own.sum()), np.float64)
