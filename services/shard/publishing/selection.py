"""Selects the pools that a round of publication writes."""

from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import nsmallest
from typing import Final

import msgspec
import numpy as np

from services.boards.store.protocol import PoolHead
from services.runtime.settings import Provisional
from services.shard.partition import Partition
from services.shard.publishing import updates
from services.shard.publishing.updates import Track, Update
from services.state.pool import Changes, PoolState

_IDLE_SECONDS: Final = 2.0
_IDLE_AT_ONCE: Final = 100


class Selection:
    """Selects updates, and tracks what the store contains of each pool.

    clock: seconds since 1970, for heads. limits: the least evidence for a rank.
    """

    def __init__(self, clock: Callable[[], float], limits: Provisional) -> None:
        self._clock, self._limits = clock, limits
        self._tracks: dict[str, Track] = {}

    def updates(self, now: float, partitions: Collection[Partition], epochs: Mapping[int, int]) -> list[Update]:
        """Return updates: of each changed pool, of the unchanged pools least recently written, and of heads whose boards must not change.

        Unchanged pools are included at most 100 at a time, if their last update is at least 2 s old, and so are pools that wait for their
        published position. Boards that the store lost are thereby detected and written again.
        """
        ready = [
            (state, track, partition)
            for partition in partitions
            for pool, state in partition.pools.items()
            if not _hidden(pool, partition, track := self._track(pool, state)) and _ready(state, partition, track)
        ]
        idle = [entry for entry in ready if not entry[0].changes.any and now - entry[1].checked_at >= _IDLE_SECONDS]
        due = [entry for entry in ready if entry[0].changes.any] + nsmallest(_IDLE_AT_ONCE, idle, key=lambda entry: entry[1].checked_at)
        at = self._clock()
        taken = [updates.update_of(state, track, epochs[partition.number], partition, at, self._limits) for state, track, partition in due]
        heads = [entry for partition in partitions for entry in self._due_heads(now, partition)]
        waiting = nsmallest(_IDLE_AT_ONCE, (entry for entry in heads if _only_waits(*entry)), key=lambda entry: entry[1].checked_at)
        reported = [entry for entry in heads if not _only_waits(*entry)]
        others = reported + waiting
        taken += [_head_update(state, track, epochs[partition.number], partition, at, self._limits) for state, track, partition in others]
        return [update for update in taken if update is not None]

    def _due_heads(self, now: float, partition: Partition) -> Iterator[tuple[PoolState, Track, Partition]]:
        """Yield pools whose published boards must not change, if an update of their head is due. `_why` gives the reasons."""
        tracks = {pool: self._track(pool, state) for pool, state in partition.pools.items()}
        behind = {
            pool: state
            for pool, state in partition.pools.items()
            if _hidden(pool, partition, tracks[pool]) or _precedes_published(state, partition, tracks[pool])
        }
        broken = {pool: state for pool, state in partition.pools.items() if state.broken}
        unrecovered = {pool: state for pool, state in partition.readers.unread.items() if partition.readers.stopped and pool not in tracks}
        for pool, state in (behind | unrecovered | broken).items():
            track = self._track(pool, state)
            if now - track.checked_at >= _IDLE_SECONDS or (state.broken and track.shown_stop is None):
                yield state, track, partition  # a pool that broke since its last update is reported at once

    def _track(self, pool: str, state: PoolState) -> Track:
        track = self._tracks.get(pool)
        if track is None or (track.generation, track.recovered) != (state.generation.number, state.recovered_at):
            track = self._tracks[pool] = Track(state.generation.number, state.recovered_at)
        return track


def _head_update(state: PoolState, track: Track, epoch: int, partition: Partition, at: float, limits: Provisional) -> Update | None:
    """Update of a head whose boards must not change; None if there is nothing to report, and the store need not be asked.

    The head of a broken pool describes an empty board, which belongs to the start of the generation.
    """
    head = updates.head_of(state.emptied() if state.broken else state, partition, at, limits)
    if (why := _why(head, state, partition, track)) is None and track.shown_stop is None and not track.visible:
        return None
    head = msgspec.structs.replace(head, stopped=why)
    if state.broken:
        head = msgspec.structs.replace(head, position=state.generation.start, record=None)
    unbuilt = not state.broken and _hidden(head.pool, partition, track) and head.pool in partition.unbuilt
    return Update(state, track, epoch, head, Changes(np.zeros(0, np.int32)), {}, head_only=True, broken=state.broken, unbuilt=unbuilt)


def _hidden(pool: str, partition: Partition, track: Track) -> bool:
    """Whether readers may see a later generation of the pool, which is built again or cannot be."""
    return pool in partition.readers.hidden and not track.unhidden


def _ready(state: PoolState, partition: Partition, track: Track) -> bool:
    """Whether the pool's boards may be written: its position is not below the published one, and it is intact."""
    return not state.broken and not _precedes_published(state, partition, track)


def _precedes_published(state: PoolState, partition: Partition, track: Track) -> bool:
    """Whether the pool is at an earlier position than the published one, as after a recovery. A stopped pool can stay there."""
    return state.folded_to(partition.position) < track.visible


def _only_waits(state: PoolState, track: Track, partition: Partition) -> bool:
    """Whether nothing is to report of a pool whose boards must not change: it is folded until it reaches its published position."""
    return bool(track.visible) and track.shown_stop is None and state.stopped is None and partition.readers.stopped is None


def _why(head: PoolHead, state: PoolState, partition: Partition, track: Track) -> str | None:
    """Return why published boards do not change: the pool or the partition stopped, or the serving generation cannot be built again.

    Returns None while that generation is being built, or while published records are folded again.
    """
    if not _hidden(head.pool, partition, track):
        return state.stopped or partition.readers.stopped
    if partition.readers.stopped is not None or head.building is None or head.building.failed is None:
        return partition.readers.stopped
    return f"generation {head.building.generation} could not be folded again, so its boards stay as they were: {head.building.failed}"
