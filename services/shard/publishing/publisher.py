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
from services.runtime.durations import Durations
from services.shard.fencing import Fenced
from services.shard.partition import Partition
from services.shard.publishing.selection import Selection
from services.shard.publishing.updates import Update
from services.shard.publishing.writing import BoardWriter, End, Provenance

_MOST_PAUSE: Final = 2.0
"""Seconds: a round that waited for a store that is down is not followed by a longer pause than this."""
_LOAD: Final = 2.0
"""A round of writing that took s seconds is followed by a pause of at least _LOAD * s while records wait, so that it never starves the
fold, and after one that failed."""


class Rounds:
    """Says when the next round of writing to the store may begin. Arguments named `now` are seconds of a timer that never goes back.

    interval: seconds between the end of a round and the next one, at least.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._began = self._next = self._rested = float("-inf")

    def due(self, now: float, *, behind: bool) -> bool:
        """Whether the next round may begin. behind: records wait to be folded, so that the pause is longer."""
        return now >= (self._rested if behind else self._next)

    def begin(self, now: float) -> None:
        """A round begins."""
        self._began = now

    def end(self, now: float, *, failed: bool) -> None:
        """The round ended. failed: the store refused something or did not answer."""
        self._next = now + self._interval
        self._rested = max(self._next, now + min(_LOAD * (now - self._began), _MOST_PAUSE))
        if failed:
            self._next = self._rested


class Publisher:
    """Driven by the folding thread; talks to the store from its own thread.

    interval: seconds between two rounds. judge: of what the store shows. clock: seconds since 1970, for readers. What is due goes by the
    `now` of its callers, which never goes back. pauses: seconds for which the fold paused while changes were copied.
    """

    def __init__(self, boards: LiveBoards, interval: float, judge: Provenance, clock: Callable[[], float] = time.time) -> None:
        self._writer, self._selection, self._clock = BoardWriter(boards, judge), Selection(clock), clock
        self._rounds = Rounds(interval)
        self._executor = ThreadPoolExecutor(1, "publish")
        self._job: Future[list[tuple[Update, End]]] | None = None
        self.written_at: float | None = None
        self.counters = {"published_pools": 0, "store_failures": 0, "store_losses": 0, "fenced_writes": 0}
        self.pauses = Durations()

    def step(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int], *, behind: bool = False) -> None:
        """Take in what the last round did, and start the next when it is due. behind: records wait to be folded. Raises `Fenced`."""
        if self._job is not None:
            if not self._job.done():
                return
            self._settle(self._job.result(), now)
        if self._rounds.due(now, behind=behind) and (updates := self._copied(now, partitions.values(), epochs)):
            self._rounds.begin(now)
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
            self.pauses.add(time.perf_counter() - began)
        return updates

    def _settle(self, ends: list[tuple[Update, End]], now: float) -> None:
        self._job = None
        self._rounds.end(now, failed=any(end is End.FAILED for _, end in ends))
        for update, end in ends:
            match end:
                case End.WRITTEN:
                    update.track.written_at, self.written_at = now, self._clock()
                    update.track.told = update.head.stopped
                    self.counters["published_pools"] += 1
                    if not update.frozen:
                        update.track.head = update.head
                case End.LOST:
                    update.state.changes.mark_all()
                    update.track.head = None
                    self.counters["store_losses"] += 1
                case End.BEHIND | End.FAILED:
                    update.state.changes.mark(update.ids)
                    self.counters["store_failures"] += end is End.FAILED
                case End.FENCED:
                    self.counters["fenced_writes"] += 1
                    raise Fenced(f"pool {update.head.pool} is written by a newer shard than epoch {update.epoch}")
