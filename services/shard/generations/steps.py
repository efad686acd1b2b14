"""Builds new generations of all partitions of a shard, a slice between two batches of the fold."""

import logging

from services.log.protocol import LogError, TopicReplaced
from services.shard.figures import ShardFigures
from services.shard.folding import Folding
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime

log = logging.getLogger("equirank.shard")


class GenerationSteps:
    """figures: take how often the log gave no slice."""

    def __init__(self, owned: OwnedPartitions, folding: Folding, figures: ShardFigures) -> None:
        self._owned, self._folding, self._figures = owned, folding, figures

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
            runtime.builder.switch(runtime.checkpointer.holds, runtime.checkpointer.hurry)
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            if not error.retriable:
                raise
            log.warning("new generations wait for the log: %s", error)
            self._figures.counts["log_failures"] += 1
        self._folding.write_letters(runtime)
