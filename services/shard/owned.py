"""The partitions that a shard owns, and which of them still run."""

from collections.abc import Mapping

from services.log.protocol import TopicReplaced
from services.shard.fencing import Fenced
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime


class OwnedPartitions:
    """runtimes: by number. changed: whether another set of partitions runs since `take_change`. replaced: the log is another one."""

    def __init__(self) -> None:
        self.runtimes: dict[int, PartitionRuntime] = {}
        self.changed = self.replaced = False

    def all(self) -> list[PartitionRuntime]:
        """Every partition, running or stopped. Any thread may call it."""
        return list(self.runtimes.values())

    def running(self) -> dict[int, PartitionRuntime]:
        """The partitions that are read and folded."""
        return {number: runtime for number, runtime in self.runtimes.items() if runtime.stopped is None}

    def states(self) -> dict[int, Partition]:
        """State of each partition."""
        return {number: runtime.partition for number, runtime in self.runtimes.items()}

    def epochs(self) -> dict[int, int]:
        """Epoch under which each partition is owned."""
        return {number: runtime.epoch for number, runtime in self.runtimes.items()}

    def take_change(self) -> bool:
        """Whether the set of running partitions changed since the last call."""
        changed, self.changed = self.changed, False
        return changed

    def stop(self, number: int, error: Exception) -> None:
        """Stop one partition, unless it stopped before; the others go on."""
        if self.runtimes[number].stopped is None:
            self.runtimes[number].stop(error)
            self.changed = True

    def stop_all(self, error: TopicReplaced) -> None:
        """Stop every partition: the log is another one, of which nothing may be read, and a restart of the shard would not help."""
        for runtime in self.running().values():
            runtime.stop(error)
        self.replaced = self.changed = True

    def check_epochs(self, newest: Mapping[int, int]) -> None:
        """Raise `Fenced` where another shard took a partition over. newest: epoch of each partition in the control log."""
        for number, epoch in self.epochs().items():
            if newest.get(number, epoch) > epoch:
                raise Fenced(f"partition {number} was taken over under epoch {newest[number]}; this shard had {epoch}")
