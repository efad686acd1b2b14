"""Puts what changed into the store, beside the fold: at most one round of writing runs at a time, changes gather meanwhile.

Law 4: values are absolute; after a restart nothing is written before the shard has refolded to the position that readers
already see; a shard that another one superseded learns it here. What readers see of records that the log lost is removed.
Law 6: a store that is down only lets changes gather.
"""

import logging
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from heapq import nsmallest
from typing import Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.online import Reading
from services.boards.store.protocol import ACTIVITY, Building, Fence, LiveBoard, OtherLog, PoolHead, StoreError, StoreLost, StoreWriter
from services.log.protocol import LogError
from services.runtime.durations import Durations
from services.shard.fencing import Fenced
from services.shard.partition import Partition
from services.state.pool import PoolState

log = logging.getLogger("equirank.publish")

_IDLE_SECONDS: Final = 2.0
_IDLE_AT_ONCE: Final = 100
_MOST_PAUSE: Final = 2.0
"""Seconds: a round that waited for a store that is down is not followed by a longer pause than this."""
_LOAD: Final = 2.0
"""A round of writing that took s seconds is followed by a pause of at least _LOAD * s while records wait, so that it never starves the
fold, and after one that failed."""


class Judge(Protocol):
    """Knows the log that a store was written from."""

    def was_folded_from_the_log(self, head: PoolHead) -> bool:
        """Whether the log holds what `head` tells of. Raises `LogError`, `StoreError`."""

    def is_superseded(self, partition: int, epoch: int) -> bool:
        """Whether another took the partition over after `epoch`. Raises `LogError`."""


class _End(Enum):
    WRITTEN = auto()
    BEHIND = auto()
    LOST = auto()
    FAILED = auto()
    FENCED = auto()


@dataclass(slots=True)
class _Track:
    """One generation of a pool as the store has it. recovered: position its shard started from; known: whether its fence was asked for.

    head: the last one written.
    """

    generation: int
    recovered: int
    known: bool = False
    visible: int = 0
    """Readers already see this position: nothing is written before the fold has reached it again."""
    written_at: float = float("-inf")
    head: PoolHead | None = None


@dataclass(frozen=True, slots=True)
class _Update:
    """frozen: nothing of the state may be shown; what readers have stays, and its head says why."""

    state: PoolState
    track: _Track
    epoch: int
    head: PoolHead
    ids: NDArray[np.int32]
    boards: Mapping[str, LiveBoard]
    frozen: bool = False


class Publisher:
    """Driven by the folding thread; talks to the store from a thread of its own.

    clock: seconds since 1970, which readers are told. What is due goes by the `now` of its callers, which never goes back.
    judge: of what stands in the store.
    """

    def __init__(self, store: StoreWriter, interval: float, judge: Judge, clock: Callable[[], float] = time.time) -> None:
        self._store, self._interval, self._judge, self._clock = store, interval, judge, clock
        self._tracks: dict[str, _Track] = {}
        self._executor = ThreadPoolExecutor(1, "publish")
        self._job: Future[list[tuple[_Update, _End]]] | None = None
        self._began = self._next = self._rested = float("-inf")
        self.written_at: float | None = None
        self.counters = {"published_pools": 0, "store_failures": 0, "store_losses": 0, "fenced_writes": 0}
        self.pauses = Durations()
        """Of the fold, while what changed is copied for readers."""

    def step(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int], *, behind: bool = False) -> None:
        """Take in what the last round did, and start the next when it is due. behind: records wait to be folded. Raises `Fenced`."""
        if self._job is not None:
            if not self._job.done():
                return
            self._settle(self._job.result(), now)
        if now >= (self._rested if behind else self._next) and (updates := self._copied(now, partitions.values(), epochs)):
            self._began = now
            self._job = self._executor.submit(self._write, updates)

    def drain(self, now: float, partitions: Mapping[int, Partition], epochs: Mapping[int, int]) -> None:
        """Write what is left, once, and end the thread. Raises `Fenced`."""
        if self._job is not None:
            self._settle(self._job.result(), now)
        self._settle(self._write(self._updates(now, partitions.values(), epochs)), now)
        self._executor.shutdown()

    def _copied(self, now: float, partitions: Collection[Partition], epochs: Mapping[int, int]) -> list[_Update]:
        """`_updates`, and how long folding paused for them, if there are any."""
        began = time.perf_counter()
        if updates := self._updates(now, partitions, epochs):
            self.pauses.add(time.perf_counter() - began)
        return updates

    def _updates(self, now: float, partitions: Collection[Partition], epochs: Mapping[int, int]) -> list[_Update]:
        """What changed, and of what did not the pools that were written longest ago: so every pool is looked after in its turn."""
        ready = [
            (state, track, partition)
            for partition in partitions
            for pool, state in partition.pools.items()
            if pool not in partition.hidden and _ready(state, partition, track := self._track(pool, state))
        ]
        idle = [one for one in ready if not one[0].changes.any and now - one[1].written_at >= _IDLE_SECONDS]
        due = [one for one in ready if one[0].changes.any] + nsmallest(_IDLE_AT_ONCE, idle, key=lambda one: one[1].written_at)
        at = self._clock()
        updates = [_update(state, track, epochs[partition.number], partition, at) for state, track, partition in due]
        return updates + [update for partition in partitions for update in self._frozen(now, partition, epochs[partition.number])]

    def _frozen(self, now: float, partition: Partition, epoch: int) -> Iterator[_Update]:
        """What to tell of pools whose serving generation could not be built again, whose partition could not be recovered, or that broke
        before this shard wrote anything of them.
        """
        frozen = {pool: partition.pools[pool] for pool in sorted(partition.frozen)}
        broken = {pool: state for pool, state in partition.pools.items() if state.broken and self._track(pool, state).head is None}
        for pool, state in (frozen | partition.unread | broken).items():
            track = self._track(pool, state)
            if now - track.written_at >= _IDLE_SECONDS:
                head = _head(state.emptied() if state.broken else state, partition, self._clock())
                head = msgspec.structs.replace(head, stopped=state.stopped or partition.stopped)
                yield _Update(state, track, epoch, head, np.zeros(0, np.int32), {}, frozen=True)

    def _track(self, pool: str, state: PoolState) -> _Track:
        track = self._tracks.get(pool)
        if track is None or (track.generation, track.recovered) != (state.generation.number, state.recovered_at):
            track = self._tracks[pool] = _Track(state.generation.number, state.recovered_at)
        return track

    def _write(self, updates: list[_Update]) -> list[tuple[_Update, _End]]:
        """Each update's end. Once the store does not answer, the others wait for the next round instead of a timeout each."""
        ends: list[tuple[_Update, _End]] = []
        down = False
        for update in updates:
            try:
                ends.append((update, _End.FAILED if down else self._write_one(update)))
            except (StoreError, LogError) as error:
                log.warning("not published, changes gather: %s", error, extra={"pool": update.head.pool, "position": update.head.position})
                ends.append((update, _End.FAILED))
                down = error.retriable and not isinstance(error, OtherLog)
        return ends

    def _write_one(self, update: _Update) -> _End:
        try:
            if update.frozen:
                return self._write_frozen(update)
            if not update.track.known and (end := self._ask(update)) is not None:
                return end
            written = self._store.publish_live(update.head, update.epoch, update.boards)
        except StoreLost:
            return _End.LOST
        return _End.WRITTEN if written else self._refused(update)

    def _refused(self, update: _Update) -> _End:
        """A newer epoch stands in the store: of an owner whom the control log knows, or of one that it lost, who will never come back."""
        return _End.FENCED if self._judge.is_superseded(update.head.partition, update.epoch) else self._forget(update)

    def _forget(self, update: _Update) -> _End:
        log.warning("readers saw what the log has lost: written anew", extra={"pool": update.head.pool, "position": update.head.position})
        self._store.forget(update.head.pool)
        return _End.LOST

    def _write_frozen(self, update: _Update) -> _End:
        """Let the head that readers see say why nothing follows. A store that was lost has nothing that could say it."""
        standing, told, stopped = self._store.head(update.head.pool), update.head.building, update.head.stopped
        if told is not None:
            stopped = f"generation {told.generation} could not be folded again, so its boards stay as they were: {told.failed}"
        if standing is None or stopped is None:
            return _End.WRITTEN
        head = msgspec.structs.replace(standing, published_at=update.head.published_at, stopped=stopped, building=told)
        return _End.WRITTEN if self._store.publish_live(head, update.epoch, {}) else self._refused(update)

    def _ask(self, update: _Update) -> _End | None:
        """What readers see of a pool that this shard has not written yet, and what follows from it."""
        standing, head = self._store.published(update.head.pool), self._store.head(update.head.pool)
        if standing is not None and head is not None and not self._judge.was_folded_from_the_log(head):
            return self._forget(update)
        update.track.known = True
        if standing is not None and standing.generation > update.head.generation:
            update.track.visible = sys.maxsize  # readers are ahead: what they have stays until that generation is built again
            return _End.BEHIND
        if standing is None or not _covers(standing, update):
            return _End.LOST if update.track.recovered else None
        if update.head.beliefs and (head is None or not head.beliefs.keys() >= update.head.beliefs.keys()):
            return _End.LOST  # earlier releases wrote none
        update.track.visible = standing.position
        return _End.BEHIND if update.head.position < standing.position else None

    def _settle(self, ends: list[tuple[_Update, _End]], now: float) -> None:
        self._job = None
        self._next = now + self._interval
        self._rested = max(self._next, now + min(_LOAD * (now - self._began), _MOST_PAUSE))
        if any(end is _End.FAILED for _, end in ends):
            self._next = self._rested
        for update, end in ends:
            match end:
                case _End.WRITTEN:
                    update.track.written_at, self.written_at = now, self._clock()
                    self.counters["published_pools"] += 1
                    if not update.frozen:
                        update.track.head = update.head
                case _End.LOST:
                    update.state.changes.mark_all()
                    update.track.head = None
                    self.counters["store_losses"] += 1
                case _End.BEHIND | _End.FAILED:
                    update.state.changes.mark(update.ids)
                    self.counters["store_failures"] += end is _End.FAILED
                case _End.FENCED:
                    self.counters["fenced_writes"] += 1
                    raise Fenced(f"pool {update.head.pool} is written by a newer shard than epoch {update.epoch}")


def _covers(standing: Fence, update: _Update) -> bool:
    """Whether what stands holds every change before the checkpoint this shard started from."""
    return standing.generation == update.head.generation and standing.position >= update.track.recovered


def _ready(state: PoolState, partition: Partition, track: _Track) -> bool:
    """Whether the pool may be written: not below what readers see, and of one that broke only what was written before."""
    return partition.position >= track.visible and (not state.broken or track.head is not None)


def _update(state: PoolState, track: _Track, epoch: int, partition: Partition, at: float) -> _Update:
    """What changed of a pool, as of `at`, seconds since 1970."""
    ids = state.changes.take()
    readings = {} if state.broken else {method: state.content.ratings.read(method, ids) for method in state.content.ratings.online}
    if wrong := [method for method, reading in readings.items() if not _finite(reading).all()]:
        _stop_unfinite(state, wrong[0], ids[~_finite(readings[wrong[0]])], partition.position)
    if state.broken:
        head = track.head or _head(state.emptied(), partition, at)
        head = msgspec.structs.replace(head, published_at=at, stopped=state.stopped, building=_building(state, partition))
        return _Update(state, track, epoch, head, ids, {})
    names = state.content.agents.names(ids)
    total = len(state.content.agents)
    boards = {method: _board(names, reading, total) for method, reading in readings.items()}
    boards[ACTIVITY] = LiveBoard(names, state.content.activity[ids].astype(np.float64).tolist(), total=total)
    return _Update(state, track, epoch, _head(state, partition, at), ids, boards)


def _finite(reading: Reading) -> NDArray[np.bool_]:
    """Whose numbers are numbers."""
    ratings = np.isfinite(reading.rating)
    return ratings if reading.deviation is None else ratings & np.isfinite(reading.deviation)


def _board(names: Sequence[str], reading: Reading, total: int) -> LiveBoard:
    return LiveBoard(names, reading.rating.tolist(), [] if reading.beliefs is None else list(reading.beliefs.each()), total)


def _stop_unfinite(state: PoolState, method: str, ids: NDArray[np.int32], position: int) -> None:
    """Stop a pool alone whose ratings or deviations are no numbers any more: no store takes them, no order has a place for them (law 6)."""
    pool = state.generation.pool
    why = f"the {method} rating of {state.content.agents.names(ids[:1])[0]!r} is no finite number; change the method's settings"
    log.error("pool stopped: %s", why, extra={"pool": pool, "position": position})
    state.stop(f"{why} by `equirank pools settings {pool}`", position, broken=True)


def _head(state: PoolState, partition: Partition, at: float) -> PoolHead:
    counts, position = state.content.counts, state.folded_to(partition.position)
    return PoolHead(
        pool=state.generation.pool,
        kind=state.kind,
        label=state.created.label,
        partition=partition.number,
        generation=state.generation.number,
        position=position,
        published_at=at,
        pool_time=state.content.clock.time,
        outcomes=counts["outcomes"],
        agents=len(state.content.agents),
        tasks=len(state.content.tasks),
        duplicates=counts["duplicates"],
        conflicts=counts["conflicts"],
        retractions=counts["retractions"],
        dead_letters=counts["refused"],
        online=list(state.content.ratings.online),
        prequential={name: means for name, sums in state.content.ratings.prequential.items() if (means := sums.means())},
        stopped=state.stopped or partition.stopped,
        pending=state.waiting_retractions,
        left_out=0 if state.content.edits is None else int(state.content.edits.left_out.sum()),
        unmatched=state.pending.unmatched + (0 if state.content.edits is None else state.content.edits.unmatched),
        building=_building(state, partition),
        beliefs=state.content.ratings.beliefs,
        record=_record_before(position, partition),
    )


def _record_before(position: int, partition: Partition) -> str | None:
    """Hash of the record that ends at `position`, if it is the last one folded."""
    return partition.last[1] if partition.last is not None and partition.last[0] + 1 == position else None


def _building(state: PoolState, partition: Partition) -> Building | None:
    """The newest generation of the pool that is being built, or could not be."""
    numbers = [number for pool, number in partition.builds if pool == state.generation.pool]
    if not numbers:
        return None
    build = partition.builds[state.generation.pool, max(numbers)]
    return Building(generation=max(numbers), progress=round(build.progress(partition.position), 4), failed=build.failed)
