"""Writes one checkpoint: an object per changed pool, then the manifest that names them. Then it removes checkpoints no longer kept."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest
from services.checkpoints.slice_entries import with_digests
from services.control.records import FOLD_VERSION
from services.shard.checkpointing.entries import PoolEntries, PoolToWrite
from services.shard.checkpointing.history import HistoryWriter
from services.shard.partition import Partition

log = logging.getLogger("equirank.checkpoint")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A partition as it was when the checkpoint began.

    manifest: manifest without pools; they are added when they are written. pools: number of frozen items that are pools; the other items
    are builds. caught_up: keys of the builds at the partition's position. edition: edition of the partition. erasing: for each pool whose
    generation erases names, the number of that generation; checkpoints of earlier generations contain the names and are removed.
    """

    manifest: Manifest
    pools: int
    caught_up: frozenset[tuple[str, int]]
    edition: int
    erasing: Mapping[str, int]


def manifest_of(partition: Partition, log_identity: str, epoch: int, at: float, newest: Manifest | None) -> Manifest:
    """Create the manifest of a partition as it is now, without its pools.

    Args:
        partition: Partition to write.
        log_identity: Identity of the log that it is folded from.
        epoch: Epoch under which it is owned.
        at: Seconds since 1970.
        newest: Manifest of the newest checkpoint, of this epoch or an earlier one.
    """
    offset, sha256 = partition.last or (None, None)
    sequence = 0
    if newest is not None and partition.position == newest.position:  # of two manifests at one position, the later one counts
        sequence = 1 + (newest.sequence if newest.epoch == epoch else 0)
    return Manifest(
        format=FORMAT,
        partition=partition.number,
        position=partition.position,
        epoch=epoch,
        log_identity=log_identity,
        last_offset=offset,
        last_sha256=sha256,
        fold_version=FOLD_VERSION,
        written_at=at,
        pools=[],
        sequence=sequence,
    )


class CheckpointWriter:
    """Writes and prunes the checkpoints of one partition. Runs on the checkpointer's thread.

    entries: pools of the newest checkpoint. keep: number of checkpoints that are kept. history: segments of history that wait to be
    written. seconds: duration of the last write, successful or not. pruned: whether the last write succeeded, and older checkpoints,
    including those with erased names, were removed after it.

    renews: whether the next checkpoint is needed although the partition did not change, because a newer one than that of `entries` is
    damaged. A partition without new records would else keep the damaged one as its newest.
    """

    def __init__(self, store: CheckpointStore, entries: PoolEntries, keep: int) -> None:
        self._store, self.entries, self._keep = store, entries, keep
        self.history = HistoryWriter(store, entries.epoch)
        self.seconds, self.pruned, self.renews = 0.0, False, False

    def write(self, checkpoint: Checkpoint, frozen: list[PoolToWrite]) -> Checkpoint:
        """Write a checkpoint. On success, `entries` are those of this checkpoint. Raises `OSError`."""
        began, self.pruned = time.perf_counter(), False
        try:
            self._write(checkpoint, frozen)
        finally:
            self.seconds = time.perf_counter() - began
            for item in frozen:
                item.close()
        return checkpoint

    def _write(self, checkpoint: Checkpoint, frozen: list[PoolToWrite]) -> None:
        """Write the segments of history, the objects and the manifest, then prune.

        Each frozen pool is released as soon as it is written, because freeing thousands at once would delay the folding thread.
        """
        self.history.write(checkpoint.manifest.partition)
        frozen.reverse()
        items = list[PoolToWrite]()
        while frozen:
            items.append(self._write_pool(frozen[-1]))
            frozen.pop().close()
        written = [item.entry for item in items]
        manifest = msgspec.structs.replace(checkpoint.manifest, pools=written[: checkpoint.pools], builds=written[checkpoint.pools :])
        self._check_objects(manifest)
        name = self._store.write_manifest(manifest)
        self.entries.replace(items)
        self.renews = False
        self._prune(manifest.partition, checkpoint.erasing, name)

    def _prune(self, partition: int, erasing: Mapping[str, int], written: str) -> None:
        """Remove checkpoints that are no longer kept. After a failure the new checkpoint is still valid, and the next one tries again."""
        try:
            if erasing:
                self._store.drop_generations(partition, erasing)
            self._store.prune(partition, self._keep, self.entries.epoch, written)
        except OSError as error:
            log.warning("the checkpoint was written, but old checkpoints could not be removed: %s", error)
            return
        self.pruned = True

    def _check_objects(self, manifest: Manifest) -> None:
        """Raise `OSError` if an object that the manifest names is missing. The next checkpoint writes that object again.

        The previous owner may have removed it before it learned that it is superseded.
        """
        if gone := {entry.object for entry in manifest.entries} - self._store.objects(manifest.partition):
            self.entries.forget(gone)
            raise OSError(f"{len(gone)} objects of unchanged pools are gone, such as {min(gone)}; the next checkpoint writes them again")

    def _write_pool(self, item: PoolToWrite) -> PoolToWrite:
        if item.content is None:
            return item
        arrays = item.content.arrays()
        sha256, size = self._store.write_object(item.entry.object, {**arrays, **item.beside}, {"pool": item.entry.pool})
        slices = with_digests(item.entry.slices, arrays)
        entry = msgspec.structs.replace(item.entry, sha256=sha256, bytes=size, digest=digest(arrays), slices=slices)
        return PoolToWrite(entry, item.version, None, changes=item.changes)
