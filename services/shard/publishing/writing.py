"""Writes updates into the store, and finds out what the store shows that this shard did not write."""

import logging
import sys
from collections.abc import Callable, Iterable
from enum import Enum, auto

import msgspec

from services.boards.store.live import LiveBoards
from services.boards.store.protocol import Fence, PoolHead, StoreError, StoreLost
from services.control.log import ControlLog
from services.log.protocol import LogError, Topic
from services.shard.publishing.updates import Update
from services.shard.recovery import holds

log = logging.getLogger("equirank.publish")


class End(Enum):
    """What became of an update. behind: readers are ahead of it. lost: the store lost the pool, or showed records that the log lost."""

    WRITTEN = auto()
    BEHIND = auto()
    LOST = auto()
    FAILED = auto()
    FENCED = auto()


class Provenance:
    """Whether what the store shows of one shard's partitions was folded from the log at hand, and by the owner that the control log names.

    A log can lose its newest records: a broker whose machine lost its power before the disk had them, a folder that was restored from a
    backup. The store then shows what the log no longer gives: values, agents, generations, and writers with epochs that never were. No
    record that follows would correct them, and fences would keep the true owner out. For one thread at a time.

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
        return holds(self._topic, head.partition, offset, head.record)


class BoardWriter:
    """Runs in the publisher's thread. judge: of what the store shows."""

    def __init__(self, boards: LiveBoards, judge: Provenance) -> None:
        self._boards, self._judge = boards, judge

    def write(self, updates: list[Update]) -> list[tuple[Update, End]]:
        """Each update's end. Once the store does not answer, the others wait for the next round instead of a timeout each."""
        ends: list[tuple[Update, End]] = []
        down = False
        for update in updates:
            try:
                ends.append((update, End.FAILED if down else self._write_one(update)))
            except (StoreError, LogError) as error:
                log.warning(
                    "boards were not published; their changes wait for the next attempt: %s",
                    error,
                    extra={"pool": update.head.pool, "position": update.head.position},
                )
                ends.append((update, End.FAILED))
                down = error.retriable
        return ends

    def _write_one(self, update: Update) -> End:
        try:
            if update.frozen:
                return self._write_frozen(update)
            if not update.track.known and (end := self._ask(update)) is not None:
                return end
            written = self._boards.publish(update.head, update.epoch, update.boards)
        except StoreLost:
            return End.LOST
        return End.WRITTEN if written else self._refused(update)

    def _refused(self, update: Update) -> End:
        """A newer epoch stands in the store: of an owner whom the control log knows, or of one that it lost, who will never come back."""
        return End.FENCED if self._judge.is_superseded(update.head.partition, update.epoch) else self._forget(update)

    def _forget(self, update: Update) -> End:
        log.warning(
            "boards with records that the log has lost were deleted; they are published again",
            extra={"pool": update.head.pool, "position": update.head.position},
        )
        self._boards.forget(update.head.pool)
        return End.LOST

    def _write_frozen(self, update: Update) -> End:
        """Let the head that readers see say why nothing follows, or no longer say it. Where readers see none, a broken pool gets an empty
        one: nothing else tells them that it broke.
        """
        standing, why = self._boards.head(update.head.pool), update.head.stopped
        if standing is None and update.state.broken:
            return End.WRITTEN if self._boards.publish(update.head, update.epoch, {}) else self._refused(update)
        if standing is None or (why is None and standing.stopped is None):
            return End.WRITTEN
        head = msgspec.structs.replace(standing, published_at=update.head.published_at, stopped=why, building=update.head.building)
        return End.WRITTEN if self._boards.publish(head, update.epoch, {}) else self._refused(update)

    def _ask(self, update: Update) -> End | None:
        """What readers see of a pool that this shard has not written yet, and what follows from it."""
        standing, head = self._boards.published(update.head.pool), self._boards.head(update.head.pool)
        if standing is not None and head is not None and not self._judge.was_folded_from_the_log(head):
            return self._forget(update)
        update.track.known = True
        if standing is not None and standing.generation > update.head.generation:
            update.track.visible = sys.maxsize  # readers are ahead: what they have stays until that generation is built again
            return End.BEHIND
        if standing is None or not _covers(standing, update):
            return End.LOST if update.track.recovered else None
        if update.head.beliefs and (head is None or not head.beliefs.keys() >= update.head.beliefs.keys()):
            return End.LOST  # earlier releases wrote none
        update.track.visible = standing.position
        return End.BEHIND if update.head.position < standing.position else None


def _covers(standing: Fence, update: Update) -> bool:
    """Whether the store holds every change before the checkpoint that this shard started from."""
    return standing.generation == update.head.generation and standing.position >= update.track.recovered
