"""Publishes changed boards to the store on a background thread.

At most one round of writing runs at a time; later changes are batched into the next round. Writes are idempotent, because values are
absolute (law 4). After a restart, a pool is published only after the shard has folded it to the position that readers already see. The
store's fence rejects writes of a superseded shard; the publisher then raises `Fenced`. Boards that include records missing from the log are
deleted and published again. If the store is unavailable, folding continues and changes wait (law 6).
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from services.boards.store.live import LiveBoards
from services.runtime.settings import PROVISIONAL, Provisional
from services.shard.fencing import Fenced
from services.shard.figures import ShardFigures
from services.shard.partition import Partition
from services.shard.publishing.selection import Selection
from services.shard.publishing.updates import Update
from services.shard.publishing.writing import BoardWriter, End, Provenance

_MOST_PAUSE: Final = 2.0
"""Longest pause in seconds that `_LOAD` causes, for example after a round that waited for an unavailable store."""
_LOAD: Final = 2.0
"""A round of writing that took s seconds is followed by a pause of at least _LOAD * s if records wait to be folded, so that the fold gets
most of the time, and also if the round failed."""


class Publisher:
    """Publishes the pools of a shard. Called by the folding thread; writes to the store on a separate thread.

    interval: least seconds from the end of a round to the next one. judge: checks the boards that the store contains. clock: seconds since
    1970, for readers. figures: receive the results of updates, and the pauses of the fold while updates are copied. written:
    called for each update that was written. limits: the least evidence for a rank. Every `now` is monotonic time in seconds.
    """

    def __init__(
        self,
        boards: LiveBoards,
        interval: float,
        judge: Provenance,
        clock: Callable[[], float] = time.time,
        figures: ShardFigures | None = None,
        written: Callable[[Update], None] | None = None,
        limits: Provisional = PROVISIONAL,
    ) -> None:
        self._writer, self._selection, self._clock = BoardWriter(boards, judge), Selection(clock, limits), clock
        self._interval, self._written = interval, written
        self._began = self._next = self._next_if_behind = float("-inf")
        self._executor = ThreadPoolExecutor(1, "publish")
        self._job: Future[list[tuple[Update, End]]] | None = None
        self.figures = figures or ShardFigures()

    def step(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int], *, behind: bool = False) -> None:
        """Apply the results of a finished round, and start the next round if it is due. Raises `Fenced`.

        Args:
            now: Monotonic time in seconds.
            partitions: State of each partition, by number.
            epochs: Epoch under which each partition is owned, by number.
            behind: Whether records wait to be folded. The pause between rounds is then longer.
        """
        if self._job is not None:
            if not self._job.done():
                return
            self._settle(self._job.result(), now)
        if now >= (self._next_if_behind if behind else self._next) and (updates := self._copy_updates(now, partitions.values(), epochs)):
            self._began = now
            self._job = self._executor.submit(self._writer.write, updates)

    def drain(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int]) -> None:
        """Write the remaining changes once, and end the thread. Raises `Fenced`."""
        if self._job is not None:
            self._settle(self._job.result(), now)
        self._settle(self._writer.write(self._selection.updates(now, partitions.values(), epochs)), now)
        self._executor.shutdown()

    def _copy_updates(self, now: float, partitions: Collection[Partition], epochs: Mapping[int, int]) -> list[Update]:
        """Copy the updates that are due. The time for copying is counted as a pause of the fold."""
        began = time.perf_counter()
        if updates := self._selection.updates(now, partitions, epochs):
            self.figures.copies.add(time.perf_counter() - began)
        return updates

    def _schedule_next_round(self, now: float, *, failed: bool) -> None:
        """Compute when the next round may begin, and when it may begin if records wait. failed: whether an update of this round failed."""
        self._next = now + self._interval
        self._next_if_behind = max(self._next, now + min(_LOAD * (now - self._began), _MOST_PAUSE))
        if failed:
            self._next = self._next_if_behind

    def _settle(self, ends: list[tuple[Update, End]], now: float) -> None:
        self._job, counts = None, self.figures.counts
        self._schedule_next_round(now, failed=any(end is End.FAILED for _, end in ends))
        for update, end in ends:
            if end in (End.WRITTEN, End.KEPT):
                update.track.checked_at, update.track.shown_stop = now, update.head.stopped
            match end:
                case End.WRITTEN:
                    self.figures.published_at = self._clock()
                    counts["published_pools"] += 1
                    if self._written is not None:
                        self._written(update)
                case End.LOST | End.WHOLE:
                    update.state.mark_all()
                    counts["store_losses"] += end is End.LOST
                case End.BEHIND | End.FAILED:
                    update.state.mark(update.changes)
                    counts["store_failures"] += end is End.FAILED
                case End.FENCED:
                    counts["fenced_writes"] += 1
                    raise Fenced(f"pool {update.head.pool} is written by a newer shard than epoch {update.epoch}")
