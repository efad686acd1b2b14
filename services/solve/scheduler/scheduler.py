"""Runs due solves on a task pool, keeps their results as files beside the checkpoints, and publishes them.

Delivery: a result is written to its file before it is published, and it is published again when the store lost it. If the file cannot be
written, as on a full disk, readers get the result all the same and the file is written later. A try that fails or passes its deadline
keeps the last good result, which then says why there is no newer one.
"""

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ratings_core.methods import registry
from services.boards.result import VERSION, CertificateRow, SolvedBoard, SolveResult
from services.boards.store.backoff import Backoff
from services.boards.store.solved import SolvedBoards
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry
from services.control.erasures import ErasedName, NameMatcher
from services.control.records import ControlState
from services.runtime.settings import Settings
from services.solve.insight import job as insight
from services.solve.intervals.runner import IntervalRunner
from services.solve.planning.due import Pace, due
from services.solve.planning.jobs import Job, JobEvent, JobStatus, Parameters
from services.solve.planning.ledger import Given, Ledger, data_of
from services.solve.registry.choice import chosen_for
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles
from services.solve.scheduler import health
from services.solve.scheduler.flights import Ended, Flight, Flights, Limits
from services.solve.scheduler.health import SolveHealth
from services.solve.scheduler.newest import NewestResults
from services.solve.scheduler.publication import ResultPublisher
from services.solve.worker.task_pool import TaskPool
from services.wire.pools import Kind

log = logging.getLogger("equirank.solve")

_PATIENCE_SECONDS: Final = 60.0
"""Insight waits at most so long for the boards of its pool that are being solved."""
_WITHOUT_RESULT: Final = frozenset({JobStatus.FAILED.value, JobStatus.NOT_APPLICABLE.value})
"""Statuses of a board for which no try has given a result."""
_COST: Final = {name: method.cost for name, method in registry.METHODS.items()} | {insight.INSIGHT: insight.COST}


@dataclass(slots=True)
class _Plan:
    """Plan of the newest step: the pools that can be solved, and the due jobs that have not started yet.

    Attributes:
        entries: Pool -> its newest checkpoint.
        offered: Every job of these pools -> what a try of it works on.
        queue: Due jobs, first to start first.
        changed: Pools for which a solve ended since the plan was made.
    """

    entries: Mapping[str, PoolEntry] = field(default_factory=dict)
    offered: Mapping[Job, Given] = field(default_factory=dict)
    queue: deque[Job] = field(default_factory=deque)
    changed: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _BoardMaker:
    """Makes boards of results. log_identity: of the log that all boards are of; clock: the time that boards show."""

    log_identity: str
    clock: Callable[[], float]

    def board(self, entry: PoolEntry, parameters: Parameters, result: SolveResult) -> SolvedBoard:
        return SolvedBoard(
            pool=entry.pool,
            generation=entry.generation,
            position=entry.position,
            outcomes=entry.outcomes,
            data=entry.digest,
            parameters=dict(parameters),
            solved_at=self.clock(),
            result=result,
            log=self.log_identity,
            version=VERSION,
        )

    def without_result(self, entry: PoolEntry, method: str, parameters: Parameters, status: str) -> SolvedBoard:
        """A board without rows."""
        nothing = CertificateRow(kind="none", value=None)
        empty = SolveResult(method=method, input="none", agents=[], certificate=nothing, status=status, seconds=0.0)
        return self.board(entry, parameters, empty)


@dataclass(slots=True)
class _Counters:
    """What ended since the start. ended: (method, status) -> tries; seconds: method -> seconds of solving."""

    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class SolveScheduler:
    """Runs solves. The engine's loop calls `step`, which makes a plan, and `go_on`, which starts further jobs of the plan as others end.

    Apart from the time given to `go_on`, calls wait only for files and the store. After a store timeout, the store is not used for a
    period that is longer than the timeout. Arguments named `now` are seconds of a timer that never goes back.
    """

    def __init__(
        self, flights: Flights, results: NewestResults, publisher: ResultPublisher, intervals: IntervalRunner, boards: _BoardMaker,
        pace: Pace,
    ) -> None:  # fmt: skip
        """Put a scheduler together from its parts; `open_scheduler` makes the parts from settings."""
        self._flights, self._results, self._publisher, self._intervals = flights, results, publisher, intervals
        self._boards, self._pace = boards, pace
        self._ledger = Ledger(
            {job: Given(data_of(board.generation, board.data), board.outcomes, board.parameters) for job, board in results.boards().items()}
        )
        self._plan, self._counters = _Plan(), _Counters()
        self._erased: dict[str, tuple[ErasedName, ...]] = {}

    def step(self, now: float, manifests: Iterable[Manifest], control: ControlState) -> None:
        """Take in ended tries, plan and start due jobs, and publish results that the store lacks.

        Args:
            now: Seconds of the timer.
            manifests: The newest manifest of each partition.
            control: The state of the control log.
        """
        entries = {entry.pool: entry for manifest in manifests for entry in manifest.pools if _solvable(entry, control)}
        self._take_in_ended(now, entries)
        self._erase(entries, control)
        offered = _offered(entries.values(), control)
        offered |= insight.offered(entries.values(), control, self._results.boards(), self._boards.log_identity)
        jobs = due(now, offered, self._ledger, self._pace, _COST)
        self._ledger.queue(jobs, now)
        self._retire(entries, offered)
        self._clear(entries)
        self._plan = _Plan(entries, offered, deque(jobs))
        self._start_next(now)
        self._redraw(now, idle=not jobs and self._flights.has_idle_worker)
        self._publisher.look(now)
        self._publisher.publish()

    def go_on(self, now: float, seconds: float) -> bool:
        """Wait up to `seconds` for a solve to end, then start the next jobs of the newest plan. Returns False if no solve runs."""
        if not len(self._flights):
            return False
        self._flights.wait(seconds)
        self._take_in_ended(now, self._plan.entries)
        self._publisher.publish()
        return True

    def has_erased(self, pool: str) -> Collection[ErasedName]:
        """The erased names that a pool's results no longer contain, neither in files nor in the store.

        Empty while a result still waits for its file or for the store.
        """
        waiting = any(result.awaits_store or result.awaits_file for job, result in self._results.items() if job.pool == pool)
        return () if waiting else self._erased.get(pool, ())

    def cancel(self) -> None:
        """Cancel all running tasks. No work is lost for good: the jobs are due again at the next start."""
        self._flights.cancel()
        self._intervals.cancel()

    def health(self, now: float) -> SolveHealth:
        """The state of all jobs, for metrics."""
        waiting, results = self._ledger.waiting(), self._results
        return SolveHealth(
            running=len(self._flights),
            jobs={status.value: count for status, count in self._ledger.statuses().items()},
            ended=dict(self._counters.ended),
            seconds=dict(self._counters.seconds),
            waiting=dict(Counter(job.method for job in waiting)),
            longest_wait=health.largest((job.method, now - since) for job, since in waiting.items()),
            outdated=health.ages(self._outdated(), self._boards.clock()),
            unpublished=dict(Counter(job.method for job, result in results.items() if result.awaits_store)),
            unwritten=dict(Counter(job.method for job, result in results.items() if result.awaits_file)),
            certificates=health.certificates(results.boards()),
            replicates=dict(self._intervals.replicates),
            **insight.alarms(results.boards().values()),
        )

    def _erase(self, entries: Mapping[str, PoolEntry], control: ControlState) -> None:
        """Replace names that the checkpointed generation of a pool erases in its results. Raises `OSError`."""
        for pool in {one.pool for one in control.erasures.requests} & entries.keys():
            entry = entries[pool]
            erased = control.generations[pool][entry.generation].erased
            if erased and self._erased.get(pool) != erased:
                names = NameMatcher(erased)
                self._results.erase(pool, names)
                self._intervals.erase(pool, entry.generation, names)
                self._erased[pool] = erased

    def _take_in_ended(self, now: float, entries: Mapping[str, PoolEntry]) -> None:
        """Take in the tries that ended. Workers get their next jobs first, because files and the store take as long as a small solve."""
        ended = self._flights.ended(now)
        for one in ended:
            self._plan.changed.add(one.flight.job.pool)
            self._ledger.finish(one.flight.job, one.event)
        self._start_next(now)
        for one in ended:
            if one.solved is not None:
                self._solved(one.flight, one.solved)
            elif not (one.unreadable and _replaced(one.flight, entries)):
                self._failed(one)

    def _start_next(self, now: float) -> None:
        """Start planned jobs, until one does not fit: it waits at the head of the queue, and all jobs behind it wait too. Otherwise small
        jobs could keep it waiting forever.
        """
        plan = self._plan
        while plan.queue:
            job = plan.queue[0]
            if job.is_insight and self._boards_are_changing(job, now):
                plan.queue.popleft()  # a later step plans it again, after the boards of its pool
                continue
            if not self._flights.fits(self._need(job)):
                return
            plan.queue.popleft()
            given, entry, newest = plan.offered[job], plan.entries[job.pool], self._results.get(job)
            self._ledger.start(job, given, now)
            previous = None if newest is None else newest.file
            self._flights.start(job, entry, given.parameters, previous, self._need(job), now)

    def _boards_are_changing(self, job: Job, now: float) -> bool:
        """Whether a board of the job's pool changed since the plan was made, or is being solved. The latter counts for one minute only."""
        solving = any(other.pool == job.pool for other in self._flights.jobs)
        waited = now - self._ledger.waiting().get(job, now)
        return job.pool in self._plan.changed or (solving and waited < _PATIENCE_SECONDS)

    def _need(self, job: Job) -> int:
        """Bytes that a solve is expected to take: 1.5 times the peak of the last solve, at most the limit; the limit before the first."""
        newest, most = self._results.get(job), self._flights.limits.solve_memory_bytes
        return most if newest is None or not newest.board.memory else min(most, newest.board.memory * 3 // 2)

    def _redraw(self, now: float, *, idle: bool) -> None:
        """Do the next step of intervals. idle: Whether a worker is free that no solve needs."""
        job = self._intervals.step(now, idle, self._results.boards(), self._plan.entries)
        if job is not None and job in self._results:
            self._results.intervals_changed(job)
            self._results[job].awaits_store = True

    def _solved(self, flight: Flight, solved: Solved) -> None:
        method, result = flight.job.method, solved.result
        self._counters.ended[method, result.status] += 1
        self._counters.seconds[method] += result.seconds
        board = self._boards.board(flight.entry, flight.parameters, result)
        self._results.solved(flight.job, msgspec.structs.replace(board, memory=solved.memory), solved.start)

    def _failed(self, ended: Ended) -> None:
        flight, job, refused = ended.flight, ended.flight.job, ended.event is JobEvent.REFUSED
        status = JobStatus.NOT_APPLICABLE.value if refused else JobStatus.FAILED.value
        fields = {"pool": job.pool, "method": job.method, "position": flight.entry.position}
        log.log(logging.INFO if refused else logging.WARNING, "solve %s: %s", status.replace("_", " "), ended.why, extra=fields)
        self._counters.ended[job.method, status] += 1
        newest = self._results.get(job)
        left = refused and newest is not None and newest.board.generation < flight.entry.generation  # a banned agent may be on its board
        if newest is None or left or newest.board.result.status in _WITHOUT_RESULT:
            self._results.replaced(job, self._boards.without_result(flight.entry, job.method, flight.parameters, status))
        self._results.failed(job, ended.why)

    def _outdated(self) -> dict[Job, SolvedBoard]:
        """The boards that readers see although a newer one is due, running or failed, or is not taken by the store."""
        running = {*self._ledger.waiting(), *self._flights.jobs}
        outdated = {}
        for job, result in self._results.items():
            failed = result.board.error is not None and result.board.result.status != JobStatus.NOT_APPLICABLE
            if result.awaits_store and result.published is not None:
                outdated[job] = result.published
            elif job in running or failed:
                outdated[job] = result.board
        return outdated

    def _retire(self, entries: Collection[str], offered: Collection[Job]) -> None:
        """Remove the boards of methods that are no longer chosen for their pool."""
        for job in self._results:
            if job.pool in entries and job not in offered:
                if not self._publisher.drop(job):
                    return
                self._results.remove(job)
                self._intervals.forget(job)
                self._ledger.forget(job)

    def _clear(self, entries: Mapping[str, PoolEntry]) -> None:
        """Remove an earlier generation's ratings if the new generation has no outcomes yet, as at the start of a season.

        No solve runs before the first outcome, so the old boards would stay, perhaps with banned agents on them.
        """
        for job, result in self._results.items():
            entry = entries.get(job.pool)
            if entry is not None and not entry.outcomes and result.board.generation < entry.generation:
                self._results.replaced(
                    job, self._boards.without_result(entry, job.method, result.board.parameters, JobStatus.NOT_APPLICABLE.value)
                )
                self._results.failed(job, f"generation {entry.generation} has no outcomes yet")


def open_scheduler(
    settings: Settings, checkpoints: CheckpointStore, boards: SolvedBoards, tasks: TaskPool, limits: Limits, log_identity: str = "",
    clock: Callable[[], float] = time.time, backoff: Backoff | None = None,
) -> SolveScheduler:  # fmt: skip
    """Make a scheduler, with the results that an earlier run left.

    Args:
        settings: The service's settings.
        checkpoints: Where checkpoints are read, and results are written.
        boards: Where results are published.
        tasks: Where solves run.
        limits: What solves may take together.
        log_identity: Identity of the log; results of another one are ignored.
        clock: Seconds since 1970, as boards show.
        backoff: Pauses after a failure of the store; None for the default.
    """
    intervals = IntervalRunner(settings, checkpoints, log_identity, tasks)
    results = NewestResults(ResultFiles(checkpoints.blobs, settings.solves_kept), intervals, settings.solves_kept)
    results.load(log_identity)
    return SolveScheduler(
        Flights(tasks, checkpoints.url, settings.solve_deadline_seconds, limits),
        results,
        ResultPublisher(boards, results, intervals, backoff or Backoff()),
        intervals,
        _BoardMaker(log_identity, clock),
        Pace(settings.solve_seconds, settings.solve_outcomes),
    )


def _replaced(flight: Flight, entries: Mapping[str, PoolEntry]) -> bool:
    """Whether a newer checkpoint replaced the flight's checkpoint. The object that it could not read was then deleted on purpose."""
    newest = entries.get(flight.job.pool)
    return newest is None or newest.object != flight.entry.object


def _solvable(entry: PoolEntry, control: ControlState) -> bool:
    """Whether readers may see results on a checkpointed pool: it is not stopped, and not of a generation that they have left."""
    return entry.stopped is None and entry.generation >= control.served(entry.pool)


def _offered(entries: Iterable[PoolEntry], control: ControlState) -> dict[Job, Given]:
    """The jobs of the methods that are chosen for checkpointed pools, and what they would work on."""
    return {
        Job(entry.pool, method): Given(data_of(entry.generation, entry.digest), entry.outcomes, parameters)
        for entry in entries
        for method, parameters in chosen_for(control.plans.get(entry.pool), Kind(entry.kind)).items()
    }
