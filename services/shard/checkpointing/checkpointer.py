"""Checkpoints of one partition. The folding thread freezes its pools in short slices; another thread writes them."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.shard.checkpointing.entries import PoolEntries
from services.shard.checkpointing.freezing import Freezing
from services.shard.checkpointing.writer import Checkpoint, CheckpointWriter, manifest_of
from services.shard.figures import ShardFigures
from services.shard.generations.build import Build
from services.shard.partition import Partition

log = logging.getLogger("equirank.checkpoint")

_LOAD: Final = 5.0
"""A checkpoint that took s seconds is followed by a pause of at least _LOAD * s, so that large pools are not written continuously."""
_SLICE_SECONDS: Final = 0.01
"""Longest intended pause of the fold for one slice of listing and freezing pools."""


class Checkpointer:
    """Checkpoints of one partition under one epoch. Called by the folding thread.

    newest: manifest of the checkpoint that the shard restored, None without one. clock: seconds since 1970, for manifests. figures: receive
    the number of checkpoints, the duration of writing them, and the pauses of the fold.
    """

    def __init__(
        self,
        store: CheckpointStore,
        log_identity: str,
        epoch: int,
        keep: int,
        newest: Manifest | None,
        clock: Callable[[], float] = time.time,
        figures: ShardFigures | None = None,
    ) -> None:
        self._log_identity, self._clock, self.figures = log_identity, clock, figures or ShardFigures()
        self.writer = CheckpointWriter(store, PoolEntries(epoch, [] if newest is None else newest.entries), keep)
        self._due_at, self._outcomes = float("-inf"), 0
        """Time at which the next checkpoint is due, and number of outcomes that the partition had read when the last one began."""
        self._executor = ThreadPoolExecutor(1, "checkpoint")
        self._begun: tuple[Checkpoint, Freezing] | None = None
        self._job: Future[Checkpoint] | None = None
        self._written = None if newest is None else Checkpoint(newest, 0, frozenset(), 0, {})

    def step(self, now: float, interval: float, partition: Partition, most: float = float("inf")) -> bool:
        """Finish a written checkpoint, begin the next one if it is due and the partition changed, and freeze a slice of its pools.

        Args:
            now: Monotonic time in seconds.
            interval: Least seconds from the end of a checkpoint to the next one.
            partition: Partition to write.
            most: Number of outcomes since the last checkpoint began that makes the next one due before its time.

        Returns:
            Whether the fold paused to freeze pools.
        """
        self.writer.history.step(partition.number)
        if self._job is not None:
            if not self._job.done():
                return False
            self._settle(self._job)
            self._due_at = now + max(interval, _LOAD * self.writer.seconds)
        if self._begun is None and not (self._is_due(now, partition, most) and self._has_changed(partition)):
            return False
        began = time.perf_counter()
        if self._begun is None:
            self._outcomes = partition.outcomes
            self._begun = self._begin(partition)
        checkpoint, freezing = self._begun
        if freezing.step(began + _SLICE_SECONDS):
            self._submit(checkpoint, freezing)
        self.figures.freezes.add(time.perf_counter() - began)
        return True

    def drain(self, partition: Partition) -> None:
        """Write a last checkpoint if the partition changed since the newest one, and end the thread. A half-frozen one is discarded."""
        if self._begun is not None:
            self._begun[1].close()
            self._begun = None
        if self._job is not None:
            self._settle(self._job)
        if self._has_changed(partition):
            checkpoint, freezing = self._begin(partition)
            freezing.step(float("inf"))
            self._settle(self._submit(checkpoint, freezing))
        self._executor.shutdown()
        self.writer.history.close()

    @property
    def newest(self) -> Manifest | None:
        """Manifest of the newest checkpoint; None before the first."""
        return None if self._written is None else self._written.manifest

    @property
    def freezes(self) -> bool:
        """Whether a checkpoint has begun and some of its pools are not frozen yet."""
        return self._begun is not None

    def holds(self, build: Build) -> bool:
        """Whether the newest checkpoint contains the build at the partition's position. After a crash, it needs only later records."""
        return self._written is not None and build.key in self._written.caught_up

    def _is_due(self, now: float, partition: Partition, most: float) -> bool:
        """Whether the next checkpoint is due. A build makes it due early only if the last one succeeded, as failures need a pause."""
        early = self.writer.pruned and self._is_awaited(partition)
        return early or now >= self._due_at or partition.outcomes - self._outcomes >= most

    def _is_awaited(self, partition: Partition) -> bool:
        """Whether a build has caught up and serves once a checkpoint contains it."""
        ready = [build for build in partition.builds.values() if build.state is not None and not build.behind(partition.position)]
        return not all(map(self.holds, ready))

    def _has_changed(self, partition: Partition) -> bool:
        """Whether the partition changed since the newest checkpoint.

        Also true until older checkpoints with erased names are removed, and while a build waits for a checkpoint of this epoch: an earlier
        owner may have died before it removed them, or before it let the build serve. Also true after recovery passed over
        a newer, damaged checkpoint, until one was written.
        """
        unpruned = not self.writer.pruned and any(state.generation.erased for state in partition.pools.values())
        if unpruned or self.writer.renews or self._is_awaited(partition):
            return True
        written = self._written
        return written is None or (partition.position, partition.edition) != (written.manifest.position, written.edition)

    def _begin(self, partition: Partition) -> tuple[Checkpoint, Freezing]:
        builds = [(build, build.state) for build in partition.builds.values() if build.state is not None]
        states = [*partition.pools.values(), *(state for _, state in builds)]
        to = [partition.position] * len(partition.pools) + [min(build.position, partition.position) for build, _ in builds]
        entries = self.writer.entries
        freezing = Freezing(states, lambda i: entries.freeze(states[i], states[i].folded_to(to[i]), partition.number), self.figures.freezes)
        caught_up = frozenset(build.key for build, _ in builds if not build.behind(partition.position))
        manifest = manifest_of(partition, self._log_identity, entries.epoch, self._clock(), self.newest)
        erasing = {pool: state.generation.number for pool, state in partition.pools.items() if state.generation.erased}
        return Checkpoint(manifest, len(partition.pools), caught_up, partition.edition, erasing), freezing

    def _submit(self, checkpoint: Checkpoint, freezing: Freezing) -> Future[Checkpoint]:
        self._begun = None
        self._job = self._executor.submit(self.writer.write, checkpoint, freezing.kept())
        return self._job

    def _settle(self, job: Future[Checkpoint]) -> None:
        """Note the result of a finished write: the newest manifest and the figures, or the failure."""
        self._job = None
        try:
            self._written = job.result()
        except OSError as error:
            self.figures.counts["checkpoint_failures"] += 1
            log.warning("the checkpoint was not written; the previous checkpoint stays the newest: %s", error)
            return
        self.figures.counts["checkpoints"] += 1
        self.figures.counts["checkpoint_failures"] += not self.writer.pruned
        self.figures.checkpoints.add(self.writer.seconds)
