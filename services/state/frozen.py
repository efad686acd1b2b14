"""A pool as it was when a checkpoint began, read by another thread while the pool goes on."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays, Frozen, FrozenColumns
from services.state.parts import named


class FrozenPool:
    """Parts of a pool's content by the prefix of their arrays. by_agent: those that hold rows by agent, to be told of changes, as is
    activity; loose: other arrays without prefix.

    open: whether what is folded is still told to it.
    """

    def __init__(self, parts: Mapping[str, Frozen], by_agent: Mapping[str, FrozenColumns], activity: FrozenColumns, loose: Arrays) -> None:
        self._parts, self._activity, self._loose = {**parts, **by_agent}, activity, loose
        self._by_agent = [*by_agent.values(), activity]
        self.open = True

    def save(self, agents: NDArray[np.int32]) -> None:
        """These agents (k,) are about to change."""
        for columns in self._by_agent:
            columns.save(agents)

    def arrays(self) -> Arrays:
        """What the pool's `arrays` were; once, in any thread, which ends the freeze."""
        try:
            return named({prefix: part.arrays() for prefix, part in self._parts.items()}) | self._activity.arrays() | self._loose
        finally:
            self.close()

    def close(self) -> None:
        """Nobody will ask, or ask again: nothing is kept any longer."""
        for part in (*self._parts.values(), self._activity):
            part.close()
        self._parts, self._by_agent, self.open = {}, [], False
