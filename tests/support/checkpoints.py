"""Write checkpoints synchronously."""

from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from tests.support.waiting import PATIENCE


def try_checkpoint(checkpointer: Checkpointer, now: float, partition: Partition) -> None:
    """Try to write a checkpoint that is due at `now`, and wait until the try has succeeded or failed."""
    while checkpointer.step(now, 1.0, partition) and checkpointer.freezes:
        pass
    if checkpointer._job is not None:
        checkpointer._job.exception(PATIENCE)
    checkpointer.step(now, 1.0, partition)
