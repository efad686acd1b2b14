"""Checkpoints written at once, to their end."""

from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition

_SECONDS = 60.0


def try_checkpoint(checkpointer: Checkpointer, now: float, partition: Partition) -> None:
    """One try that is due at `now`, whether it succeeds or fails."""
    while checkpointer.step(now, 1.0, partition) and checkpointer.freezes:
        pass
    if checkpointer._job is not None:
        checkpointer._job.exception(_SECONDS)
    checkpointer.step(now, 1.0, partition)
