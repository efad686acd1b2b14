"""Which pools a checkpoint writes: a pool that did not change since the last one keeps its object."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from ratings_core.arrays.frozen import Arrays
from services.checkpoints.checkpoint import PoolEntry, object_name
from services.state.changes import ChangeTracker
from services.state.frozen import FrozenPool
from services.state.pool import PoolState


@dataclass(frozen=True, slots=True)
class PoolToWrite:
    """One pool as it was when the checkpoint began.

    version: of the pool's changes. content: None where the entry's object holds it already. beside: arrays of the object that are no
    part of the content. changes: whose version it is; None where the entry was read: then it is of the state that was restored from it.
    """

    entry: PoolEntry
    version: int
    content: FrozenPool | None
    beside: Arrays = field(default_factory=dict)
    changes: ChangeTracker | None = None

    def holds(self, state: PoolState) -> bool:
        """Whether the object holds a state as it is. A generation that is built again is another state, and counts from 0 again."""
        is_its = state.changes is self.changes if self.changes is not None else state.recovered_at > 0
        return is_its and self.version == state.changes.version

    def close(self) -> None:
        """Give the frozen content up."""
        if self.content is not None:
            self.content.close()


class PoolEntries:
    """Pools of the newest checkpoint, by name and generation. epoch: of the owner."""

    def __init__(self, epoch: int, entries: Iterable[PoolEntry]) -> None:
        self.epoch = epoch
        self._newest = {(entry.pool, entry.generation): PoolToWrite(entry, 0, None) for entry in entries}

    def freeze(self, state: PoolState, position: int, partition: int) -> PoolToWrite:
        """A pool of a partition as it is now, folded up to `position`. Raises `MemoryError`."""
        before = self._newest.get((state.generation.pool, state.generation.number))
        if before is not None and (before.holds(state) or state.stopped is not None):
            folded_to = before.entry.position if state.stopped is not None else position
            return replace(before, entry=msgspec.structs.replace(before.entry, position=folded_to, stopped=state.stopped))
        if state.broken:
            return self._changed(state, state.emptied(), state.generation.start, partition)
        return self._changed(state, state, position, partition)

    def replace(self, items: Iterable[PoolToWrite]) -> None:
        """A checkpoint of these pools was written. Entries are dropped one by one: to free thousands at once would delay the fold."""
        written = {(item.entry.pool, item.entry.generation): item for item in items}
        for key in [key for key in self._newest if key not in written]:
            del self._newest[key]
        for key, item in written.items():
            self._newest[key] = item

    def forget(self, objects: set[str]) -> None:
        """These objects are gone: pools that had them are written by the next checkpoint, as if they had changed."""
        self._newest = {key: item for key, item in self._newest.items() if item.entry.object not in objects}

    def _changed(self, state: PoolState, source: PoolState, position: int, partition: int) -> PoolToWrite:
        """A new object. source: the state to write; that before any outcome where the pool is broken."""
        entry = PoolEntry(
            pool=state.generation.pool,
            kind=state.kind,
            generation=state.generation.number,
            position=position,
            outcomes=source.content.counts["outcomes"],
            object=object_name(partition, state.generation.pool, state.generation.number, position, self.epoch),
            sha256="",
            bytes=0,
            digest="",
            stopped=state.stopped,
        )
        return PoolToWrite(entry, state.changes.version, source.freeze(), source.retractions.arrays(), state.changes)
