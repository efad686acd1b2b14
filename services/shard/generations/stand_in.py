"""A checkpoint in place of the log's forgotten beginning, for a generation that differs in what was retracted alone.

What is retracted counts as never sent. So where no outcome that a generation leaves out was folded before a checkpoint, the state in it
is that generation's own state at that position, whichever generation folded it; from there on the log is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ratings_core.errors import RatingsError
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry
from services.checkpoints.objects import BadObject
from services.control.records import FOLD_VERSION, Generation, PoolCreated
from services.log.protocol import Topic
from services.state.edits import Retracted
from services.state.pool import PoolState


class StandIn(NamedTuple):
    """A pool's state as of `position`, folded by another generation than the one to build; known: what that one retracts before there."""

    position: int
    state: PoolState
    known: Retracted


@dataclass(frozen=True, slots=True)
class StandIns:
    """Finds them among the checkpoints of a partition. Reads whole objects: not for the folding thread."""

    checkpoints: CheckpointStore
    topic: Topic
    partition: int

    def find(
        self, created: PoolCreated, target: Generation, others: Mapping[int, Generation], retracted: Retracted
    ) -> StandIn | str:
        """The oldest state that the log goes on from and `target` may take over, or why no such state exists.

        others: generations that differ from it in retractions alone; retracted: what it leaves out, as far as that is known.
        Raises `LogError`, `OSError`.
        """
        begin = self.topic.begin(self.partition)
        why, refused = "no checkpoint from there on holds the pool by the same settings", set[int]()
        for manifest, entry in self._entries(begin, target.pool, others):
            if entry.generation in refused:
                continue  # what the oldest one has folded, all have
            state = self._restored(manifest, entry, created, others[entry.generation])
            known = None if state is None else state.retracted_for(target)
            if state is None or known is None:
                continue
            if (folded := state.retractions.folded(retracted)) == 0:
                return StandIn(manifest.position, state, known)
            why = too_late(folded, manifest.position)
            refused.add(entry.generation)
        return f"{self.topic.name}[{self.partition}] begins at {begin}, after {target.start}, and {why}"

    def _entries(self, begin: int, pool: str, others: Mapping[int, Generation]) -> Iterator[tuple[Manifest, PoolEntry]]:
        """Where checkpoints from `begin` on hold the pool by one of the generations, oldest first."""
        for name in reversed(self.checkpoints.manifests(self.partition)):
            try:
                manifest = self.checkpoints.read_manifest(name)
            except BadObject:
                continue  # told by recovery, which names it with its reason
            if manifest.position >= begin and (manifest.log_identity, manifest.fold_version) == (self.topic.identity, FOLD_VERSION):
                found = (one for one in manifest.pools if one.pool == pool and one.generation in others and one.stopped is None)
                yield from ((manifest, entry) for entry in found)

    def _restored(self, manifest: Manifest, entry: PoolEntry, created: PoolCreated, made: Generation) -> PoolState | None:
        try:
            return PoolState.restore(created, made, self.checkpoints.read_pool(entry)[1], manifest.position)
        except (BadObject, RatingsError, KeyError, ValueError):
            return None  # pruned meanwhile, damaged, or of another release: the next one may do


def too_late(folded: int, position: int) -> str:
    """Why a state cannot be taken over that counted outcomes which are retracted now."""
    return f"{folded} of the outcomes that are retracted were folded before {position}, where the oldest checkpoint of use stands"
