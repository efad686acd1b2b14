"""All best orders of up to 20 agents at once, by dynamic programming over who has been placed so far (Held and Karp 1962)."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats
from ratings_core.voting.ties import Ints, Mask

MOST_AGENTS: Final = 20
"""2**20 sets of 8 bytes, ten million steps: a tenth of a second."""
_ROUNDING: Final = 1e-12


class BestOrders(NamedTuple):
    """order: the best order whose first agent comes first in `place`, then its second, and so on; gain: its sum of margins, earlier
    over later; before: bool (k, k), a is before b in some best order.
    """

    order: list[int]
    gain: float
    before: Mask


def best_orders(margins: Floats, place: Ints) -> BestOrders:
    """Orders of largest sum of margins of earlier over later agents. margins: (k, k), antisymmetric, k <= 20; place: (k,), distinct.

    Sums of whole numbers are exact; others tie where they differ by rounding of the largest.
    """
    k = len(margins)
    half = k // 2
    low, high = _sums(margins[:half]), _sums(margins[half:])
    best = _best(low, high, k, half)
    gain = float(best[-1])
    slack = _ROUNDING * float(np.abs(margins).sum())
    optimal, earlier = _optimal(best, low, high, k, half, slack)
    before = (earlier[None, :] >> np.arange(k)[:, None] & 1).astype(np.bool_)
    return BestOrders(_first(optimal, best, low, high, half, np.argsort(place), slack).tolist(), gain, before)


def _sums(rows: Floats) -> Floats:
    """Sums of each subset of `rows`, (columns, 2**rows): what an agent adds when placed after that subset."""
    sums = np.zeros((1, rows.shape[1]))
    for row in rows:
        sums = np.concatenate([sums, sums + row])
    return np.ascontiguousarray(sums.T)


@kernel
def _best(low: Floats, high: Floats, k: int, half: int) -> Floats:
    """The largest gain of placing each set of agents first."""
    best = np.zeros(1 << k)
    mask = (1 << half) - 1
    for placed in range(1, 1 << k):
        most = -np.inf
        for last in range(k):
            if placed >> last & 1:
                rest = placed ^ (1 << last)
                most = max(most, best[rest] + (low[last, rest & mask] + high[last, rest >> half]))
        best[placed] = most
    return best


@kernel
def _optimal(best: Floats, low: Floats, high: Floats, k: int, half: int, slack: float) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Sets that some best order starts with, and for each agent all that precede it in some best order, as bits."""
    optimal, earlier = np.zeros(1 << k, np.bool_), np.zeros(k, np.int64)
    mask = (1 << half) - 1
    optimal[-1] = True
    for placed in range((1 << k) - 1, 0, -1):
        if optimal[placed]:
            for last in range(k):
                rest = placed ^ (1 << last)
                if placed >> last & 1 and best[rest] + (low[last, rest & mask] + high[last, rest >> half]) >= best[placed] - slack:
                    optimal[rest] = True
                    earlier[last] |= rest
    return optimal, earlier


@kernel
def _first(
    optimal: NDArray[np.bool_], best: Floats, low: Floats, high: Floats, half: int, preferred: NDArray[np.int64], slack: float
) -> NDArray[np.int64]:
    order, placed, mask = np.zeros(len(preferred), np.int64), 0, (1 << half) - 1
    for i in range(len(preferred)):
        for agent in preferred:
            more = placed | 1 << agent
            step = low[agent, placed & mask] + high[agent, placed >> half]
            if more != placed and optimal[more] and best[placed] + step >= best[more] - slack:
                order[i], placed = agent, more
                break
    return order
