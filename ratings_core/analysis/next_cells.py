"""Which agent to measure on which task next: sampling rates of cells that shrink the variance of one figure fastest.

A figure that moves by s when the mean of a cell moves by 1 varies by the sum over cells of s**2 v / n, v the variance of one
measurement and n how many there are. N more are best spread as in stratified sampling (Neyman 1934), what is there counted in: the
cell's number, old and new, in proportion to |s| sqrt(v), and no cell that has more already gets any.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCells:
    """rate: (agents, tasks), probability that the next measurement is the cell's; they sum to 1, none is below floor / cells.
    before, after, uniform: the figure's variance now, expected after `measurements` by these rates, and after as many spread evenly;
    a cell that was never measured counts as measured once.
    """

    rate: Floats
    floor: float
    measurements: float
    before: float
    after: float
    uniform: float


def next_cells(sensitivity: ArrayLike, variance: ArrayLike, count: ArrayLike, *, measurements: float, floor: float = 0.1) -> NextCells:
    """The best rates, exactly. sensitivity: s (agents, tasks); variance: v, of one measurement, >= 0; count: n, >= 0; floor: share of the
    measurements spread evenly. Where nothing can be gained, all are. Raises `InputError`.
    """
    s, v, n = checks.finite("sensitivity", sensitivity), checks.finite("variance", variance), checks.finite("count", count)
    if s.ndim != 2 or not s.size or v.shape != s.shape or n.shape != s.shape:
        raise InputError("sensitivity", s.shape, f"must be (agents, tasks), as variance {v.shape} and count {n.shape} are")
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
    """max(0, level * pull - held) with the level at which they sum to `total` (water filling)."""
    if not pull.any() or total == 0:
        return np.full(len(pull), total / len(pull))
    order = np.argsort(np.divide(held, pull, out=np.full(len(pull), np.inf), where=pull > 0), kind="stable")
    order = order[pull[order] > 0]
    level = (total + np.cumsum(held[order])) / np.cumsum(pull[order])
    opens = held[order] / pull[order]
    last = int(np.flatnonzero(level >= opens)[-1])
    own = np.maximum(0.0, level[last] * pull - held)
    if not own.any():  # so few that rounding hides them beside what is held
        own[order[0]] = 1.0
    return np.asarray(own * (total / own.sum()), np.float64)
