"""What goes on between two batches of the fold: new generations, publication, checkpoints, and a look at the logs once a second."""

from collections.abc import Callable

from services.shard.checkpointing.turns import CheckpointTurns
from services.shard.generations.steps import GenerationSteps
from services.shard.owned import OwnedPartitions
from services.shard.publishing.publisher import Publisher
from services.shard.watch import LogWatch


class Maintenance:
    """Driven by the folding thread. timer: seconds that never go back."""

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
        """A short piece of each. patience: seconds to wait for old records; behind: whether more records are likely to wait.

        Raises `Fenced` and `LogError`.
        """
        now = self._timer()
        self.generations.step(patience)
        self.publisher.step(now, self._owned.states(), self._owned.epochs(), behind=behind)
        self.checkpoints.step(now)
        self.watch.step(now)

    def drain(self) -> None:
        """Publish and checkpoint all that was folded. Raises `Fenced`."""
        self.publisher.drain(self._timer(), self._owned.states(), self._owned.epochs())
        for runtime in self._owned.running().values():
            runtime.checkpointer.drain(runtime.partition)
