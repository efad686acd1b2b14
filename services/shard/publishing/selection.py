"""Selects the pools that a round of publication writes."""

from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import nsmallest
from typing import Final

import msgspec
import numpy as np

from services.boards.store.protocol import PoolHead
from services.shard.partition import Partition
from services.shard.publishing import updates
from services.shard.publishing.updates import Track, Update
from services.state.pool import PoolState

_IDLE_SECONDS: Final = 2.0
_IDLE_AT_ONCE: Final = 100


class Selection:
    """Selects updates, and tracks what the store contains of each pool. clock: seconds since 1970, for heads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tracks: dict[str, Track] = {}

    def updates(self, now: float, partitions: Collection[Partition], epochs: Mapping[int, int]) -> list[Update]:
        """Return an update for each changed pool, for the unchanged pools least recently written, and for heads of frozen pools.

        Unchanged pools are included at most 100 at a time, if their last write is at least 2 s old. Values that the store lost are
        thereby detected and written again.
        """
        ready = [
            (state, track, partition)
            for partition in partitions
            for pool, state in partition.pools.items()
            if pool not in partition.readers.hidden and _ready(state, partition, track := self._track(pool, state))
        ]
        idle = [one for one in ready if not one[0].changes.any and now - one[1].written_at >= _IDLE_SECONDS]
        due = [one for one in ready if one[0].changes.any] + nsmallest(_IDLE_AT_ONCE, idle, key=lambda one: one[1].written_at)
        at = self._clock()
        taken = [updates.update_of(state, track, epochs[partition.number], partition, at) for state, track, partition in due]
        changed = [update for update in taken if update is not None]
        return changed + [update for partition in partitions for update in self._frozen(now, partition, epochs[partition.number])]

    def _frozen(self, now: float, partition: Partition, epoch: int) -> Iterator[Update]:
        """Yield updates of the head only, for pools whose published boards must not change. `_why` gives the reasons."""
        tracks = {pool: self._track(pool, state) for pool, state in partition.pools.items()}
        seen = {pool for pool, track in tracks.items() if pool in partition.readers.hidden or partition.position < track.visible}
        behind = {pool: partition.pools[pool] for pool in seen}
        broken = {pool: state for pool, state in partition.pools.items() if state.broken}
        unread = {pool: state for pool, state in partition.readers.unread.items() if partition.readers.stopped and pool not in tracks}
        for pool, state in (behind | unread | broken).items():
            track = self._track(pool, state)
            if now - track.written_at < _IDLE_SECONDS and not (state.broken and track.told is None):
                continue  # written a moment ago; a pool that broke since is told at once
            head = updates.head_of(state.emptied() if state.broken else state, partition, self._clock())
            if (why := _why(head, state, partition)) is not None or track.told is not None:
                head = msgspec.structs.replace(head, stopped=why)
                yield Update(state, track, epoch, head, np.zeros(0, np.int32), {}, frozen=True)

    def _track(self, pool: str, state: PoolState) -> Track:
        track = self._tracks.get(pool)
        if track is None or (track.generation, track.recovered) != (state.generation.number, state.recovered_at):
            track = self._tracks[pool] = Track(state.generation.number, state.recovered_at)
        return track


def _ready(state: PoolState, partition: Partition, track: Track) -> bool:
    """Whether the pool's boards may be written: its position is not below the published one, and it is intact."""
    return partition.position >= track.visible and not state.broken


def _why(head: PoolHead, state: PoolState, partition: Partition) -> str | None:
    """Return why published boards do not change: the pool or the partition stopped, or the serving generation cannot be built again.

    Returns None while that generation is being built, or while published records are folded again.
    """
    if head.pool not in partition.readers.hidden:
        return state.stopped or partition.readers.stopped
    if partition.readers.stopped is not None or head.building is None or head.building.failed is None:
        return partition.readers.stopped
    return f"generation {head.building.generation} could not be folded again, so its boards stay as they were: {head.building.failed}"
