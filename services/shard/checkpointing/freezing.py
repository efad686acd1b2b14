"""A partition frozen for a checkpoint in slices between calls of the fold, so that thousands of pools hold it up no longer than one.

All of them have to be as they were at one position. A pool that nobody folded since still is. So a fold that is about to change one has it
frozen first, and the others wait for their turn.
"""

import gc
import time
from collections.abc import Callable, Sequence

from services.runtime.durations import Durations
from services.shard.checkpointing.entries import PoolToWrite
from services.state.pool import PoolState


class Freezing:
    """These states as they are now. freeze: keeps one of them, by its place; called once for each, before it changes.

    pauses: takes the seconds that states took out of their turn, each for itself: they lie between the folds of single pools.
    """

    def __init__(self, states: Sequence[PoolState], freeze: Callable[[int], PoolToWrite], pauses: Durations) -> None:
        self._left = dict(zip(states, range(len(states)), strict=True))
        self._freeze, self._pauses = freeze, pauses
        self._kept: list[PoolToWrite | None] = [None] * len(states)
        for state in states:
            state.on_change = self._before_it_changes

    def step(self, end: float) -> bool:
        """Freeze some more, at least one, until about `end` of `time.perf_counter`: whether that was all."""
        _spare_the_young()
        while self._left:
            state = next(reversed(self._left))
            self._keep(state)
            state.on_change = None
            if time.perf_counter() >= end:
                break
        return not self._left

    def kept(self) -> list[PoolToWrite]:
        """What was kept of each state, in their order, once all are frozen."""
        return [kept for kept in self._kept if kept is not None]

    def close(self) -> None:
        """Nobody will ask for any of it."""
        for state in self._left:
            state.on_change = None
        for kept in self.kept():
            kept.close()
        self._left = {}

    def _before_it_changes(self, state: PoolState) -> None:
        began = time.perf_counter()
        self._keep(state)
        self._pauses.add(time.perf_counter() - began)

    def _keep(self, state: PoolState) -> None:
        """Freeze it. Where that fails, as for want of memory, it is still left to do: no checkpoint is written without it."""
        place = self._left[state]
        self._kept[place] = self._freeze(place)
        del self._left[state]


def _spare_the_young() -> None:
    """Have Python's collector of cycles take all that lives for old, which takes no time. It would go through all that was frozen so far
    else, for 50 ms and more where pools are many, just to find that no cycle is among it.
    """
    gc.freeze()
    gc.unfreeze()
