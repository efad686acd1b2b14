"""Work between two batches of the fold: new generations, publication, checkpoints, and a check of the logs once a second."""

from collections.abc import Callable

from services.shard.checkpointing.turns import CheckpointTurns
from services.shard.generations.steps import GenerationSteps
from services.shard.owned import OwnedPartitions
from services.shard.publishing.publisher import Publisher
from services.shard.watch import LogWatch


class Maintenance:
    """Calls the four kinds of work in turn. Called by the folding thread. timer: monotonic time in seconds."""

    def __init__(
        self,
        owned: OwnedPartitions,
        generations: GenerationSteps,
        publisher: Publisher,
        checkpoints: CheckpointTurns,
        watch: LogWatch,
        timer: Callable[[], float],
    ) -> None:
        self._owned, self._timer = owned, timer
        self.generations, self.publisher, self.checkpoints, self.watch = generations, publisher, checkpoints, watch

    def step(self, patience: float, *, behind: bool) -> None:
        """Do a short piece of each kind of work.

        Args:
            patience: Seconds to wait for old records that builds of generations read.
            behind: Whether more records are likely to wait in the log.

        Raises:
            Fenced: Another shard owns a partition.
            LogError: The log failed.
        """
        now = self._timer()
        self.generations.step(patience)
        self.publisher.step(now, self._owned.states(), self._owned.epochs(), behind=behind)
        self.checkpoints.step(now)
        self.watch.step(now)

    def drain(self) -> None:
        """Publish all changes and write a last checkpoint of each running partition. Raises `Fenced`."""
        self.publisher.drain(self._timer(), self._owned.states(), self._owned.epochs())
        for runtime in self._owned.running().values():
            runtime.checkpointer.drain(runtime.partition)
