"""Writes updates to the store, and detects boards in the store whose records or generation are missing from the logs."""

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import Final, Protocol

import msgspec

from services.boards.store.live import LiveBoards
from services.boards.store.protocol import Fence, LiveBoard, PoolHead, StoreError, StoreLost
from services.control.log import ControlLog
from services.log.protocol import LogError, Topic
from services.shard.publishing.updates import Update
from services.shard.recovery import holds

log = logging.getLogger("equirank.publish")
_HEAD_LOST: Final = "the store has lost the pool's head"


class End(Enum):
    """The result of writing an update.

    KEPT: the published boards stay as they are. WHOLE: all agents have to be published, not only changed ones. BEHIND: the store has a
    later position or generation. LOST: the store has lost the pool, or its boards were deleted because they included records missing from
    the log. FENCED: another shard owns the partition.
    """

    WRITTEN = auto()
    KEPT = auto()
    WHOLE = auto()
    BEHIND = auto()
    LOST = auto()
    FAILED = auto()
    FENCED = auto()


class Shown(Protocol):
    """A state of a pool that readers see: a head in the store, or in the ratings topic."""

    @property
    def pool(self) -> str:
        """Name of the pool."""

    @property
    def partition(self) -> int:
        """Partition of the pool."""

    @property
    def generation(self) -> int:
        """Generation of the pool."""

    @property
    def position(self) -> int:
        """Log offset up to which outcomes were counted."""

    @property
    def record(self) -> str | None:
        """SHA-256 of the last record before the position; None if unknown."""


class Provenance:
    """Checks whether boards in the store were folded from the configured log, and by the owner that the control log names.

    A log can lose its newest records, for example when a broker's machine loses power before it has written them to disk, or when a folder
    is restored from a backup. The store then contains values, agents, generations and epochs that are no longer in the logs. Later records
    would not correct them, and the fence would reject writes of the present owner. Not thread-safe.

    heads: reads all heads from the store, or from the place that is checked.
    """

    def __init__(self, topic: Topic, control: ControlLog, heads: Callable[[], Iterable[Shown]]) -> None:
        self._topic, self._control, self._heads = topic, control, heads
        self._agreed: dict[int, int] = {}
        self._furthest: dict[int, Shown] | None = None

    def was_folded_from_the_log(self, head: Shown) -> bool:
        """Whether the logs contain the generation and the records of `head`. True if the records cannot be compared.

        Raises `LogError`, `StoreError`.
        """
        if not any(head.generation in look().generations.get(head.pool, {}) for look in (self._control.known, self._control.refresh)):
            return False
        if head.partition not in self._agreed:
            self._agreed[head.partition] = self._agreed_to(head.partition)
        return head.position <= self._agreed[head.partition] or self._holds(head)

    def has_skips(self, partition: int, position: int) -> bool:
        """Whether an operator skipped records of a partition below `position`."""
        return self._control.known().partitions.has_skips(partition, position)

    def is_superseded(self, partition: int, epoch: int) -> bool:
        """Whether another shard took over the partition after `epoch`. Raises `LogError`."""
        return self._control.refresh().partitions.epochs.get(partition, epoch) > epoch

    def _agreed_to(self, partition: int) -> int:
        """Return the highest published position of a partition if the log contains its last record, and so all before it; else 0."""
        if self._furthest is None:
            heads = sorted((head for head in self._heads() if head.record is not None), key=lambda head: head.position)
            self._furthest = {head.partition: head for head in heads}
        furthest = self._furthest.get(partition)
        return furthest.position if furthest is not None and self._holds(furthest) else 0

    def _holds(self, head: Shown) -> bool:
        offset = head.position - 1
        if head.record is None or offset < self._topic.begin(head.partition):
            return True
        return holds(self._topic, head.partition, offset, head.record)


class BoardWriter:
    """Writes updates to the store. Runs on the publisher's thread. judge: checks the boards that the store contains."""

    def __init__(self, boards: LiveBoards, judge: Provenance) -> None:
        self._boards, self._judge = boards, judge

    def write(self, updates: list[Update]) -> list[tuple[Update, End]]:
        """Write updates in order. Returns each update with its result.

        After a retriable failure, the remaining updates fail without a try, so that the round does not wait for a timeout per update.
        """
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
            if update.head_only:
                return self._write_head(update)
            if not update.track.known and (end := self._ask(update)) is not None:
                return end
            return self._publish(update, update.head, update.boards)
        except StoreLost:
            return End.LOST

    def _publish(self, update: Update, head: PoolHead, boards: Mapping[str, LiveBoard]) -> End:
        return End.WRITTEN if self._boards.publish(head, update.epoch, boards) else self._handle_refusal(update)

    def _handle_refusal(self, update: Update) -> End:
        """Handle a write that the fence rejected.

        If the control log contains a later takeover, the result is `FENCED`. If the store has a higher epoch nevertheless, the control log
        lost that takeover, and that owner will not return: the pool is deleted from the store. Otherwise the previous owner published a
        later position after this shard had asked, so the shard asks again.
        """
        if self._judge.is_superseded(update.head.partition, update.epoch):
            return End.FENCED
        if self._boards.claimed(update.head.pool) > update.epoch:
            return self._forget(update, "the control log has lost the takeover of their owner")
        update.track.known = False
        return End.BEHIND

    def _forget(self, update: Update, why: str) -> End:
        """Delete the pool from the store, so that it is published again. Boards of a later owner are never deleted."""
        pool = update.head.pool
        claimed = self._boards.claimed(pool)
        if self._judge.is_superseded(update.head.partition, update.epoch):
            return End.FENCED
        if not self._boards.forget(pool, max(claimed, update.epoch)):  # a later owner begins to publish at this moment
            update.track.known = False
            return End.BEHIND
        if claimed >= 0:  # otherwise the store had no boards of the pool
            log.warning("boards were deleted and are published again: %s", why, extra={"pool": pool, "position": update.head.position})
        return End.LOST

    def _write_head(self, update: Update) -> End:
        """Update the reason `stopped` in the published head."""
        published, why = self._boards.head(update.head.pool), update.head.stopped
        if published is None:
            return self._write_absent(update)
        if update.unbuilt and published.generation <= update.head.generation:
            update.track.unhidden = True
            return End.KEPT
        if why is None and published.stopped is None:
            return End.KEPT
        head = msgspec.structs.replace(published, published_at=update.head.published_at, stopped=why, building=update.head.building)
        return self._publish(update, head, {})

    def _write_absent(self, update: Update) -> End:
        """Handle a pool whose boards must not change, and that has no published head: no reader sees a later position, because the store is
        new or lost the head.

        A broken pool gets an empty board with the reason. A pool before its published position is published where it is, and so is a pool
        whose later generation cannot be built again.
        """
        if not (update.broken or update.track.visible or update.unbuilt):
            return End.KEPT
        end = self._forget(update, _HEAD_LOST)  # also what is left of it: the fence would refuse an earlier position
        if end is not End.LOST:
            return end
        if update.broken:
            return self._publish(update, update.head, {})
        update.track.visible, update.track.known, update.track.unhidden = 0, True, update.unbuilt
        return End.LOST

    def _ask(self, update: Update) -> End | None:
        """Read what the store contains of a pool that this shard has not written yet.

        Returns:
            The result of the update if it must not be written now; None if it may be written.
        """
        fence, head = self._boards.published(update.head.pool), self._boards.head(update.head.pool)
        if head is not None and not self._judge.was_folded_from_the_log(head):
            return self._forget(update, "the log has lost records that they include")
        if head is None and fence is not None:
            return self._forget(update, _HEAD_LOST)
        seen = [stored for stored in (fence, head) if stored is not None]  # the store can have lost the fence
        if any(stored.generation > update.head.generation for stored in seen):
            update.track.visible = sys.maxsize  # keep the published boards until the later generation is built again
            return End.BEHIND
        if any(stored.position > update.head.position for stored in seen):
            update.track.visible = max(stored.position for stored in seen)  # asked again there: the previous owner can publish until then
            return End.BEHIND
        update.track.known = True
        if fence is None or not _covers(fence, update):
            return End.LOST if update.track.recovered else None
        if update.head.beliefs and (head is None or not head.beliefs.keys() >= update.head.beliefs.keys()):
            return End.WHOLE  # earlier releases did not write beliefs
        if head is not None and head.provisional_outcomes != update.head.provisional_outcomes:
            return End.WHOLE  # ranks count other agents since the setting, or the release, changed
        if update.track.recovered and update.state.generation.initial:
            return End.WHOLE  # earlier releases wrote rows of agents that have no initial rating of the method, and no outcome
        if update.track.recovered and self._is_tainted(update, fence):
            return End.WHOLE
        return None

    def _is_tainted(self, update: Update, fence: Fence) -> bool:
        """Whether the boards may contain records that no fold contains: skipped by an operator, or of a publication that was cut off."""
        skips = self._judge.has_skips(update.head.partition, fence.position)
        return skips or self._boards.is_interrupted(update.head.pool)


def _covers(fence: Fence, update: Update) -> bool:
    """Whether the store contains every change up to the checkpoint from which this shard started."""
    return fence.generation == update.head.generation and fence.position >= update.track.recovered
