"""Whose checkpoint is next: partitions take turns, so that freezing pools delays the fold by one partition's slice at a time."""

import time
from collections.abc import Sequence
from typing import Final

from services.shard.owned import OwnedPartitions

_PAUSE_SECONDS: Final = 0.01
"""Once freezing took that long in a round, the other partitions wait for the next round."""


class CheckpointTurns:
    """seconds: least time between two checkpoints of a partition. outcomes: outcomes read after which the next one is due anyway."""

    def __init__(self, owned: OwnedPartitions, partitions: Sequence[int], seconds: float, outcomes: float) -> None:
        self._owned, self._seconds, self._outcomes = owned, seconds, outcomes
        self._turns = list(partitions)
        """Partitions, the one that paused the fold longest ago first."""

    def step(self, now: float) -> None:
        """Look after the checkpoints of the running partitions. now: by the timer."""
        began = time.perf_counter()
        for number in list(self._turns):
            runtime = self._owned.runtimes[number]
            if runtime.stopped is None and runtime.checkpointer.step(now, self._seconds, runtime.partition, self._outcomes):
                self._turns.remove(number)
                self._turns.append(number)
                if time.perf_counter() - began >= _PAUSE_SECONDS:
                    return
