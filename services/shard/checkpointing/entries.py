"""Selects the pools that a checkpoint writes. A pool that did not change since the last checkpoint keeps its object."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from ratings_core.arrays.frozen import Arrays
from services.checkpoints.checkpoint import PoolEntry, object_name
from services.checkpoints.slice_entries import slice_entries
from services.state.changes import ChangeTracker
from services.state.frozen import FrozenPool
from services.state.pool import PoolState


@dataclass(frozen=True, slots=True)
class PoolToWrite:
    """One pool as it was when the checkpoint began.

    entry: the pool's entry in the manifest. version: version of the pool's changes. content: frozen content to write; None if the entry's
    object contains it already. beside: arrays of the object that are not part of the content. changes: the tracker that counts `version`;
    None if the entry comes from the checkpoint that the shard restored.
    """

    entry: PoolEntry
    version: int
    content: FrozenPool | None
    beside: Arrays = field(default_factory=dict)
    changes: ChangeTracker | None = None

    def holds(self, state: PoolState) -> bool:
        """Whether the object contains `state` as it is now.

        Versions of different states must not be compared: a generation that is built again has another state, which counts from 0.
        """
        is_its = state.changes is self.changes if self.changes is not None else state.recovered_at > 0
        return is_its and self.version == state.changes.version

    def close(self) -> None:
        """Release the frozen content."""
        if self.content is not None:
            self.content.close()


class PoolEntries:
    """Pools of the newest checkpoint, by name and generation. epoch: epoch of the partition's owner."""

    def __init__(self, epoch: int, entries: Iterable[PoolEntry]) -> None:
        self.epoch = epoch
        self._newest = {(entry.pool, entry.generation): PoolToWrite(entry, 0, None) for entry in entries}

    def freeze(self, state: PoolState, position: int, partition: int) -> PoolToWrite:
        """Freeze one pool as it is now, folded up to `position`. Raises `MemoryError`.

        An unchanged or stopped pool keeps its object. A broken pool without an object is written as it was before any outcome: in a season,
        with the ratings that it began with.
        """
        before = self._newest.get((state.generation.pool, state.generation.number))
        if before is not None:
            state.final = None  # it is large, and from now on the object of the checkpoint takes its place
        listed = before is not None and (bool(before.entry.slices) or not slice_entries(state.slices))  # earlier releases listed none
        if before is not None and ((before.holds(state) and listed) or state.stopped is not None):
            folded_to = before.entry.position if state.stopped is not None else position
            return replace(before, entry=msgspec.structs.replace(before.entry, position=folded_to, stopped=state.stopped))
        source, position = (state.emptied(state.final), state.generation.start) if state.broken else (state, position)
        entry = PoolEntry(
            pool=state.generation.pool,
            kind=state.kind,
            generation=state.generation.number,
            position=position,
            outcomes=source.content.counts["outcomes"],
            history_from=max(0, source.content.counts["outcomes"] - state.generation.fold.history),
            object=object_name(partition, state.generation.pool, state.generation.number, position, self.epoch),
            sha256="",
            bytes=0,
            digest="",
            stopped=state.stopped,
            slices=slice_entries(source.slices),
        )
        history = source.content.history
        beside = source.retractions.arrays() | ({} if history is None else history.arrays())
        return PoolToWrite(entry, state.changes.version, source.freeze(), beside, state.changes)

    def replace(self, items: Iterable[PoolToWrite]) -> None:
        """Note that a checkpoint of these pools was written.

        Old entries are dropped one by one, because freeing thousands at once would delay the folding thread.
        """
        written = {(item.entry.pool, item.entry.generation): item for item in items}
        for key in [key for key in self._newest if key not in written]:
            del self._newest[key]
        for key, item in written.items():
            self._newest[key] = item

    def forget(self, objects: set[str]) -> None:
        """Note that these objects are missing. The next checkpoint writes their pools again."""
        self._newest = {key: item for key, item in self._newest.items() if item.entry.object not in objects}
