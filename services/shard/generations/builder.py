"""Keeps a partition's pools on the generation that they should have: decides when a new one is due, reads the log for it, and switches.

A generation is due when the control log holds a wish for one, when retractions came and no more followed for a while, and when an older
release made the present one. Nothing here may stall the fold of the stream: the log is read in slices between its batches.
Crash-safe at every step: what was decided is a record of the control log, what was folded is checkpointed before the switch, and a
switch that was recorded is made again.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, Protocol

from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FOLD_VERSION, ControlState, Generation, PoolCreated, Serve
from services.log.dead_letters import DeadLetter
from services.log.protocol import LogError, OffsetLost, Reader, Record, Topic, TopicReplaced
from services.log.skipping import open_reader
from services.shard.generations.build import GONE, SEASON, Build
from services.shard.generations.pace import Pace
from services.shard.generations.stand_in import StandIn, StandIns
from services.shard.partition import Partition
from services.state.edits import NONE, Retracted
from services.state.pool import PoolState

log = logging.getLogger("equirank.generations")

_RECORDS: Final = 2000
_AGAIN_SECONDS: Final = (60.0, 300.0, 1800.0, 3600.0)
"""From the first, second, ... failure of a generation to the next try; the last one for all that follow."""


class BuildCheckpoints(Protocol):
    """The checkpoints of a partition, as far as a switch of generations depends on them."""

    def holds(self, build: Build) -> bool:
        """Whether a checkpoint contains the build, so that a crash after the switch costs no more than the tail of the log."""

    def hurry(self) -> None:
        """Ask for a checkpoint soon."""


class _Failure(NamedTuple):
    """A build that failed, the how many-th of its generation, and when the next one is begun."""

    build: Build
    times: int
    again_at: float


class Builder:
    """Builds the generations of one partition. Driven by the folding thread.

    quiet: seconds from a retraction to the generation that leaves its outcome out; those that arrive in between are part of it.
    cut: cuts records into slices that fold in a moment; clock: seconds since 1970, which records of the control log tell. What is due
    goes by the `now` of its callers, which never goes back. checkpoints: where states are that replace what the log forgot.
    pace: limits the time that goes to generations for retractions.
    """

    def __init__(
        self,
        partition: Partition,
        topic: Topic,
        control: ControlLog,
        quiet: float,
        cut: Callable[[Sequence[Record]], Iterator[Sequence[Record]]],
        clock: Callable[[], float] = time.time,
        checkpoints: CheckpointStore | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._partition, self._topic, self._control, self._quiet, self._cut = partition, topic, control, quiet, cut
        self._clock = clock
        self._stand_ins = None if checkpoints is None else StandIns(checkpoints, topic, partition.number)
        self._sought: dict[tuple[str, int], tuple[Retracted | None, Future[StandIn | str]]] = {}
        """Of generations whose start the log forgot: what they may go on from, and what they leave out where that was known by then."""
        self._since: dict[str, float] = {}
        self._pace = pace or Pace(1.0)
        self._reader: Reader | None = None
        self._slices: deque[tuple[int, Sequence[Record]]] = deque()
        """Read and not folded yet, each with the offset from which on it is whole."""
        self._read_to = 0
        self._hurried: tuple[str, int] | None = None
        self._failures: dict[tuple[str, int], _Failure] = {}
        self.counters = {"generation_builds": 0, "generation_failures": 0}

    @property
    def busy(self) -> bool:
        """Whether a build has old records to read."""
        return self._next() is not None

    def look(self, now: float, control: ControlState) -> None:
        """Make the generations that are due, and begin to build those that are not there yet, or failed a while ago. Raises `LogError`."""
        self._forgive(now)
        for pool, state in list(self._partition.pools.items()):
            if (wanted := self._due(state, control, now)) is not None:
                self._since.pop(pool, None)
                made = self._control.create_generation(wanted)
                control = self._control.refresh()
                log.info("generation %d is to be folded from %d", made.number, made.start, extra=self._fields(made))
            self._begin(state, control)

    def _forgive(self, now: float) -> None:
        """What failed may have failed for want of memory, or of a log that was restored meanwhile: it is tried again, ever more seldom."""
        builds = self._partition.builds
        for key, build in [(key, build) for key, build in builds.items() if build.failed is not None]:
            noted = self._failures.get(key)
            if noted is None or noted.build is not build:
                times = 0 if noted is None else noted.times
                wait = _AGAIN_SECONDS[min(times, len(_AGAIN_SECONDS) - 1)]
                self._failures[key] = _Failure(build, times + 1, now + wait)
            elif now >= noted.again_at:
                del builds[key]

    def step(self, timeout: float) -> list[DeadLetter]:
        """Read and fold one slice of old records, waiting at most `timeout` seconds for one. Entries for what was refused.

        Raises `LogError` for a log that does not answer; what a build needs and the log lost, or cannot read, fails that build.
        """
        start = self._next()
        if self._slices and (start is None or self._slices[0][0] > start):
            self.close()  # what was read ahead is of no use to a build that begins before it
        if not self._slices:
            self._read(timeout)
        if not self._slices:
            return []
        start, part = self._slices.popleft()
        standing = [build for build in self._partition.builds.values() if build.failed is None]
        began = time.monotonic()
        letters = self._partition.catch_up(part, start)
        self._pace.spend((ended := time.monotonic()) - began, ended)
        for build in standing:
            if build.failed is not None:
                self._told_failed(build)
        return letters

    def switch(self, checkpoints: BuildCheckpoints) -> None:
        """Let builds that have caught up serve, once a checkpoint holds them. Raises `LogError`."""
        position = self._partition.position
        for build in [build for build in self._partition.builds.values() if build.failed is None and not build.behind(position)]:
            if not checkpoints.holds(build):
                if build.key != self._hurried:
                    self._hurried = build.key
                    checkpoints.hurry()
                continue
            made = build.generation
            if self._control.refresh().served(made.pool) < made.number:
                self._control.append(Serve(pool=made.pool, number=made.number, time=self._clock()))
            self._partition.switch(build)
            self._failures.pop(build.key, None)
            self.counters["generation_builds"] += 1
            log.info("generation %d serves", made.number, extra=self._fields(made))

    def close(self) -> None:
        """Give the reader's connection back."""
        self._slices.clear()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _due(self, state: PoolState, control: ControlState, now: float) -> Generation | None:
        """The generation to make now, if one is due. Retractions wait for the build under way; after one that failed, for a wish."""
        pool, newest = state.generation.pool, control.newest(state.generation.pool)
        if newest is None:
            return None
        position = self._partition.position
        if (wish := control.wish(pool)) is not None and generations.is_reached(wish[1], position):
            return generations.after_wish(control, wish, position, self._horizon(state), self._clock())
        if newest.fold_version < FOLD_VERSION:
            return generations.again(control, newest, position, self._clock())
        if state.stopped is not None or state.pending_retractions <= 0 or newest.number != state.generation.number:
            return None
        if now - self._since.setdefault(pool, now) < self._quiet or not self._pace.ready(time.monotonic()):
            return None
        if not self._changes_something(state):
            self._since[pool] = now
            return None
        return generations.again(control, newest, position, self._clock())

    def _changes_something(self, state: PoolState) -> bool:
        """Whether a pending retraction takes back an outcome that was folded; one that comes later is found by a later call."""
        began = time.monotonic()
        effective = state.review_retractions()
        self._pace.spend((ended := time.monotonic()) - began, ended)
        return effective > 0

    def _horizon(self, state: PoolState) -> int:
        """Below which position a new generation of the pool must leave retracted outcomes out; 0 where none were retracted."""
        if state.stopped is not None or state.pending_retractions > 0:
            return self._partition.position
        return state.generation.retraction_horizon

    def _begin(self, state: PoolState, control: ControlState) -> None:
        pool = state.generation.pool
        failed = [number for (name, number), build in self._partition.builds.items() if name == pool and build.failed is not None]
        target = generations.target(control, pool, state.generation.number, failed)
        if target is not None and (pool, target.number) not in self._partition.builds:
            if state.stopped is None and self._partition.position < target.retraction_horizon:
                return  # after a restart: what it leaves out is known once the log was folded that far
            build = self._made(state, control, target)
            if build is None:
                return  # a checkpoint is being read
            self._partition.begin(build)
            if build.failed is not None:
                self._told_failed(build)

    def _made(self, state: PoolState, control: ControlState, target: Generation) -> Build | None:
        """A build from the start of its generation, or from a state that replaces it; None while that is looked for. Raises `LogError`."""
        created, retracted = control.pools[target.pool], state.retracted_for(target)
        key = target.pool, target.number
        sought = self._sought.get(key)
        if sought is None:
            if self._stand_ins is None or self._topic.begin(self._partition.number) <= target.start:
                return Build(created, target, retracted)
            heeded = state.content.edits.retracted if state.content.edits is not None else NONE
            self._sought = {other: one for other, one in self._sought.items() if other[0] != target.pool}
            asked = self._seek(self._stand_ins, created, target, control, heeded if retracted is None else retracted)
            self._sought[key] = retracted, asked
            return None
        retracted, asked = sought  # only of that it is known whether it was folded: another state may serve by now, which knows more
        if not asked.done():
            return None
        del self._sought[key]
        found = _result(asked)
        if isinstance(found, StandIn):
            log.info("generation %d goes on from a checkpoint at %d", target.number, found.position, extra=self._fields(target))
            return Build(created, target, retracted, found)
        build = Build(created, target, NONE)
        build.fail(f"{GONE}: {found}; {SEASON.format(target.pool)}")
        return build

    def _seek(
        self, stand_ins: StandIns, created: PoolCreated, target: Generation, control: ControlState, retracted: Retracted
    ) -> "Future[StandIn | str]":
        """Look for a state that replaces the log's beginning, in a separate thread: pools are large."""
        made = control.generations[target.pool]
        others = {number: one for number, one in list(made.items()) if generations.same_but_for_retractions(one, target)}
        executor = ThreadPoolExecutor(1, "stand-in")
        found = executor.submit(stand_ins.find, created, target, others, retracted)
        executor.shutdown(wait=False)
        return found

    def _next(self) -> int | None:
        """The first offset that a build has not read and that was folded."""
        position = self._partition.position
        behind = [build.position for build in self._partition.builds.values() if build.behind(position) and build.position < position]
        return min(behind, default=None)

    def _read(self, timeout: float) -> None:
        start = self._next()
        if start is None:
            self.close()
            return
        try:
            if self._reader is None or self._read_to != start:
                self.close()
                skipped = self._control.known().partitions.skipped
                self._reader, self._read_to = open_reader(self._topic, {self._partition.number: start}, skipped), start
            records = self._reader.poll(timeout, _RECORDS).get(self._partition.number, [])
        except OffsetLost as error:
            self._lost(start, error)
            return
        except LogError as error:
            self.close()
            if error.retriable or isinstance(error, TopicReplaced):
                raise
            self._fail(start, str(error))  # what cannot be read is of the past: all that serves goes on
            return
        for part in self._cut(records):
            self._slices.append((self._read_to, part))
            self._read_to = part[-1].offset + 1

    def _lost(self, start: int, error: OffsetLost) -> None:
        self.close()
        gone = f"{GONE}: {error.topic}[{error.partition}] begins at {error.begin}, after {start}"
        self._fail(start, gone if error.forgotten else str(error), gone=error.forgotten)

    def _fail(self, start: int, why: str, *, gone: bool = False) -> None:
        """End the builds that have to read on at `start`. gone: no later try can help."""
        for build in self._partition.builds.values():
            if build.behind(self._partition.position) and build.position == start:
                build.fail(f"{why}; {SEASON.format(build.generation.pool)}" if gone else why)
                self._told_failed(build)

    def _told_failed(self, build: Build) -> None:
        self.counters["generation_failures"] += 1
        number = build.generation.number
        log.error("generation %d cannot be folded, the one before goes on: %s", number, build.failed, extra=self._fields(build.generation))

    def _fields(self, made: Generation) -> dict[str, str | int]:
        return {"pool": made.pool, "partition": self._partition.number, "position": self._partition.position}


def _result(sought: "Future[StandIn | str]") -> StandIn | str:
    """What was found, or why nothing could be looked for: then it is tried again as a build that failed is."""
    try:
        return sought.result()
    except (LogError, OSError) as error:
        return f"what stands in for it cannot be read: {error}"
