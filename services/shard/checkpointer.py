"""Writes checkpoints beside the fold: arrays are copied by the folding thread and written by another."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import msgspec

from ratings_core.digest import digest
from services.pools import FOLD_VERSION
from services.shard.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry, object_name
from services.shard.partition import Partition
from services.shard.pool import Arrays, PoolState

log = logging.getLogger("equirank.checkpoint")

_LOAD: Final = 5.0
"""A checkpoint that took s seconds is followed by a pause of at least _LOAD * s, so that large pools are not always being written."""


@dataclass(frozen=True, slots=True)
class _Frozen:
    """One pool as it was when the checkpoint began: its entry, and the arrays where they are not written yet."""

    entry: PoolEntry
    version: int
    arrays: Arrays | None


class Checkpointer:
    """Checkpoints of one partition under one epoch. Driven by the folding thread."""

    def __init__(self, store: CheckpointStore, log_identity: str, epoch: int, keep: int, standing: Manifest | None) -> None:
        self._store, self._identity, self._epoch, self._keep = store, log_identity, epoch, keep
        self._written = {entry.pool: (0, entry) for entry in standing.pools} if standing else {}
        self._executor = ThreadPoolExecutor(1, "checkpoint")
        self._job: Future[list[_Frozen]] | None = None
        self._next = float("-inf")
        self._began = self._interval = 0.0
        self.position = standing.position if standing else None
        self.written_at = standing.written_at if standing else None
        self.counters = {"checkpoints": 0, "checkpoint_failures": 0}

    def step(self, now: float, interval: float, partition: Partition) -> None:
        """Take in the last checkpoint's end, and begin the next when it is due and the partition moved."""
        if self._job is not None:
            if not self._job.done():
                return
            self._settle(self._job, now)
        if now >= self._next and partition.position != self.position:
            self._began = time.perf_counter()
            self._interval = interval
            self._job = self._executor.submit(self._freeze(now, partition))

    def drain(self, now: float, partition: Partition) -> None:
        """Write a last checkpoint if the partition moved since, and end the thread."""
        if self._job is not None:
            self._settle(self._job, now)
        if partition.position != self.position:
            self._settle(self._executor.submit(self._freeze(now, partition)), now)
        self._executor.shutdown()

    def _freeze(self, now: float, partition: Partition) -> Callable[[], list[_Frozen]]:
        frozen = [self._frozen(state, partition) for state in partition.pools.values()]
        offset, sha256 = partition.last or (None, None)
        manifest = Manifest(
            format=FORMAT,
            partition=partition.number,
            position=partition.position,
            epoch=self._epoch,
            log_identity=self._identity,
            last_offset=offset,
            last_sha256=sha256,
            fold_version=FOLD_VERSION,
            written_at=now,
            pools=[],
        )
        return lambda: self._write(manifest, frozen)

    def _frozen(self, state: PoolState, partition: Partition) -> _Frozen:
        pool, position = state.generation.pool, state.folded_to(partition.position)
        version, entry = self._written.get(pool, (-1, None))
        if entry is not None and (version == state.version or state.stopped is not None):
            stands = entry.position if state.stopped is not None else position
            return _Frozen(msgspec.structs.replace(entry, position=stands, stopped=state.stopped), version, None)
        fresh = PoolEntry(
            pool=pool,
            kind=state.kind,
            generation=state.generation.number,
            position=position,
            outcomes=state.counts["outcomes"],
            object=object_name(partition.number, pool, state.generation.number, position, self._epoch),
            sha256="",
            bytes=0,
            digest="",
            stopped=state.stopped,
        )
        return _Frozen(fresh, state.version, state.arrays())

    def _write(self, manifest: Manifest, frozen: list[_Frozen]) -> list[_Frozen]:
        written = [self._write_pool(item) for item in frozen]
        self._store.write_manifest(msgspec.structs.replace(manifest, pools=[item.entry for item in written]))
        self._store.prune(manifest.partition, self._keep, self._epoch)
        self.position, self.written_at = manifest.position, manifest.written_at
        return written

    def _write_pool(self, item: _Frozen) -> _Frozen:
        if item.arrays is None:
            return item
        sha256, size = self._store.write_object(item.entry.object, item.arrays, {"pool": item.entry.pool})
        entry = msgspec.structs.replace(item.entry, sha256=sha256, bytes=size, digest=digest(item.arrays))
        return _Frozen(entry, item.version, None)

    def _settle(self, job: Future[list[_Frozen]], now: float) -> None:
        self._job = None
        self._next = now + max(self._interval, _LOAD * (time.perf_counter() - self._began))
        try:
            written = job.result()
        except OSError as error:
            self.counters["checkpoint_failures"] += 1
            log.warning("checkpoint was not written, the one before stands: %s", error)
            return
        self._written = {item.entry.pool: (item.version, item.entry) for item in written}
        self.counters["checkpoints"] += 1
