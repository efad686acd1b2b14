"""The order of the partitions' checkpoints. Partitions take turns, so that one round of freezing pools delays the fold only briefly."""

import time
from collections.abc import Sequence
from typing import Final

from services.shard.owned import OwnedPartitions

_PAUSE_SECONDS: Final = 0.01
"""Once freezing has taken this long in a round, the remaining partitions wait for the next round."""


class CheckpointTurns:
    """Steps the checkpointers of a shard's partitions.

    seconds: least time between two checkpoints of a partition. outcomes: number of outcomes read that makes the next one due before.
    """

    def __init__(self, owned: OwnedPartitions, partitions: Sequence[int], seconds: float, outcomes: float) -> None:
        self._owned, self._seconds, self._outcomes = owned, seconds, outcomes
        self._turns = list(partitions)
        """Partition numbers, least recently frozen first."""

    def step(self, now: float) -> None:
        """Advance the checkpoints of the running partitions. now: monotonic time in seconds."""
        began = time.perf_counter()
        for number in list(self._turns):
            runtime = self._owned.runtimes[number]
            if runtime.stopped is None and runtime.checkpointer.step(now, self._seconds, runtime.partition, self._outcomes):
                self._turns.remove(number)
                self._turns.append(number)
                if time.perf_counter() - began >= _PAUSE_SECONDS:
                    return
