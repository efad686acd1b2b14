"""Builds new generations for all partitions of a shard, one slice of old records between two batches of the fold."""

import logging

from services.log.protocol import LogError, TopicReplaced
from services.shard.figures import ShardFigures
from services.shard.folding import Folding
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime

log = logging.getLogger("equirank.shard")


class GenerationSteps:
    """Steps the builders of all running partitions. figures: receive the number of failed reads of the log."""

    def __init__(self, owned: OwnedPartitions, folding: Folding, figures: ShardFigures) -> None:
        self._owned, self._folding, self._figures = owned, folding, figures

    def step(self, patience: float) -> None:
        """Fold a slice of old records for each partition with builds, and make builds serve that have caught up.

        Waits at most `patience` seconds for each partition's slice. Raises `LogError` if the error is not retriable.
        """
        for runtime in self._owned.running().values():
            if runtime.partition.builds:
                self._step(runtime, patience)

    def _step(self, runtime: PartitionRuntime, patience: float) -> None:
        try:
            runtime.letters += runtime.builder.step(patience)
            runtime.builder.switch(runtime.checkpointer.holds)
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            if not error.retriable:
                raise
            log.warning("new generations wait for the log: %s", error)
            self._figures.counts["log_failures"] += 1
        self._folding.write_letters(runtime)
