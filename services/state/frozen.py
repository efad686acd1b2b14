"""Frozen content of a pool: a checkpoint's thread reads it while the pool continues to fold."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays, Frozen, FrozenColumns
from services.state.parts import named


class FrozenPool:
    """Frozen parts of a pool's content (copy on write).

    Args:
        parts: Parts by the prefix of their arrays. `save` ignores them.
        by_agent: Parts with one row an agent, by prefix. `save` copies their rows before a change.
        activity: Outcomes by agent. `save` copies its rows too.
        small: Copies of the other arrays, by their full names.

    Attributes:
        open: Whether the content is still to be read, so that the pool has to call `save` before changes.
    """

    def __init__(self, parts: Mapping[str, Frozen], by_agent: Mapping[str, FrozenColumns], activity: FrozenColumns, small: Arrays) -> None:
        self._parts, self._activity, self._small = {**parts, **by_agent}, activity, small
        self._by_agent = [*by_agent.values(), activity]
        self._slices: Mapping[str, FrozenPool] = {}
        self.open = True

    def add(self, slices: "Mapping[str, FrozenPool]", names: Arrays) -> None:
        """Add frozen slices, by the prefix of their arrays, and the arrays with their names. Each slice saves its own agents."""
        self._slices, self._small = slices, self._small | names

    def save(self, agents: NDArray[np.int32]) -> None:
        """Copy the rows of `agents` (k,), which are about to change."""
        for columns in self._by_agent:
            columns.save(agents)

    def arrays(self) -> Arrays:
        """The result of `PoolContent.arrays` at the time of the freeze. Callable once, from any thread; it ends the freeze."""
        try:
            slices = named({prefix: frozen.arrays() for prefix, frozen in self._slices.items()})
            return named({prefix: part.arrays() for prefix, part in self._parts.items()}) | self._activity.arrays() | self._small | slices
        finally:
            self.close()

    def close(self) -> None:
        """End the freeze and release the arrays."""
        for part in (*self._parts.values(), self._activity, *self._slices.values()):
            part.close()
        self._slices = {}
        self._parts, self._by_agent, self.open = {}, [], False
