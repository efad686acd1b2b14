"""Which values of a pool changed since they were last published. No part of the pool's content."""

import numpy as np
from numpy.typing import NDArray


class ChangeTracker:
    """version: rises with every change of the pool."""

    def __init__(self) -> None:
        self.version = 0
        self._published = -1
        self._agents = 0
        self._changed = np.zeros(0, np.bool_)

    @property
    def any(self) -> bool:
        """Whether anything changed since `take`."""
        return self._published != self.version

    def take(self) -> NDArray[np.int32]:
        """Ids of the agents whose values changed since the last call, ascending. From now on they count as published."""
        ids = np.flatnonzero(self._changed).astype(np.int32)
        self._changed[:] = False
        self._published = self.version
        return ids

    def touch(self, ids: NDArray[np.int32], agents: int) -> None:
        """The values of these agents changed. agents: of the pool, new ones included."""
        self.reach(agents)
        self._changed[ids] = True

    def reach(self, agents: int) -> None:
        """The pool has that many agents."""
        self._agents = max(self._agents, agents)
        if len(self._changed) < agents:
            more = max(agents, 2 * len(self._changed)) - len(self._changed)
            self._changed = np.concatenate([self._changed, np.zeros(more, np.bool_)])

    def mark(self, ids: NDArray[np.int32]) -> None:
        """These agents were not published after all."""
        self._changed[ids] = True
        self.mark_head()

    def mark_all(self) -> None:
        """Nothing was published."""
        self._changed[: self._agents] = True
        self.mark_head()

    def mark_head(self) -> None:
        """What readers know of the pool as a whole is to be published again."""
        self._published = -1

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._changed.nbytes
