"""Builds new generations of all partitions of a shard, a slice between two batches of the fold."""

import logging

from services.log.protocol import LogError, TopicReplaced
from services.shard.folding import Folding
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime

log = logging.getLogger("equirank.shard")


class GenerationSteps:
    """log_failures: slices that the log did not give."""

    def __init__(self, owned: OwnedPartitions, folding: Folding) -> None:
        self._owned, self._folding = owned, folding
        self.log_failures = 0

    def step(self, patience: float) -> None:
        """Fold a slice of old records for each partition that builds; builds that caught up start to serve readers.

        Waits at most `patience` seconds for each partition's slice. Raises `LogError` that cannot be retried.
        """
        for runtime in self._owned.running().values():
            if runtime.partition.builds:
                self._step(runtime, patience)

    def _step(self, runtime: PartitionRuntime, patience: float) -> None:
        try:
            runtime.letters += runtime.builder.step(patience)
            runtime.builder.switch(runtime.checkpointer)
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            if not error.retriable:
                raise
            log.warning("new generations wait for the log: %s", error)
            self.log_failures += 1
        self._folding.write_letters(runtime)
