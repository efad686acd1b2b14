"""All best orders of up to 20 agents, by dynamic programming over the sets of agents placed first (Held and Karp 1962)."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import kernel, unlocked
from ratings_core.solution import Floats
from ratings_core.voting.ties import Ints, Mask

MOST_AGENTS: Final = 20
"""Largest number of agents: 2**20 sets of 8 bytes each and ten million steps take a tenth of a second."""
_ROUNDING: Final = 1e-12


class BestOrders(NamedTuple):
    """The best orders. order: the best order whose first agent has the lowest `place`, then whose second agent has, and so on.

    gain: its sum of margins of earlier over later agents; before: bool (k, k), whether a is before b in some best order.
    """

    order: list[int]
    gain: float
    before: Mask


def best_orders(margins: Floats, place: Ints) -> BestOrders:
    """Compute the orders with the largest sum of margins of earlier over later agents.

    margins: (k, k), antisymmetric, k <= 20; place: (k,), distinct, chooses among the best orders. Sums that differ only by rounding errors,
    relative to the sum of all |margins|, are equal.
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
    """Sum of each subset of `rows`, (columns, 2**rows): the gain of placing an agent (column) after that subset."""
    sums = np.zeros((1, rows.shape[1]))
    for row in rows:
        sums = np.concatenate([sums, sums + row])
    return np.ascontiguousarray(sums.T)


@unlocked
def _best(low: Floats, high: Floats, k: int, half: int) -> Floats:
    """Largest gain among the members of each set of agents, if these are placed first (2**k,)."""
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


@unlocked
def _optimal(best: Floats, low: Floats, high: Floats, k: int, half: int, slack: float) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mark the sets that some best order starts with (2**k,), and for each agent the agents before it in some best order, as bits (k,)."""
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
