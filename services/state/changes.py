"""Tracks which values of a pool changed since they were last published. The tracker is not part of the pool's content."""

import numpy as np
from numpy.typing import NDArray


class ChangeTracker:
    """Flags the agents with unpublished values.

    Attributes:
        version: A number that rises with every change of the pool.
    """

    def __init__(self) -> None:
        self.version = 0
        self._published = -1
        self._agents = 0
        self._changed = np.zeros(0, np.bool_)

    @property
    def any(self) -> bool:
        """Whether the pool has changes that `take` has not returned yet."""
        return self._published != self.version

    def take(self) -> NDArray[np.int32]:
        """Ids of the agents whose values changed since the last call, ascending. These agents then count as published."""
        ids = np.flatnonzero(self._changed).astype(np.int32)
        self._changed[:] = False
        self._published = self.version
        return ids

    def touch(self, ids: NDArray[np.int32], agents: int) -> None:
        """Mark agents as changed.

        Args:
            ids: Ids of the changed agents.
            agents: Number of agents in the pool, new agents included.
        """
        self.reach(agents)
        self._changed[ids] = True

    def reach(self, agents: int) -> None:
        """Make room for flags of `agents` agents. Flags of new agents are not set."""
        self._agents = max(self._agents, agents)
        if len(self._changed) < agents:
            more = max(agents, 2 * len(self._changed)) - len(self._changed)
            self._changed = np.concatenate([self._changed, np.zeros(more, np.bool_)])

    def mark(self, ids: NDArray[np.int32]) -> None:
        """Mark agents that `take` returned as changed again, because publishing them failed."""
        self._changed[ids] = True
        self.mark_head()

    def mark_all(self) -> None:
        """Mark all agents and the head as changed."""
        self._changed[: self._agents] = True
        self.mark_head()

    def mark_head(self) -> None:
        """Mark the pool's head (its summary in the store) as changed."""
        self._published = -1

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return self._changed.nbytes
