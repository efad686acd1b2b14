"""The top of a margin matrix: the smallest set whose members beat every agent outside.

Agent a is at least as good as agent b if M(a, b) >= 0; agents that never met tie. This relation is complete, so its strongly connected
components form a chain, and every optimal lottery has its support in the first component. Strict wins do not define such a set for the
lottery of largest entropy.
"""

import numpy as np
from numpy.typing import NDArray

from ratings_core.solution import Floats


def weak_wins(margins: Floats) -> NDArray[np.int64]:
    """For each agent, the number of agents (itself included) that it is at least as good as, (m,)."""
    return np.asarray(np.count_nonzero(margins >= 0, axis=1), np.int64)


def top_component(margins: Floats, alive: NDArray[np.int64], wins: NDArray[np.int64]) -> NDArray[np.int64]:
    """The top component among the agents `alive` (ids, ascending). wins: (m,), `weak_wins` against `alive`; other entries are ignored.

    An agent with the most weak wins reaches every agent in at most two steps of the relation (Landau 1953), so it is in the top component.
    The component consists of all agents that reach it. The cost is one row per member.
    """
    inside = np.zeros(len(alive), bool)
    inside[np.argmax(wins[alive])] = True
    frontier = alive[inside]
    while frontier.size:
        reaching = (margins[np.ix_(frontier, alive)] <= 0).any(axis=0) & ~inside
        inside |= reaching
        frontier = alive[reaching]
    return alive[inside]
