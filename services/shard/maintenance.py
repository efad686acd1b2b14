"""Work between two batches of the fold: new generations, publication, checkpoints, and a check of the logs once a second."""

import logging
from collections.abc import Callable

from services.log.dead_letters import LettersRefused
from services.log.protocol import LogError, TopicReplaced
from services.shard.checkpointing.turns import CheckpointTurns
from services.shard.folding import Folding
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.publishing.publisher import Publisher
from services.shard.ratings_topic.publisher import RatingsPublisher
from services.shard.watch import LogWatch

log = logging.getLogger("equirank.shard")


class Maintenance:
    """Calls the kinds of work in turn. Called by the folding thread.

    folding: writes the dead letters of builds. timer: monotonic time in seconds. ratings: None without a ratings topic.
    """

    def __init__(
        self,
        owned: OwnedPartitions,
        folding: Folding,
        publisher: Publisher,
        checkpoints: CheckpointTurns,
        watch: LogWatch,
        timer: Callable[[], float],
        ratings: RatingsPublisher | None = None,
    ) -> None:
        self._owned, self._folding, self._timer = owned, folding, timer
        self.publisher, self.checkpoints, self.watch, self.ratings = publisher, checkpoints, watch, ratings

    def step(self, patience: float, *, behind: bool) -> None:
        """Do a short piece of each kind of work. No generation is built while a partition catches up after deaths.

        Args:
            patience: Seconds to wait for the old records that the builds of one partition read.
            behind: Whether more records are likely to wait in the log.

        Raises:
            Fenced: Another shard owns a partition.
            LogError: The log failed.
        """
        now = self._timer()
        running = self._owned.running().values()
        careful = any(runtime.restarts.careful(runtime.reached) for runtime in running)
        for runtime in running:
            if runtime.partition.builds and not careful:
                self._build(runtime, patience)
        self.publisher.step(now, self._owned.states(), self._owned.epochs(), behind=behind)
        if self.ratings is not None:
            self.ratings.step(now, self._owned.states(), self._owned.epochs())
        self.checkpoints.step(now)
        self.watch.step(now)

    def check_logs(self) -> None:
        """Do only the check of the logs, which folds and copies nothing. Raises `Fenced`."""
        self.watch.step(self._timer())

    def drain(self) -> None:
        """Publish all changes, write a last checkpoint of each running partition, then write to the ratings topic. Raises `Fenced`."""
        self.publisher.drain(self._timer(), self._owned.states(), self._owned.epochs())
        for runtime in self._owned.running().values():
            runtime.checkpointer.drain(runtime.partition)
        if self.ratings is not None:  # last, because a broker that hangs must not cost a checkpoint
            self.ratings.drain(self._timer(), self._owned.states(), self._owned.epochs())

    def _build(self, runtime: PartitionRuntime, patience: float) -> None:
        """Fold a slice of old records for a partition with builds, and make builds serve that have caught up."""
        try:
            runtime.letters += runtime.builder.step(patience)
            runtime.builder.switch(runtime.checkpointer.holds)
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            if not error.retriable:
                raise
            log.warning("new generations wait for the log: %s", error)
            runtime.builder.figures.counts["log_failures"] += 1
        try:
            self._folding.write_letters(runtime)
        except LettersRefused as error:
            self._owned.stop(runtime.partition.number, error)
