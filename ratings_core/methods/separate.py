"""Groups of agents that never met: no game orders them against each other."""

import numpy as np
from numpy.typing import NDArray

from ratings_core.graphs import weak_components
from ratings_core.tallies import PairCounts


def separate_groups(counts: PairCounts, agents: int, rated: NDArray[np.int64] | None = None) -> dict[str, object]:
    """The field of `extra` with the number of groups of agents that no chain of games links; empty if all are linked.

    Methods with a prior, and online methods, rate and rank all agents nevertheless. Agents without any result count as no group.

    Args:
        counts: Results of pairs of the agents.
        agents: Number of agents.
        rated: Ids of the agents that the method rates; None for all. Groups without such an agent do not count, so the number
            can be 0 or 1: no rating of theirs could be taken to compare with others.
    """
    if not len(counts):
        return {}
    labels = weak_components(counts.first, counts.second, agents)
    groups = len(np.unique(labels[counts.first]))
    if groups == 1:
        return {}
    return {"separate_groups": groups if rated is None else len(np.unique(labels[rated]))}
