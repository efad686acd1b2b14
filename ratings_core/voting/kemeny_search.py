"""Good orders of many agents by local search, and a fast upper bound from majority cycles of three agents."""

import numpy as np

from ratings_core.kernels.compile import unlocked
from ratings_core.solution import Floats
from ratings_core.voting.ties import Ints


def searched_order(margins: Floats, place: Ints) -> list[int]:
    """The better of two local optima. The searches start from the order by summed margins (Borda) and by counted victories (Copeland).

    margins: (k, k), antisymmetric; place: (k,), orders agents that tie in a starting order.
    """
    starts = [np.lexsort((place, -total)) for total in (margins.sum(axis=1), np.sign(margins).sum(axis=1))]
    return max((improved(margins, start) for start in starts), key=lambda order: gain_of(margins, order))


def improved(margins: Floats, order: Ints) -> list[int]:
    """Improve `order` by moving single agents until no such move increases the gain."""
    optimum = np.array(order, np.int64)
    _insert(margins, optimum, 1e-9 * float(np.abs(margins).max(initial=0.0)))
    return [int(agent) for agent in optimum]


def gain_of(margins: Floats, order: list[int]) -> float:
    """Gain of an order: the sum of margins of earlier over later agents."""
    return float(np.triu(margins[np.ix_(order, order)], 1).sum())


def packing_bound(margins: Floats) -> float:
    """Upper bound of the gain of any order.

    An order must reverse at least one victory of each cycle of three agents. The bound is the sum of all victories minus twice the weakest
    victory of each cycle in a packing: every victory's margin is shared out among the cycles that use it.
    """
    left = np.maximum(margins, 0.0)
    return float(left.sum()) - 2 * float(_pack(left))


@unlocked
def _insert(margins: Floats, order: Ints, least: float) -> None:
    k, again = len(order), True
    while again:
        again = False
        for i in range(k):
            agent, best, to, change = order[i], least, i, 0.0
            for j in range(i - 1, -1, -1):
                change += margins[agent, order[j]]
                if change > best:
                    best, to = change, j
            change = 0.0
            for j in range(i + 1, k):
                change -= margins[agent, order[j]]
                if change > best:
                    best, to = change, j
            if to != i:
                step = 1 if to > i else -1
                for j in range(i, to, step):
                    order[j] = order[j + step]
                order[to], again = agent, True


@unlocked
def _pack(left: Floats) -> float:
    packed, k = 0.0, len(left)
    for a in range(k):
        for b in range(k):
            for c in range(k):
                if left[a, b] > 0 and left[b, c] > 0 and left[c, a] > 0:
                    weakest = min(left[a, b], left[b, c], left[c, a])
                    left[a, b] -= weakest
                    left[b, c] -= weakest
                    left[c, a] -= weakest
                    packed += weakest
    return packed
