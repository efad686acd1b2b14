"""Puts what changed into the store, beside the fold: at most one round of writing runs at a time, changes gather meanwhile.

Law 4: values are absolute; after a restart nothing is written before the shard has refolded to the position that readers
already see; a shard that another one superseded learns it here. What readers see of records that the log lost is removed.
Law 6: a store that is down only lets changes gather.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from services.boards.store.live import LiveBoards
from services.shard.fencing import Fenced
from services.shard.figures import ShardFigures
from services.shard.partition import Partition
from services.shard.publishing.selection import Selection
from services.shard.publishing.updates import Update
from services.shard.publishing.writing import BoardWriter, End, Provenance

_MOST_PAUSE: Final = 2.0
"""Seconds: a round that waited for a store that is down is not followed by a longer pause than this."""
_LOAD: Final = 2.0
"""A round of writing that took s seconds is followed by a pause of at least _LOAD * s while records wait, so that it never starves the
fold, and after one that failed."""


class Publisher:
    """Driven by the folding thread; talks to the store from its own thread.

    interval: seconds from the end of a round to the next one, at least. judge: of what the store shows. clock: seconds since 1970, for
    readers. What is due goes by the `now` of its callers, which never goes back. figures: take what became of updates, and how long the
    fold paused while they were copied.
    """

    def __init__(
        self,
        boards: LiveBoards,
        interval: float,
        judge: Provenance,
        clock: Callable[[], float] = time.time,
        figures: ShardFigures | None = None,
    ) -> None:
        self._writer, self._selection, self._clock = BoardWriter(boards, judge), Selection(clock), clock
        self._interval = interval
        self._began = self._next = self._rested = float("-inf")
        self._executor = ThreadPoolExecutor(1, "publish")
        self._job: Future[list[tuple[Update, End]]] | None = None
        self.figures = figures or ShardFigures()

    def step(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int], *, behind: bool = False) -> None:
        """Take in what the last round did, and start the next when it is due. behind: records wait to be folded. Raises `Fenced`."""
        if self._job is not None:
            if not self._job.done():
                return
            self._settle(self._job.result(), now)
        if now >= (self._rested if behind else self._next) and (updates := self._copied(now, partitions.values(), epochs)):
            self._began = now
            self._job = self._executor.submit(self._writer.write, updates)

    def drain(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int]) -> None:
        """Write what is left, once, and end the thread. Raises `Fenced`."""
        if self._job is not None:
            self._settle(self._job.result(), now)
        self._settle(self._writer.write(self._selection.updates(now, partitions.values(), epochs)), now)
        self._executor.shutdown()

    def _copied(self, now: float, partitions: Collection[Partition], epochs: Mapping[int, int]) -> list[Update]:
        """The updates that are due; the time that copying them takes counts as a pause of the fold."""
        began = time.perf_counter()
        if updates := self._selection.updates(now, partitions, epochs):
            self.figures.copies.add(time.perf_counter() - began)
        return updates

    def _rest(self, now: float, *, failed: bool) -> None:
        """A round ended: when the next one may begin, and when it may while records wait. failed: the store refused something."""
        self._next = now + self._interval
        self._rested = max(self._next, now + min(_LOAD * (now - self._began), _MOST_PAUSE))
        if failed:
            self._next = self._rested

    def _settle(self, ends: list[tuple[Update, End]], now: float) -> None:
        self._job, counts = None, self.figures.counts
        self._rest(now, failed=any(end is End.FAILED for _, end in ends))
        for update, end in ends:
            match end:
                case End.WRITTEN:
                    update.track.written_at, self.figures.published_at = now, self._clock()
                    update.track.told = update.head.stopped
                    counts["published_pools"] += 1
                    if not update.frozen:
                        update.track.head = update.head
                case End.LOST:
                    update.state.changes.mark_all()
                    update.track.head = None
                    counts["store_losses"] += 1
                case End.BEHIND | End.FAILED:
                    update.state.changes.mark(update.ids)
                    counts["store_failures"] += end is End.FAILED
                case End.FENCED:
                    counts["fenced_writes"] += 1
                    raise Fenced(f"pool {update.head.pool} is written by a newer shard than epoch {update.epoch}")
