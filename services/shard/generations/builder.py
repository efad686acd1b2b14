"""Keeps a partition's pools on the generation that they should have: makes a new one when it is due, folds the log for it, and switches.

A generation is due when the control log holds a wish for one, when retractions came and no more followed for a while, and when an older
release made the present one. Nothing here may stall the fold of the stream: the log is read in slices between its batches.
Crash-safe at every step: what was decided is a record of the control log, what was folded is checkpointed before the switch, and a
switch that was recorded is made again.
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from services.archive.history import ArchiveFails
from services.control import generations
from services.control.log import ControlLog
from services.control.records import ControlState, Generation, Serve
from services.log.dead_letters import DeadLetter
from services.log.protocol import LogError, OffsetLost, Record, Topic, TopicReplaced, forgotten
from services.shard.figures import ShardFigures
from services.shard.generations.build import Build
from services.shard.generations.due import DueGenerations, Retries
from services.shard.generations.pace import Pace
from services.shard.generations.past import ArchivedBuilds, ArchivedPool, PastReader
from services.shard.partition import Partition
from services.state.pool import PoolState

log = logging.getLogger("equirank.generations")
_Fold: TypeAlias = Callable[[], list[DeadLetter]]


class Builder:
    """Builds the generations of one partition. Driven by the folding thread.

    Args:
        partition: Its pools and builds.
        history: The outcome log, as far back as anything holds it.
        control: Wishes, generations, and which of them serve.
        pace: When generations for retractions are due, and how much time they take; None builds them at once.
        clock: Seconds since 1970, which records of the control log show.
        figures: Take how many generations were built, and failed.
    """

    def __init__(
        self,
        partition: Partition,
        history: Topic,
        control: ControlLog,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.time,
        figures: ShardFigures | None = None,
    ) -> None:
        self._partition, self._control, self._clock = partition, control, clock
        self._pace, self.figures = pace or Pace(), figures or ShardFigures()
        self._due, self._retries = DueGenerations(partition, self._pace, clock), Retries()
        self._past, self._archived = PastReader(history, partition.number, control), ArchivedBuilds(history, partition.number, control)
        self._hurried: tuple[str, int] | None = None

    @property
    def busy(self) -> bool:
        """Whether a build has old records to read."""
        return self._next() is not None

    def look(self, now: float, control: ControlState) -> None:
        """Make the generations that are due, and begin to build those that are not there yet, or failed a while ago. Raises `LogError`.

        now: seconds that never go back.
        """
        self._retries.step(self._partition.builds, now, len(control.partitions.skipped.get(self._partition.number, ())))
        for state in list(self._partition.pools.values()):
            if (wanted := self._due.due(state, control, now)) is not None:
                made = self._control.create_generation(wanted)
                control = self._control.refresh()
                log.info("generation %d is folded from offset %d", made.number, made.start, extra=self._fields(made))
            self._begin(state, control)

    def step(self, timeout: float) -> list[DeadLetter]:
        """Read and fold one slice of old records, waiting at most `timeout` seconds for one. Entries for what was refused.

        Raises `LogError` for a log that does not answer; what a build needs and the log lost, or cannot read, fails that build.
        """
        if (furthest_behind := self._next()) is None:
            self.close()
            return []
        self._archived.forget(self._partition.builds)
        standing = [build for build in self._partition.builds.values() if build.failed is None]
        fold = self._read(furthest_behind, timeout)
        began = time.monotonic()
        letters = [] if fold is None else fold()
        self._pace.spend((ended := time.monotonic()) - began, ended)
        for build in standing:
            if build.failed is not None:
                self._report_failed(build)
        return letters

    def switch(self, is_held: Callable[[Build], bool], hurry: Callable[[], None]) -> None:
        """Let builds that have caught up serve, once a checkpoint holds them: a crash then costs only the tail of the log.

        is_held: whether a checkpoint holds a build. hurry: asks for a checkpoint soon. Raises `LogError`.
        """
        position = self._partition.position
        for build in [build for build in self._partition.builds.values() if build.failed is None and not build.behind(position)]:
            if not is_held(build):
                if build.key != self._hurried:
                    self._hurried = build.key
                    hurry()
                continue
            made = build.generation
            if self._control.refresh().served(made.pool) < made.number:
                self._control.append(Serve(pool=made.pool, number=made.number, time=self._clock()))
            self._partition.switch(build)
            self._retries.succeeded(build)
            self.figures.counts["generation_builds"] += 1
            log.info("generation %d serves", made.number, extra=self._fields(made))

    def close(self) -> None:
        """Give what reads the past back."""
        self._past.close()
        self._archived.forget(())

    def _begin(self, state: PoolState, control: ControlState) -> None:
        pool = state.generation.pool
        failed = [number for (name, number), build in self._partition.builds.items() if name == pool and build.failed is not None]
        target = generations.target(control, pool, state.generation.number, failed)
        if target is not None and (pool, target.number) not in self._partition.builds:
            if state.stopped is None and self._partition.position < target.retraction_horizon:
                return  # after a restart: what it leaves out is known once the log was folded that far
            build = Build(control.pools[pool], target, state.retracted_for(target))
            self._archived.forget(self._partition.builds)  # one that failed is read from its start again
            self._partition.begin(build)
            if build.failed is not None:
                self._report_failed(build)

    def _next(self) -> Build | None:
        """The build that is furthest behind, if any has something to read that was folded."""
        position = self._partition.position
        behind = [build for build in self._partition.builds.values() if build.behind(position) and build.position < position]
        return min(behind, key=lambda build: build.position, default=None)

    def _read(self, build: Build, timeout: float) -> _Fold | None:
        """Read what follows for a build, from the archive where it holds that; what folds it. None where none came in time."""
        archived = self._archived.of(build)
        return self._read_log(build, timeout) if archived is None else self._read_archive(build, archived, timeout)

    def _read_log(self, build: Build, timeout: float) -> _Fold | None:
        """Read a slice of the log, for a build and others at its position; what folds it. None where none came in time."""
        taken = self._take(build.position, timeout)
        return None if taken is None else partial(self._partition.catch_up, taken[1], taken[0])

    def _read_archive(self, build: Build, archived: ArchivedPool, timeout: float) -> _Fold | None:
        """Read a part of the archive for one build; what folds it. None where none came in time."""
        try:
            part = archived.take(timeout)
        except ArchiveFails as error:
            build.fail(str(error))
            return None
        except Exception as error:  # noqa: BLE001 - whatever damage does, it ends this build alone (law 6)
            build.fail(f"the archive cannot be read: {error}")
            return None
        return None if part is None else partial(self._partition.catch_up_alone, build, *part)

    def _take(self, start: int, timeout: float) -> tuple[int, Sequence[Record]] | None:
        """The next slice, and where it begins. What the log lost or cannot read fails the builds that need it."""
        try:
            return self._past.take(start, timeout)
        except LogError as error:
            self.close()
            if isinstance(error, TopicReplaced) or (error.retriable and not isinstance(error, ArchiveFails)):
                raise
            lost = isinstance(error, OffsetLost) and error.forgotten
            for build in self._partition.builds.values():  # records that cannot be read are of the past: all that serves goes on
                if build.behind(self._partition.position) and build.position == start:
                    build.fail(forgotten(self._past.topic, self._partition.number, start, build.generation.pool) if lost else str(error))
            return None

    def _report_failed(self, build: Build) -> None:
        self.figures.counts["generation_failures"] += 1
        number = build.generation.number
        log.error(
            "generation %d cannot be folded; the previous generation continues to serve: %s",
            number,
            build.failed,
            extra=self._fields(build.generation),
        )

    def _fields(self, made: Generation) -> dict[str, str | int]:
        return {"pool": made.pool, "partition": self._partition.number, "position": self._partition.position}
