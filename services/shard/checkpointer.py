"""Writes checkpoints beside the fold: the folding thread only says when; another copies, sorts, hashes and writes."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ratings_core.digest import digest
from ratings_core.frozen import Arrays
from services.pools import FOLD_VERSION
from services.shard.anchors import Anchors
from services.shard.build import Build
from services.shard.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry, object_name
from services.shard.durations import Durations
from services.shard.frozen import FrozenPool
from services.shard.partition import Partition
from services.shard.pool import PoolState

log = logging.getLogger("equirank.checkpoint")

_LOAD: Final = 5.0
"""A checkpoint that took s seconds is followed by a pause of at least _LOAD * s, so that large pools are not always being written."""


@dataclass(frozen=True, slots=True)
class _Frozen:
    """One pool as it was when the checkpoint began: its entry, and its content where that is not written yet.

    named: how many checkpoints named its object; beside: what its object holds that is no part of the content.
    """

    entry: PoolEntry
    version: int
    content: FrozenPool | None
    named: int = 1
    beside: Arrays = field(default_factory=dict)

    def close(self) -> None:
        """Its content is not asked for any longer."""
        if self.content is not None:
            self.content.close()


@dataclass(frozen=True, slots=True)
class _Written:
    """What a checkpoint holds. whole: builds that it has as far as the partition; edition: of the partition when it was frozen."""

    manifest: Manifest
    items: list[_Frozen]
    whole: frozenset[tuple[str, int]]
    edition: int


class Checkpointer:
    """Checkpoints of one partition under one epoch. Driven by the folding thread.

    anchor_seconds: least time between two anchors, None for none; log_begin: the first offset that the log holds, as far as is known;
    clock: seconds since 1970, which manifests tell. What is due goes by the `now` of its callers, which never goes back.
    """

    def __init__(
        self,
        store: CheckpointStore,
        log_identity: str,
        epoch: int,
        keep: int,
        standing: Manifest | None,
        anchor_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._identity, self._epoch, self._keep, self._clock = store, log_identity, epoch, keep, clock
        self.anchor_seconds, self.log_begin = anchor_seconds, 0
        entries = standing.entries if standing else []
        self._written = {(entry.pool, entry.generation): _Frozen(entry, 0, None, keep) for entry in entries}
        self._executor = ThreadPoolExecutor(1, "checkpoint")
        self._job: Future[_Written] | None = None
        self._next = float("-inf")
        self._began = self._ended = self._interval = 0.0
        self._sequence = self._edition = self._read = 0
        self._soon = False
        self._whole: frozenset[tuple[str, int]] = frozenset()
        self.position = standing.position if standing else None
        self.written_at = standing.written_at if standing else None
        self.counters = {"checkpoints": 0, "checkpoint_failures": 0, "checkpoint_seconds": 0.0}
        self.pauses = Durations()
        """Of the fold, while what a checkpoint holds is frozen."""

    def step(self, now: float, interval: float, partition: Partition, most: int | None = None) -> bool:
        """Take in the last checkpoint's end, and begin the next when it is due and the partition moved: whether it did.

        interval: least seconds between two; most: outcomes read since the last began after which the next is due anyway.
        """
        if self._job is not None:
            if not self._job.done():
                return False
            self._settle(self._job, now)
        if not self._due(now, partition, most) or not self._moved(partition):
            return False
        self._soon, self._read = False, partition.outcomes
        self._began = time.perf_counter()
        self._interval = interval
        self._job = self._executor.submit(self._freeze(partition))
        return True

    def drain(self, now: float, partition: Partition) -> None:
        """Write a last checkpoint if the partition moved since, and end the thread."""
        if self._job is not None:
            self._settle(self._job, now)
        if self._moved(partition):
            self._settle(self._executor.submit(self._freeze(partition)), now)
        self._executor.shutdown()

    def holds(self, build: Build) -> bool:
        """Whether a checkpoint stands that has the build as far as its partition was: a crash then costs no more than the tail."""
        return build.key in self._whole

    def hurry(self) -> None:
        """Write a checkpoint as soon as the one under way has ended."""
        self._soon = True

    def _due(self, now: float, partition: Partition, most: int | None) -> bool:
        return self._soon or now >= self._next or (most is not None and partition.outcomes - self._read >= most)

    def _moved(self, partition: Partition) -> bool:
        return (partition.position, partition.edition) != (self.position, self._edition)

    def _freeze(self, partition: Partition) -> Callable[[], _Written]:
        began = time.perf_counter()
        frozen = [self._frozen(state, state.folded_to(partition.position), partition.number) for state in partition.pools.values()]
        builds = [
            self._frozen(build.state, min(build.position, partition.position), partition.number)
            for build in partition.builds.values()
            if build.state is not None
        ]
        whole = frozenset(build.key for build in partition.builds.values() if build.state and not build.behind(partition.position))
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
            written_at=self._clock(),
            pools=[],
            sequence=self._sequence + 1 if partition.position == self.position else 0,
        )
        edition = partition.edition
        self.pauses.add(time.perf_counter() - began)
        return lambda: self._write(manifest, frozen, builds, whole, edition)

    def _frozen(self, state: PoolState, position: int, partition: int) -> _Frozen:
        pool, number = state.generation.pool, state.generation.number
        before, name = self._written.get((pool, number)), object_name(partition, pool, number, position, self._epoch)
        if before is not None and (before.version == state.version or state.stopped is not None):
            entry, stands = before.entry, before.entry.position if state.stopped is not None else position
            if before.named >= max(1, self._keep - 1) and state.stopped is None and entry.spare is None and name not in entry.objects:
                again = msgspec.structs.replace(entry, position=stands, object=name, spare=entry.object)
                return _Frozen(again, before.version, state.freeze(), beside=state.pending.arrays())
            return _Frozen(msgspec.structs.replace(entry, position=stands, stopped=state.stopped), before.version, None, before.named + 1)
        kept = state
        if state.broken:
            kept, position = state.emptied(), state.generation.start
            name = object_name(partition, pool, number, position, self._epoch)
        fresh = PoolEntry(
            pool=pool,
            kind=state.kind,
            generation=number,
            position=position,
            outcomes=kept.counts["outcomes"],
            object=name,
            sha256="",
            bytes=0,
            digest="",
            stopped=state.stopped,
        )
        return _Frozen(fresh, state.version, kept.freeze(), beside=kept.pending.arrays())

    def _write(
        self, manifest: Manifest, frozen: list[_Frozen], builds: list[_Frozen], whole: frozenset[tuple[str, int]], edition: int
    ) -> _Written:
        try:
            return self._write_whole(manifest, frozen, builds, whole, edition)
        finally:
            self._ended = time.perf_counter()

    def _write_whole(
        self, manifest: Manifest, frozen: list[_Frozen], builds: list[_Frozen], whole: frozenset[tuple[str, int]], edition: int
    ) -> _Written:
        began = time.perf_counter()
        try:
            pools, beside = [self._write_pool(item) for item in frozen], [self._write_pool(item) for item in builds]
        finally:
            for item in (*frozen, *builds):
                item.close()
        manifest = msgspec.structs.replace(manifest, pools=[item.entry for item in pools], builds=[item.entry for item in beside])
        self._store.write_manifest(manifest)
        anchors = None if self.anchor_seconds is None else Anchors(self.anchor_seconds, self.log_begin)
        self._store.prune(manifest.partition, self._keep, self._epoch, anchors)
        self.counters["checkpoint_seconds"] += time.perf_counter() - began
        return _Written(manifest, [*pools, *beside], whole, edition)

    def _write_pool(self, item: _Frozen) -> _Frozen:
        if item.content is None:
            return item
        arrays = item.content.arrays()
        sha256, size = self._store.write_object(item.entry.object, {**arrays, **item.beside}, {"pool": item.entry.pool})
        spare = item.entry.spare if sha256 == item.entry.sha256 else None  # what another release wrote may differ in its header
        entry = msgspec.structs.replace(item.entry, sha256=sha256, bytes=size, digest=digest(arrays), spare=spare)
        return _Frozen(entry, item.version, None)

    def _settle(self, job: Future[_Written], now: float) -> None:
        self._job = None
        self._next = now + max(self._interval, _LOAD * (self._ended - self._began))  # not until now: the fold may look late
        try:
            written = job.result()
        except OSError as error:
            self.counters["checkpoint_failures"] += 1
            log.warning("checkpoint was not written, the one before stands: %s", error)
            return
        self._written = {(item.entry.pool, item.entry.generation): item for item in written.items}
        self._sequence, self._edition, self._whole = written.manifest.sequence, written.edition, written.whole
        self.position, self.written_at = written.manifest.position, written.manifest.written_at
        self.counters["checkpoints"] += 1
