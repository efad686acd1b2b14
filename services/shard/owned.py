"""The partitions that a shard owns, and which of them run."""

from collections.abc import Mapping

from services.log.protocol import TopicReplaced
from services.shard.fencing import Fenced
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime


class OwnedPartitions:
    """The partitions of one shard.

    runtimes: by partition number. changed: whether the set of running partitions changed since the last `take_change`. replaced: whether
    the topic was replaced by another log.
    """

    def __init__(self) -> None:
        self.runtimes: dict[int, PartitionRuntime] = {}
        self.changed = self.replaced = False

    def all(self) -> list[PartitionRuntime]:
        """Return every partition, running or stopped. Any thread may call this."""
        return list(self.runtimes.values())

    def running(self) -> dict[int, PartitionRuntime]:
        """Return the partitions that are read and folded, by number."""
        return {number: runtime for number, runtime in self.runtimes.items() if runtime.stopped is None}

    def states(self) -> dict[int, Partition]:
        """Return the state of each partition, by number."""
        return {number: runtime.partition for number, runtime in self.runtimes.items()}

    def epochs(self) -> dict[int, int]:
        """Return the epoch under which the shard owns each partition, by number."""
        return {number: runtime.epoch for number, runtime in self.runtimes.items()}

    def take_change(self) -> bool:
        """Return whether the set of running partitions changed since the last call."""
        changed, self.changed = self.changed, False
        return changed

    def stop(self, number: int, error: Exception) -> None:
        """Stop one partition if it runs. Other partitions continue."""
        if self.runtimes[number].stopped is None:
            self.runtimes[number].stop(error)
            self.changed = True

    def stop_all(self, error: TopicReplaced) -> None:
        """Stop every partition, because the topic was replaced by another log. That log must not be read, even after a restart."""
        for runtime in self.running().values():
            runtime.stop(error)
        self.replaced = self.changed = True

    def check_epochs(self, newest: Mapping[int, int]) -> None:
        """Raise `Fenced` if another shard took over a partition. newest: latest epoch of each partition in the control log."""
        for number, epoch in self.epochs().items():
            if newest.get(number, epoch) > epoch:
                raise Fenced(f"partition {number} was taken over under epoch {newest[number]}; this shard had {epoch}")
