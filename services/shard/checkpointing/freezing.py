"""Freezes the pools of a partition for a checkpoint in slices between calls of the fold.

Slices keep the pauses of the fold short, even with thousands of pools.

All pools of a checkpoint must be frozen at one position. A pool that was not folded since is still at that position. Therefore a fold that
is about to change a pool freezes it first; the other pools are frozen in later slices.
"""

import gc
import time
from collections.abc import Callable, Sequence

from services.runtime.durations import Durations
from services.shard.checkpointing.entries import PoolToWrite
from services.state.pool import PoolState


class Freezing:
    """Freezes `states` as they are at construction.

    freeze: freezes the state at an index of `states`; called once for each, before the state changes. pauses: receives the seconds of each
    freeze that a fold caused. `step` does not include these.
    """

    def __init__(self, states: Sequence[PoolState], freeze: Callable[[int], PoolToWrite], pauses: Durations) -> None:
        self._left = dict(zip(states, range(len(states)), strict=True))
        self._freeze, self._pauses = freeze, pauses
        self._kept: list[PoolToWrite | None] = [None] * len(states)
        for state in states:
            state.on_change = self._freeze_before_change

    def step(self, end: float) -> bool:
        """Freeze at least one more state, until about `end` of `time.perf_counter`. Returns whether all states are frozen."""
        _shorten_gc_scans()
        while self._left:
            state = next(reversed(self._left))
            self._keep(state)
            state.on_change = None
            if time.perf_counter() >= end:
                break
        return not self._left

    def kept(self) -> list[PoolToWrite]:
        """Return the frozen pools, in the order of `states`. Complete once `step` has returned True."""
        return [kept for kept in self._kept if kept is not None]

    def close(self) -> None:
        """Discard the checkpoint: freeze no more states, and release those that are frozen."""
        for state in self._left:
            state.on_change = None
        for kept in self.kept():
            kept.close()
        self._left = {}

    def _freeze_before_change(self, state: PoolState) -> None:
        began = time.perf_counter()
        self._keep(state)
        self._pauses.add(time.perf_counter() - began)

    def _keep(self, state: PoolState) -> None:
        """Freeze one state. If that raises, for example `MemoryError`, the state stays in `_left`, so no checkpoint lacks it."""
        place = self._left[state]
        self._kept[place] = self._freeze(place)
        del self._left[state]


def _shorten_gc_scans() -> None:
    """Move all objects into the oldest generation of Python's garbage collector, which takes no time.

    Otherwise the collector would scan all objects frozen so far for cycles: 50 ms and more with many pools, without result.
    """
    gc.freeze()
    gc.unfreeze()
