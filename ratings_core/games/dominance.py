"""The top of a margin matrix: the smallest set whose members beat everyone outside.

Relation: a is at least as good as b where M(a, b) >= 0 (agents that never met tie). It is complete, so its strongly connected
components form a chain, and every optimal lottery lives in the first one. Strict wins do not define such a set for the lottery
of largest entropy.
"""

import numpy as np
from numpy.typing import NDArray

from ratings_core.solution import Floats


def weak_wins(margins: Floats) -> NDArray[np.int64]:
    """How many agents, itself included, each agent is at least as good as, (m,)."""
    return np.asarray(np.count_nonzero(margins >= 0, axis=1), np.int64)


def top_component(margins: Floats, alive: NDArray[np.int64], wins: NDArray[np.int64]) -> NDArray[np.int64]:
    """The top component among the agents `alive` (ids, ascending); wins: `weak_wins` counted among them (others ignored).

    An agent of most weak wins is at least as good as everyone in two steps (Landau 1953), so it is in the top component, which
    is every agent that reaches it. Costs one row for each of the component's members.
    """
    inside = np.zeros(len(alive), bool)
    inside[np.argmax(wins[alive])] = True
    frontier = alive[inside]
    while frontier.size:
        reaching = (margins[np.ix_(frontier, alive)] <= 0).any(axis=0) & ~inside
        inside |= reaching
        frontier = alive[reaching]
    return alive[inside]
