"""Creates new generations of a partition's pools when they are due, folds the log for them, and makes them serve.

A generation is due if the control log contains a request for one, if retractions arrived and no more followed for a while, or if an older
release created the present one. Old records are read in slices between the batches of the fold, so that the fold is not delayed.
Every step survives a crash: decisions are records of the control log, a build is in a checkpoint before it serves, and a recorded switch
is repeated after a restart.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeAlias

from ratings_core.errors import RatingsError
from services.archive.history import ArchiveFails
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import ControlState, Generation, PoolCreated, Serve
from services.log.dead_letters import DeadLetter
from services.log.protocol import Log, LogError, OffsetLost, Records, TopicReplaced, forgotten
from services.log.records import NO_RECORDS
from services.shard.figures import ShardFigures
from services.shard.generations.build import Build
from services.shard.generations.due import DueGenerations, Retries
from services.shard.generations.pace import BuildPace
from services.shard.generations.past import PastReader, archive_of
from services.shard.generations.season_end import AwaitedEnds, SeasonEnds, SeasonNotFolded
from services.shard.partition import Partition
from services.state.opening import FinalState
from services.state.pool import PoolState

log = logging.getLogger("equirank.generations")
_Fold: TypeAlias = Callable[[], list[DeadLetter]]


class Builder:
    """Builds the generations of one partition. Called by the folding thread.

    Args:
        partition: The partition with its pools and builds.
        log_: The outcome log, with its archive if there is one.
        control: Requests for generations, generations, and switches.
        pace: Limits on generations for retractions: their delay and their share of time; None builds them at once.
        clock: Seconds since 1970, for records of the control log.
        figures: Receive the number of builds and of failures.
        checkpoints: Checkpoints and files of seasons, for the first states of seasons; None reads the log alone.
    """

    def __init__(
        self,
        partition: Partition,
        log_: Log,
        control: ControlLog,
        pace: BuildPace | None = None,
        clock: Callable[[], float] = time.time,
        figures: ShardFigures | None = None,
        checkpoints: CheckpointStore | None = None,
    ) -> None:
        self._partition, self._control, self._clock = partition, control, clock
        self._pace, self.figures = pace or BuildPace(), figures or ShardFigures()
        self._due, self._retries = DueGenerations(partition, self._pace, clock), Retries()
        self._ends = AwaitedEnds(lambda: SeasonEnds(log_, control.known(), checkpoints), partition.number)
        self._past, self._archive = PastReader(log_.history, partition.number, control), log_.archived

    @property
    def busy(self) -> bool:
        """Whether a build has old records to read."""
        return self._next() is not None

    def create_due(self, now: float, control: ControlState, reached: int = 0) -> None:
        """Create the generations that are due, and start the builds that are missing or whose retry is due. Raises `LogError`.

        Args:
            now: Monotonic time in seconds.
            control: State of the control log.
            reached: First offset that was not read yet. It can be above the partition's position, because some offsets have no record.
        """
        self._retries.step(self._partition.builds, now, len(control.partitions.skipped.get(self._partition.number, ())))
        for state in list(self._partition.pools.values()):
            if (wanted := self._due.due(state, control, now, reached)) is not None:
                made = self._control.create_generation(wanted)
                control = self._control.refresh()
                if made is None:
                    continue  # the season was withdrawn meanwhile
                log.info("generation %d is folded from offset %d", made.number, made.start, extra=self._fields(made))
            self._begin(state, control)

    def step(self, timeout: float) -> list[DeadLetter]:
        """Read and fold one slice of old records, waiting at most `timeout` seconds. Returns a dead letter for each refused outcome.

        Raises `LogError` if the log does not answer. If records that a build needs are lost or unreadable, that build fails.
        """
        if (furthest_behind := self._next()) is None:
            self.close()
            return []
        running = [build for build in self._partition.builds.values() if build.failed is None]
        fold = self._read(furthest_behind, timeout)
        began = time.monotonic()
        letters = [] if fold is None else fold()
        self._pace.spend((ended := time.monotonic()) - began, ended)
        for build in running:
            if build.failed is not None:
                self._report_failed(build)
        return letters

    def switch(self, is_held: Callable[[Build], bool]) -> None:
        """Make the builds serve that have caught up and are in a checkpoint. Raises `LogError`.

        After a crash, a build that is in a checkpoint needs only later records. is_held: whether a checkpoint contains a build.
        """
        position = self._partition.position
        caught_up = [build for build in self._partition.builds.values() if build.failed is None and not build.behind(position)]
        for build in filter(is_held, caught_up):
            made = build.generation
            if self._control.refresh().served(made.pool) < made.number:
                self._control.append(Serve(pool=made.pool, number=made.number, time=self._clock()))
            self._partition.switch(build)
            self._retries.succeeded(build)
            self.figures.counts["generation_builds"] += 1
            log.info("generation %d serves", made.number, extra=self._fields(made))

    def close(self) -> None:
        """Close the reader of old records of the log."""
        self._past.close()

    def _begin(self, state: PoolState, control: ControlState) -> None:
        pool = state.generation.pool
        failed = [number for (name, number), build in self._partition.builds.items() if name == pool and build.failed is not None]
        target = generations.target(control, pool, state.generation.number, failed)
        if target is not None and (pool, target.number) not in self._partition.builds:
            if state.stopped is None and self._partition.position < target.retraction_horizon:
                return  # after a restart: the state knows the retractions once the partition reaches the horizon
            if target.opening is not None and (awaited := self._ends.take(target)) is None:
                return  # the final state of the season before is being read
            build = self._started(control.pools[pool], target, state, None if target.opening is None else awaited)
            self._partition.begin(build)
            if build.failed is not None:
                self._report_failed(build)

    def _started(self, created: PoolCreated, target: Generation, state: PoolState, awaited: "Future[FinalState | None] | None") -> Build:
        """A new build of a generation. It has failed if the final state of the season before could not be read."""
        try:
            final = None if awaited is None else awaited.result()
        except (SeasonNotFolded, LogError, OSError, RatingsError) as error:
            build = Build(created, target, state.retracted_for(target))
            if build.failed is None:
                build.fail(str(error))
            return build
        return Build(created, target, state.retracted_for(target), final)

    def _next(self) -> Build | None:
        """Return the build that is furthest behind the partition; None if all builds have caught up."""
        position = self._partition.position
        behind = [build for build in self._partition.builds.values() if build.behind(position) and build.position < position]
        return min(behind, key=lambda build: build.position, default=None)

    def _read(self, build: Build, timeout: float) -> _Fold | None:
        """Read a part of the archive for a build; else a slice of the log, which other builds at its position fold, too.

        Returns:
            A function that folds the records; None if none were read within `timeout` seconds, or if reading failed the build.
        """
        if (archived := archive_of(build, self._archive, self._partition.number, self._control)) is None:
            taken = self._take(build.position, timeout)
            if taken is not None:
                return partial(self._partition.catch_up, *taken)
            passed = build.failed is None and self._past.read_to > build.position
            return partial(self._partition.catch_up_alone, build, NO_RECORDS, self._past.read_to) if passed else None
        try:
            part = archived.take(timeout)
        except Exception as error:  # noqa: BLE001 - damage of any kind fails only this build (law 6)
            build.fail(str(error) if isinstance(error, ArchiveFails) else f"the archive cannot be read: {error}")
            return None
        return None if part is None else partial(self._partition.catch_up_alone, build, *part)

    def _take(self, start: int, timeout: float) -> tuple[Records, int] | None:
        """Return the records and the start of the next slice, or None. Lost or unreadable records fail the builds that need them."""
        try:
            return self._past.take(start, timeout)
        except LogError as error:
            self.close()
            if isinstance(error, TopicReplaced) or (error.retriable and not isinstance(error, ArchiveFails)):
                raise
            lost = isinstance(error, OffsetLost) and error.forgotten
            for build in self._partition.builds.values():  # only builds need these old records
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
