"""Runs due solves on a task pool, and reconciles the store with their results.

Delivery: a task writes its result to a file beside the checkpoints, then publishes it. The engine publishes it from the file if the task
could not, or if the store lost it. A try that fails, passes its deadline or cannot write its file keeps the last good result, which then
says why there is no newer one.
"""

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from ratings_core.methods import registry
from services.boards.result import PENDING, VERSION, CertificateRow, Intervals, SolvedBoard, SolveResult
from services.boards.store.backoff import Backoff
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry
from services.control.erasures import ErasedName
from services.control.records import ControlState
from services.runtime.logging import LogThrottle
from services.runtime.settings import Settings
from services.solve.insight import job as insight
from services.solve.intervals import plan as intervals
from services.solve.planning.contents import KnownContents
from services.solve.planning.due import SolvePace, due
from services.solve.planning.jobs import ContentKey, Job, JobEvent, JobStatus, Parameters
from services.solve.planning.ledger import Given, Ledger, data_of
from services.solve.results import ResultFiles
from services.solve.scheduler import health
from services.solve.scheduler.erasing import ResultErasure
from services.solve.scheduler.flights import Ended, Flight, Flights, TaskLimits
from services.solve.scheduler.health import SolveHealth
from services.solve.scheduler.newest import NewestResults
from services.solve.scheduler.publication import Reconciler
from services.solve.worker.task_pool import TaskPool
from services.solve.worker.tasks import Delivery, Destination

log = logging.getLogger("equirank.solve")

_PATIENCE_SECONDS: Final = 60.0
"""A job that reads boards waits at most so long for the boards of its pool that are being solved."""
_WITHOUT_RESULT: Final = frozenset({JobStatus.FAILED.value, JobStatus.NOT_APPLICABLE.value, PENDING})
"""Statuses of a board for which no try has given a result."""
_BOARDS_A_STEP: Final = 20
"""Boards that a step removes. The engine asks its shards between two steps."""
_RESULTS_A_STEP: Final = 200
"""Results in which a step replaces erased names, and those of the board that is begun last."""
_UNREMOVED: Final = "the result files of a removed board cannot be deleted, trying again: %s"
_SUPERSEDED: Final = "superseded"
"""Status of a solve whose result the store refused, because a newer one was published or the method was removed."""
_COST: Final = {name: method.cost for name, method in registry.METHODS.items()} | {insight.INSIGHT: insight.COST}


@dataclass(slots=True)
class _Plan:
    """Plan of the newest step: the pools that can be solved, and the due jobs that have not started yet.

    Attributes:
        entries: Pool -> its newest checkpoint.
        contents: Pool or slice -> its newest checkpoint.
        offered: Every job of these pools -> what a try of it works on.
        queue: Due jobs, first to start first.
        changed: Pools of which a board was solved since the plan was made. Boards of slices do not count, because no job reads them.
        seasons: Pool -> first generation of its present season.
    """

    entries: Mapping[str, PoolEntry] = field(default_factory=dict)
    contents: Mapping[ContentKey, PoolEntry] = field(default_factory=dict)
    offered: Mapping[Job, Given] = field(default_factory=dict)
    queue: deque[Job] = field(default_factory=deque)
    changed: set[str] = field(default_factory=set)
    seasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Counters:
    """What ended since the start. ended: (method, status) -> tries; seconds, replicates: of each method."""

    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    replicates: Counter[str] = field(default_factory=Counter)


class SolveScheduler:
    """Runs solves. The engine's loop calls `step`, which makes a plan, and `go_on`, which starts further jobs of the plan as others end.

    Apart from the time given to `go_on`, calls wait only for files and the store. After a store timeout, the store is not used for a
    period that is longer than the timeout. Arguments named `now` are seconds of a timer that never goes back.
    """

    def __init__(
        self, flights: Flights, results: NewestResults, reconciler: Reconciler, interval_seconds: float,
        clock: Callable[[], float], pace: SolvePace,
    ) -> None:  # fmt: skip
        """Put a scheduler together from its parts; `open_scheduler` makes the parts from settings."""
        self._flights, self._results, self._reconciler, self._interval_seconds = flights, results, reconciler, interval_seconds
        self._clock, self._pace = clock, pace
        self._ledger = Ledger(
            {job: Given(data_of(board.generation, board.data), board.outcomes, board.parameters) for job, board in results.boards().items()}
        )
        self._plan, self._counters = _Plan(), _Counters()
        self._contents, self._erasure, self._troubles = KnownContents(), ResultErasure(results), LogThrottle()

    def step(self, now: float, manifests: Iterable[Manifest], control: ControlState) -> None:
        """Take in ended tries, plan and start due jobs, and publish results that the store lacks.

        Args:
            now: Seconds of the timer.
            manifests: The newest manifest of each partition.
            control: The state of the control log.
        """
        entries = {entry.pool: entry for manifest in manifests for entry in manifest.pools if _solvable(entry, control)}
        self._take_in_ended(now, entries)
        self._erase(now, entries, control)
        contents, offered = self._contents.of(entries.values(), control)
        boards = self._results.boards()
        offered |= insight.offered(entries.values(), control, boards, self._results.log_identity)
        offered |= intervals.offered(contents, boards, self._interval_seconds)
        jobs = due(now, offered, self._ledger, self._pace, _COST)
        self._ledger.queue(jobs, now)
        self._ledger.forget_ended(offered)
        self._retire(entries, offered)
        self._clear(entries)
        seasons = {pool: _first(entry, control) for pool, entry in entries.items()}
        self._plan = _Plan(entries, contents, offered, deque(jobs), seasons=seasons)
        self._start_next(now)
        self._reconciler.find_lost_regularly(now)
        self._publish()

    def go_on(self, now: float, seconds: float) -> bool:
        """Wait up to `seconds` for a solve to end, then start the next jobs of the newest plan. Returns False if no solve runs."""
        if not len(self._flights):
            return False
        self._flights.wait(seconds)
        self._take_in_ended(now, self._plan.entries)
        self._publish()
        return True

    def has_erased(self, pool: str) -> Collection[ErasedName]:
        """The erased names that a pool's results no longer contain, neither in files nor in the store.

        Empty while a result still waits for the store or for a new solve, or while a task reads a checkpoint of an earlier generation.
        """
        waiting = any(result.awaits_store for job, result in self._results.items() if job.pool == pool)
        waiting = waiting or any(job.pool == pool for job in self._results.forgotten)
        entry = self._plan.entries.get(pool)
        if waiting or entry is None or self._flights.read_before(pool, entry.generation):
            return ()
        return self._erasure.erased(pool)

    def cancel(self) -> None:
        """Cancel all running tasks. No work is lost for good: the jobs are due again at the next start."""
        self._flights.cancel()

    def health(self, now: float) -> SolveHealth:
        """The state of all jobs, for metrics."""
        waiting, results = {job: since for job, since in self._ledger.waiting().items() if not job.intervals}, self._results
        return SolveHealth(
            running=sum(not job.intervals for job in self._flights.jobs),
            jobs={status.value: count for status, count in self._ledger.statuses().items()},
            ended=dict(self._counters.ended),
            seconds=dict(self._counters.seconds),
            waiting=dict(Counter(job.method for job in waiting)),
            longest_wait=health.largest((job.method, now - since) for job, since in waiting.items()),
            outdated=health.largest((job.method, now - since) for job, since in self._ledger.late().items() if self._is_shown(job)),
            unpublished=dict(Counter(job.method for job, result in results.items() if result.awaits_store)),
            certificates=health.certificates(results.boards()),
            replicates=dict(self._counters.replicates),
            erasing=len(self._erasure),
            **insight.alarms(results.boards().values()),
        )

    def _erase(self, now: float, entries: Mapping[str, PoolEntry], control: ControlState) -> None:
        """Replace names that the checkpointed generation of a pool erases, in the results of the next few boards. Raises `OSError`."""
        for pool in {request.pool for request in control.erasures.requests} & entries.keys():
            if erased := control.generations[pool][entries[pool].generation].erased:
                self._erasure.request(pool, erased)
        self._erasure.go_on(_RESULTS_A_STEP)
        self._reconciler.note_erasing(now, self._erasure.left())

    def _take_in_ended(self, now: float, entries: Mapping[str, PoolEntry]) -> None:
        """Take in the tries that ended, and start the next jobs."""
        for ended in self._flights.ended(now):
            pool, entry = ended.flight.job.pool, entries.get(ended.flight.job.pool)
            if _changes_board(ended.flight.job):
                self._plan.changed.add(pool)
            self._ledger.finish(ended.flight.job, ended.event)
            if entry is None or ended.flight.entry.generation < entry.generation:
                self._erasure.repeat(ended.flight.job.of_board)  # its result may have a name that was erased since it began
            if ended.delivery is not None:
                self._delivered(ended.flight, ended.delivery)
            elif not (ended.unreadable and _replaced(ended.flight, entries)):
                self._failed(ended)
        self._note_shown()
        self._start_next(now)

    def _start_next(self, now: float) -> None:
        """Start planned jobs, until one does not fit: it waits at the head of the queue, and all jobs behind it wait too. Otherwise small
        jobs could keep it waiting forever.
        """
        plan = self._plan
        while plan.queue:
            job = plan.queue[0]
            if self._must_wait(job, now):
                plan.queue.popleft()  # a later step plans it again
                continue
            if not self._flights.fits(self._need(job)):
                return
            plan.queue.popleft()
            given, entry, newest = plan.offered[job], plan.contents[job.content], self._results.get(job.of_board)
            self._ledger.start(job, given, now)
            of_season = newest is not None and newest.board.generation >= plan.seasons.get(job.pool, 1)
            previous = newest.file if newest is not None and of_season else None  # ranks of another season are not compared
            self._flights.start(job, entry, given.parameters, previous, self._results.next_sequence(), self._need(job), now)

    def _must_wait(self, job: Job, now: float) -> bool:
        """Whether the job must wait for others: intervals run one at a time, and a job that reads boards waits while they change.

        A board whose results may contain an erased name is solved after they were searched. The search gives its results higher sequences,
        so the store would refuse a solve that began before.

        They change if one was solved since the plan was made, or is being solved. The latter counts for one minute only. Intervals whose
        board was replaced, or has an error now, are not computed: the next plan has others.
        """
        if job.of_board in self._erasure:
            return True
        if job.intervals:
            newest = self._results.get(job.of_board)
            planned = newest is not None and newest.file is not None and newest.board.error is None
            replaced = newest is None or not planned or intervals.given_of(newest.board) != self._plan.offered[job]
            return replaced or any(other.intervals for other in self._flights.jobs)
        if not self._plan.offered[job].reads_boards:
            return False
        solving = any(other.pool == job.pool and _changes_board(other) for other in self._flights.jobs)
        waited = now - self._ledger.waiting().get(job, now)
        return job.pool in self._plan.changed or (solving and waited < _PATIENCE_SECONDS)

    def _need(self, job: Job) -> int:
        """Bytes that a solve is expected to take: 1.5 times the peak of the last solve, at most the limit; the limit before the first.

        The first solve of a slice is expected to take no more than that of its pool.
        """
        newest, most = self._results.get(job.of_board), self._flights.limits.solve_memory_bytes
        if newest is None:
            newest = self._results.get(Job(job.pool, job.method))
        return most if newest is None or not newest.board.memory else min(most, newest.board.memory * 3 // 2)

    def _publish(self) -> None:
        for job in self._reconciler.publish():
            self._ledger.forget(job)
        self._note_shown()

    def _delivered(self, flight: Flight, delivery: Delivery) -> None:
        job, result = flight.job, delivery.board.result
        if not job.intervals:
            self._counters.seconds[job.method] += result.seconds
            self._counters.ended[job.method, _SUPERSEDED if delivery.superseded else result.status] += 1
        elif isinstance(result.intervals, Intervals) and not delivery.superseded:
            self._counters.replicates[job.method] += result.intervals.replicates
        if not delivery.superseded:
            self._results.delivered(job, delivery)
        elif job not in self._plan.offered:
            self._ledger.forget(job)  # the method was removed from the pool during the solve
        else:
            self._results.exceed(self._reconciler.sequence_of(job))

    def _failed(self, ended: Ended) -> None:
        flight, job, refused = ended.flight, ended.flight.job, ended.event is JobEvent.REFUSED
        status = JobStatus.NOT_APPLICABLE.value if refused else JobStatus.FAILED.value
        fields = {"pool": job.pool, "method": job.board, "position": flight.entry.position}
        what = "intervals" if job.intervals else "solve"
        log.log(logging.INFO if refused else logging.WARNING, "%s %s: %s", what, status.replace("_", " "), ended.why, extra=fields)
        if job.intervals:
            return  # the board stays without intervals
        self._counters.ended[job.method, status] += 1
        newest = self._results.get(job)
        if newest is None or (refused and _is_left(newest.board, flight.entry)) or newest.board.result.status in _WITHOUT_RESULT:
            self._results.replaced(job, self._without_result(flight.entry, job.method, flight.parameters, status))
        self._results.failed(job, ended.why)

    def _without_result(self, entry: PoolEntry, method: str, parameters: Parameters, status: str) -> SolvedBoard:
        """A board without rows."""
        nothing = CertificateRow(kind="none", value=None)
        return SolvedBoard(
            pool=entry.pool,
            generation=entry.generation,
            position=entry.position,
            outcomes=entry.outcomes,
            data=entry.digest,
            parameters=dict(parameters),
            solved_at=self._clock(),
            result=SolveResult(method=method, input="none", agents=[], certificate=nothing, status=status, seconds=0.0),
            log=self._results.log_identity,
            version=VERSION,
            slice=entry.slice,
        )

    def _is_shown(self, job: Job) -> bool:
        """Whether a job has a board for readers, and is still one of its pool, which has outcomes. Jobs of stopped pools are not."""
        given = self._plan.offered.get(job)
        return job in self._results and given is not None and given.outcomes > 0

    def _note_shown(self) -> None:
        """Record which of the late results readers see by now."""
        for job in self._ledger.late():
            if (result := self._results.get(job)) is not None and not result.awaits_store:
                self._ledger.shown(job)

    def _retire(self, entries: Collection[str], offered: Collection[Job]) -> None:
        """Remove the boards of methods that are no longer chosen for their pool, and of slices that it no longer has.

        A pool can lose thousands of boards at once, as at the begin of a season. Each takes calls of the store and of the files, so a step
        removes the next few. It ends at the first board whose files cannot be removed, because each such call may last until its deadline.
        This board then waits behind the others.
        """
        known = chain(self._results, list(self._results.forgotten))
        retired = (job for job in known if job.pool in entries and job not in offered)
        for job in islice(retired, _BOARDS_A_STEP):
            if not self._reconciler.drop(job):
                return
            self._ledger.forget(job)
            try:
                self._results.remove(job)
            except OSError as error:
                self._troubles.warn(log, _UNREMOVED, error, pool=job.pool, method=job.board)
                return

    def _clear(self, entries: Mapping[str, PoolEntry]) -> None:
        """Remove an earlier generation's ratings if the new generation has no outcomes yet, as at the start of a season.

        No solve runs before the first outcome, so the old boards would stay, perhaps with banned agents on them. The status is `pending`,
        as readers see it from the switch on. Boards of slices are retired instead, because the new generation has no slices yet.
        """
        for job, result in self._results.items():
            entry = None if job.sliced else entries.get(job.pool)
            if entry is not None and not entry.outcomes and result.board.generation < entry.generation:
                self._results.replaced(job, self._without_result(entry, job.method, result.board.parameters, PENDING))
                self._results.failed(job, f"generation {entry.generation} has no outcomes yet")


def open_scheduler(
    settings: Settings, checkpoints: CheckpointStore, store: RedisStore, tasks: TaskPool, limits: TaskLimits, engine: int = 0,
    clock: Callable[[], float] = time.time, backoff: Backoff | None = None,
) -> SolveScheduler:  # fmt: skip
    """Make a scheduler, with the results that an earlier run left.

    Args:
        settings: The service's settings.
        checkpoints: Where checkpoints are read, and results are written.
        store: Where results are published. Results of another log than the store's are ignored.
        tasks: Where solves run.
        limits: What solves may take together.
        engine: Number of this engine; a later engine has a higher one.
        clock: Seconds since 1970, for ages of boards.
        backoff: Pauses after a failure of the store; None for the default.
    """
    results = NewestResults(ResultFiles(checkpoints.blobs, settings.solves_kept), store.log, engine)
    results.load()
    for name in checkpoints.blobs.tree("intervals"):  # of earlier releases, which did not keep intervals in result files
        checkpoints.blobs.remove(name)
    destination = Destination(store.url, store.log, settings.solves_kept, settings.interval_seconds, provisional=settings.provisional)
    reconciler = Reconciler(store.solved, results, backoff or Backoff())
    reconciler.find_published()
    return SolveScheduler(
        Flights(tasks, checkpoints.url, destination, settings.solve_deadline_seconds, limits),
        results,
        reconciler,
        settings.interval_seconds,
        clock,
        SolvePace(settings.solve_seconds, settings.solve_outcomes),
    )


def _replaced(flight: Flight, entries: Mapping[str, PoolEntry]) -> bool:
    """Whether a newer checkpoint replaced the flight's checkpoint. The object that it could not read was then deleted on purpose."""
    newest = entries.get(flight.job.pool)
    return newest is None or newest.object != flight.entry.object


def _is_left(board: SolvedBoard, entry: PoolEntry) -> bool:
    """Whether a board is removed if the method does not apply to the checkpoint: a board of an earlier generation may have a banned agent,
    and another release may have solved what this one refuses.
    """
    return board.generation < entry.generation or board.version != VERSION


def _solvable(entry: PoolEntry, control: ControlState) -> bool:
    """Whether readers may see results on a checkpointed pool: it is not stopped, and not of a generation that they have left."""
    return entry.stopped is None and entry.generation >= control.served(entry.pool)


def _first(entry: PoolEntry, control: ControlState) -> int:
    """First generation of the season of a checkpointed pool."""
    made = control.generations.get(entry.pool, {}).get(entry.generation)
    return 1 if made is None or made.opening is None else made.opening.first


def _changes_board(job: Job) -> bool:
    """Whether a job solves a board of a complete pool, which insight reads."""
    return not job.intervals and not job.sliced
