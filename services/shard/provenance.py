"""Whether what readers see was folded from the log at hand, and whether its owner is the one whom the control log names.

A log can lose its newest records: a broker whose machine lost its power before the disk had them, a folder that was restored from a
backup. The store then shows what the log no longer gives: values, agents, generations, and writers with epochs that never were. No
record that follows would correct them, and fences would keep the true owner out.
"""

from collections.abc import Callable, Iterable

from services.boards.store.protocol import PoolHead
from services.control.log import ControlLog
from services.log.protocol import Topic
from services.shard.recovery import sha256_at


class Provenance:
    """Judges what the store shows of the partitions of one shard. For one thread at a time.

    heads: asks the store for all that it shows.
    """

    def __init__(self, topic: Topic, control: ControlLog, heads: Callable[[], Iterable[PoolHead]]) -> None:
        self._topic, self._control, self._heads = topic, control, heads
        self._agreed: dict[int, int] = {}
        self._furthest: dict[int, PoolHead] | None = None

    def was_folded_from_the_log(self, head: PoolHead) -> bool:
        """Whether the log holds the records behind `head`; True if that cannot be decided. Raises `LogError`, `StoreError`."""
        if not any(head.generation in look().generations.get(head.pool, {}) for look in (self._control.known, self._control.refresh)):
            return False
        if head.partition not in self._agreed:
            self._agreed[head.partition] = self._agreed_to(head.partition)
        return head.position <= self._agreed[head.partition] or self._holds(head)

    def is_superseded(self, partition: int, epoch: int) -> bool:
        """Whether another took the partition over after `epoch`. Raises `LogError`."""
        return self._control.refresh().partitions.epochs.get(partition, epoch) > epoch

    def _agreed_to(self, partition: int) -> int:
        """The furthest position that the store shows of a partition, if the log holds its record: then it holds all before; else 0."""
        if self._furthest is None:
            told = sorted((head for head in self._heads() if head.record is not None), key=lambda head: head.position)
            self._furthest = {head.partition: head for head in told}
        furthest = self._furthest.get(partition)
        return furthest.position if furthest is not None and self._holds(furthest) else 0

    def _holds(self, head: PoolHead) -> bool:
        offset = head.position - 1
        if head.record is None or offset < self._topic.begin(head.partition):
            return True
        return sha256_at(self._topic, head.partition, offset) == head.record
