"""Writes checkpoints beside the fold: the folding thread freezes pools, a slice at a time; another copies, sorts, hashes and writes."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ratings_core.arrays.digest import digest
from ratings_core.arrays.frozen import Arrays
from services.checkpoints.anchors import Anchors
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry, object_name
from services.control.records import FOLD_VERSION
from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.shard.checkpointing.freezing import Freezing
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.state.frozen import FrozenPool
from services.state.pool import PoolState

log = logging.getLogger("equirank.checkpoint")

_LOAD: Final = 5.0
"""A checkpoint that took s seconds is followed by a pause of at least _LOAD * s, so that large pools are not always being written."""
_SLICE_SECONDS: Final = 0.01
"""For how long folding pauses at once while pools are frozen, the last of them not counted."""


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
class _Checkpoint:
    """A checkpoint of the partition as it was when it began. manifest: its pools are told once they are written; pools: how many of what
    is frozen are pools, before its builds.

    whole: builds that it has as far as the partition; edition: of the partition.
    """

    manifest: Manifest
    pools: int
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
        self._begun: tuple[_Checkpoint, Freezing[_Frozen]] | None = None
        self._job: Future[_Checkpoint] | None = None
        self._next = float("-inf")
        self._began = self._ended = self._interval = 0.0
        self._sequence = self._edition = self._read = 0
        self._soon = False
        self._whole: frozenset[tuple[str, int]] = frozenset()
        self.position = standing.position if standing else None
        self.written_at = standing.written_at if standing else None
        self.counters = {"checkpoints": 0, "checkpoint_failures": 0}
        self.durations = Durations(CHECKPOINT_BUCKETS)
        """Of writing checkpoints that stand."""
        self.pauses = Durations()
        """Of the fold, while what a checkpoint holds is frozen."""

    def step(self, now: float, interval: float, partition: Partition, most: int | None = None) -> bool:
        """Take in the last checkpoint's end, begin the next when it is due and the partition moved, and freeze a slice of one that
        began: whether folding paused for that.

        interval: least seconds between two; most: outcomes read since the last began after which the next is due anyway.
        """
        if self._job is not None:
            if not self._job.done():
                return False
            self._settle(self._job, now)
        if self._begun is None and not (self._due(now, partition, most) and self._moved(partition)):
            return False
        began = time.perf_counter()
        if self._begun is None:
            self._soon, self._read, self._interval = False, partition.outcomes, interval
            self._begun = self._begin(partition)
        checkpoint, freezing = self._begun
        if freezing.step(_SLICE_SECONDS):
            self._submit(checkpoint, freezing)
        self.pauses.add(time.perf_counter() - began)
        return True

    def drain(self, now: float, partition: Partition) -> None:
        """Write a last checkpoint if the partition moved since, and end the thread. One that is not frozen whole yet is given up."""
        if self._begun is not None:
            self._begun[1].close()
            self._begun = None
        if self._job is not None:
            self._settle(self._job, now)
        if self._moved(partition):
            checkpoint, freezing = self._begin(partition)
            freezing.step(float("inf"))
            self._settle(self._submit(checkpoint, freezing), now)
        self._executor.shutdown()

    @property
    def freezes(self) -> bool:
        """Whether a checkpoint began of which not all is frozen yet."""
        return self._begun is not None

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

    def _begin(self, partition: Partition) -> tuple[_Checkpoint, Freezing[_Frozen]]:
        builds = [(build, build.state) for build in partition.builds.values() if build.state is not None]
        states = [*partition.pools.values(), *(state for _, state in builds)]
        to = [partition.position] * len(partition.pools) + [min(build.position, partition.position) for build, _ in builds]
        freezing = Freezing(states, lambda i: self._frozen(states[i], states[i].folded_to(to[i]), partition.number), self.pauses)
        whole = frozenset(build.key for build, _ in builds if not build.behind(partition.position))
        return _Checkpoint(self._manifest(partition), len(partition.pools), whole, partition.edition), freezing

    def _manifest(self, partition: Partition) -> Manifest:
        """Of the partition as it is now, without its pools."""
        offset, sha256 = partition.last or (None, None)
        return Manifest(
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

    def _submit(self, checkpoint: _Checkpoint, freezing: Freezing[_Frozen]) -> Future[_Checkpoint]:
        """Have it written, as all of it is frozen."""
        self._begun, self._began = None, time.perf_counter()
        self._job = self._executor.submit(self._write, checkpoint, freezing.kept())
        return self._job

    def _frozen(self, state: PoolState, position: int, partition: int) -> _Frozen:
        pool, number = state.generation.pool, state.generation.number
        before, name = self._written.get((pool, number)), object_name(partition, pool, number, position, self._epoch)
        if before is not None and (before.version == state.changes.version or state.stopped is not None):
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
            outcomes=kept.content.counts["outcomes"],
            object=name,
            sha256="",
            bytes=0,
            digest="",
            stopped=state.stopped,
        )
        return _Frozen(fresh, state.changes.version, kept.freeze(), beside=kept.pending.arrays())

    def _write(self, checkpoint: _Checkpoint, frozen: list[_Frozen]) -> _Checkpoint:
        try:
            self._write_whole(checkpoint, frozen)
        finally:
            self._ended = time.perf_counter()
            for item in frozen:
                item.close()
        return checkpoint

    def _write_whole(self, checkpoint: _Checkpoint, frozen: list[_Frozen]) -> None:
        """Each of `frozen` is dropped as soon as it is written: to free thousands at once would hold folding up."""
        began = time.perf_counter()
        frozen.reverse()
        items = list[_Frozen]()
        while frozen:
            items.append(self._write_pool(frozen[-1]))
            frozen.pop().close()
        entries = [item.entry for item in items]
        manifest = msgspec.structs.replace(checkpoint.manifest, pools=entries[: checkpoint.pools], builds=entries[checkpoint.pools :])
        self._store.write_manifest(manifest)
        anchors = None if self.anchor_seconds is None else Anchors(self.anchor_seconds, self.log_begin)
        self._store.prune(manifest.partition, self._keep, self._epoch, anchors)
        self._stand(items)
        self.durations.add(time.perf_counter() - began)

    def _stand(self, items: list[_Frozen]) -> None:
        """Remember what was written in place of what was; nobody asks while a checkpoint is written. One by one, as above."""
        written = {(item.entry.pool, item.entry.generation): item for item in items}
        for key in [key for key in self._written if key not in written]:
            del self._written[key]
        for key, item in written.items():
            self._written[key] = item

    def _write_pool(self, item: _Frozen) -> _Frozen:
        if item.content is None:
            return item
        arrays = item.content.arrays()
        sha256, size = self._store.write_object(item.entry.object, {**arrays, **item.beside}, {"pool": item.entry.pool})
        spare = item.entry.spare if sha256 == item.entry.sha256 else None  # what another release wrote may differ in its header
        entry = msgspec.structs.replace(item.entry, sha256=sha256, bytes=size, digest=digest(arrays), spare=spare)
        return _Frozen(entry, item.version, None)

    def _settle(self, job: Future[_Checkpoint], now: float) -> None:
        self._job = None
        self._next = now + max(self._interval, _LOAD * (self._ended - self._began))  # not until now: the fold may look late
        try:
            checkpoint = job.result()
        except OSError as error:
            self.counters["checkpoint_failures"] += 1
            log.warning("checkpoint was not written, the one before stands: %s", error)
            return
        self._sequence, self._edition, self._whole = checkpoint.manifest.sequence, checkpoint.edition, checkpoint.whole
        self.position, self.written_at = checkpoint.manifest.position, checkpoint.manifest.written_at
        self.counters["checkpoints"] += 1
