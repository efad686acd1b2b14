"""Runs due solves as Ray tasks, keeps their results as files beside the checkpoints, and publishes them.

Delivery: a result is written to its file before it is published, and published again from there when the store lost it. Where its file
cannot be written, as on a full disk, readers have it all the same, and the file comes later. A try
that fails or passes its deadline leaves the last good result standing, which then says so.
"""

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import msgspec
import ray
from ray.exceptions import RayError, RayTaskError

from ratings_core.errors import InputError
from services.boards.history import Kept, kept
from services.boards.result import VERSION, CertificateRow, Intervals, SolvedBoard, SolveResult
from services.boards.store.backoff import Rest
from services.boards.store.protocol import OtherLog, StoreError
from services.boards.store.redis import RedisStore
from services.boards.store.solved import Held
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry
from services.checkpoints.objects import BadObject
from services.control.records import ControlState
from services.runtime.logging import Troubles
from services.runtime.settings import Settings
from services.solve.insight import job as insight
from services.solve.intervals.runner import IntervalRunner
from services.solve.planning.plan import Job, Ledger, Pace, PoolView, Tried, due, fitting
from services.solve.registry import methods
from services.solve.registry.choice import chosen_for
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles
from services.solve.scheduler import health
from services.solve.scheduler.health import SolveHealth
from services.solve.scheduler.packing import packed, whole
from services.solve.worker.priority import giving_way
from services.solve.worker.tasks import solve_pool
from services.wire.pools import Kind

log = logging.getLogger("equirank.solve")

_LOOK_SECONDS: Final = 2.0
_LOOK_POOLS: Final = 200
"""Pools looked at in one look for what the store lost: of many more, a look at all would take longer than solving them."""
_PATIENCE_SECONDS: Final = 60.0
_WAITING: Final = "solved boards wait for the store: %s"
_UNWRITTEN: Final = "results wait for their files: %s"
_FAILED: Final = "failed"
_NOT_APPLICABLE: Final = "not_applicable"
_NOTHING: Final = frozenset({_FAILED, _NOT_APPLICABLE})
"""Statuses of what stands where no try ended well."""


@dataclass(frozen=True, slots=True)
class _Flight:
    """One try under way."""

    job: Job
    entry: PoolEntry
    parameters: dict[str, float | str | bool]
    deadline: float
    need: int


class SolveRunner:
    """Driven by the engine's loop; never blocks it for longer than a store call, and one that hangs is left alone for longer than it hung.

    What is due and overdue goes by the `now` of its callers, which never goes back.
    """

    def __init__(
        self,
        settings: Settings,
        checkpoints: CheckpointStore,
        store: RedisStore,
        workers: int,
        log_identity: str = "",
        memory: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """workers: solves at once; memory: bytes of all solves together, None for any; clock: seconds since 1970, as boards tell."""
        self._memory, self._clock = memory, clock
        self._settings, self._url, self._store, self._workers = settings, checkpoints.url, store, workers
        self._log = log_identity
        self._files = ResultFiles(checkpoints, settings.solves_kept)
        self._history: defaultdict[Job, deque[Kept]] = defaultdict(lambda: deque(maxlen=settings.solves_kept))
        self._latest: dict[Job, SolvedBoard] = {}
        """With their best rows only, as `packed` leaves them."""
        self._rows: dict[Job, bytes] = {}
        self._names: dict[Job, str] = {}
        self._intervals = IntervalRunner(settings, checkpoints, log_identity)
        for job, results in groupby(self._files.kept(log_identity), lambda one: Job(one.board.pool, one.board.result.method)):
            for one in results:
                self._note(job, one.board)
            self._stands(job, msgspec.structs.replace(one.board, start=None), one.name)
            self._keep(job)
        self._ledger = Ledger({job: _tried(board) for job, board in self._latest.items()})
        self._pace = Pace(settings.solve_seconds, settings.solve_outcomes)
        self._flights: dict[Any, _Flight] = {}
        self._unpublished = set(self._latest)
        self._unwritten: set[Job] = set()
        self._taken: dict[Job, SolvedBoard] = {}
        self._looked_at = float("-inf")
        self._looked_to = ""
        self._entries: Mapping[str, PoolEntry] = {}
        self._views: Mapping[str, PoolView] = {}
        self._insights: Mapping[str, PoolView] = {}
        self._planned: deque[Job] = deque()
        self._moved: set[str] = set()
        self._task = ray.remote(num_cpus=1, max_retries=1, enable_task_events=False)(giving_way(solve_pool))
        self._ended: Counter[tuple[str, str]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._troubles = Troubles()
        self._rest = Rest()

    def step(self, now: float, manifests: Iterable[Manifest], control: ControlState) -> None:
        """Take in what ended, start what is due, publish what the store lacks."""
        entries = {entry.pool: entry for manifest in manifests for entry in manifest.pools if _solvable(entry, control)}
        self._relay(now, entries)
        views = {pool: _view(entry, control) for pool, entry in entries.items()}
        insights = insight.views(entries.values(), control, self._latest, self._log)
        cost = {name: method.cost for name, method in methods.METHODS.items()} | {insight.INSIGHT: insight.COST}
        jobs = due(now, [*views.values(), *insights.values()], self._ledger, self._pace, cost)
        self._ledger.queue(jobs, now)
        self._retire(views)
        self._clear(entries)
        self._entries, self._views, self._insights, self._planned = entries, views, insights, deque(jobs)
        self._moved.clear()
        self._fill(now)
        idle = not jobs and len(self._flights) < self._workers
        if (redrawn := self._intervals.step(now, idle, self._latest, entries)) is not None and redrawn in self._latest:
            self._keep(redrawn)
            self._unpublished.add(redrawn)
        self._look(now)
        self._publish()

    def go_on(self, now: float, seconds: float) -> bool:
        """Wait at most `seconds` for a solve to end, then start the next of those that the last `step` found due. False where none runs."""
        if not self._flights:
            return False
        ray.wait(list(self._flights), num_returns=1, timeout=seconds)
        self._relay(now, self._entries)
        self._publish()
        return True

    def _relay(self, now: float, entries: Mapping[str, PoolEntry]) -> None:
        """Take in what ended; workers get the next of the plan first, as files and the store take as long as a small solve."""
        landed = self._landed(now)
        self._fill(now)
        for flight, answer in landed:
            self._take_in(flight, answer, now, entries)

    def _fill(self, now: float) -> None:
        """Start as many as fit. Insight of boards that are about to be others waits for the next plan."""
        while self._planned:
            job = self._planned[0]
            if job.method == insight.INSIGHT and self._unsettled(job, now):
                self._planned.popleft()
                continue
            held = [flight.need for flight in self._flights.values()]
            if not fitting([job], self._need, held, self._workers, self._memory):
                return
            self._planned.popleft()
            view = self._insights[job.pool] if job.method == insight.INSIGHT else self._views[job.pool]
            self._start(job, view, self._entries[job.pool], now)

    def _unsettled(self, job: Job, now: float) -> bool:
        """Whether a board of its pool came since the plan was made, or is being solved: for that nobody waits for ever."""
        solved_now = any(flight.job.pool == job.pool for flight in self._flights.values())
        return job.pool in self._moved or (solved_now and now - self._ledger.waiting.get(job, now) < _PATIENCE_SECONDS)

    def health(self, now: float) -> SolveHealth:
        """Where solves stand."""
        waiting = self._ledger.waiting
        return SolveHealth(
            running=len(self._flights),
            ended=dict(self._ended),
            seconds=dict(self._seconds),
            waiting=dict(Counter(job.method for job in waiting)),
            longest_wait=health.largest((job.method, now - since) for job, since in waiting.items()),
            outdated=health.ages(self._outdated(), self._clock()),
            unpublished=dict(Counter(job.method for job in self._unpublished)),
            unwritten=dict(Counter(job.method for job in self._unwritten)),
            certificates=health.certificates(self._latest),
            replicates=dict(self._intervals.replicates),
            **insight.alarms(self._latest.values()),
        )

    def _need(self, job: Job) -> int:
        """Bytes that a solve is taken to need: what the last one took and half as much, all that it may take where none ended yet."""
        last, most = self._latest.get(job), self._settings.solve_memory_bytes
        return most if last is None or not last.memory else min(most, last.memory * 3 // 2)

    def _outdated(self) -> dict[Job, SolvedBoard]:
        """Boards of jobs that wait, run, or failed last; and those that readers see while the store does not take the newest."""
        failed = [job for job, board in self._latest.items() if board.error is not None and board.result.status != _NOT_APPLICABLE]
        replaced = [*self._ledger.waiting, *(flight.job for flight in self._flights.values()), *failed]
        seen = {job: self._latest[job] for job in replaced if job in self._latest}
        return seen | {job: self._taken[job] for job in self._unpublished if job in self._taken}

    def cancel(self) -> None:
        """Cancel what runs; nothing is lost, it is due again at the next start."""
        for reference in self._flights:
            ray.cancel(reference, force=True)
        self._intervals.cancel()

    def _start(self, job: Job, view: PoolView, entry: PoolEntry, now: float) -> None:
        parameters = dict(view.methods[job.method])
        self._ledger.start(job, view, now)
        memory, previous = self._settings.solve_memory_bytes, self._names.get(job)
        reference = self._task.remote(self._url, msgspec.json.encode(entry), job.method, parameters, memory, previous)
        self._flights[reference] = _Flight(job, entry, parameters, now + self._settings.solve_deadline_seconds, self._need(job))

    def _landed(self, now: float) -> list[tuple[_Flight, Solved | Exception]]:
        """The tries that ended, and how; those past their deadline are cancelled."""
        if not self._flights:
            return []
        landed: list[tuple[_Flight, Solved | Exception]] = []
        for reference in ray.wait(list(self._flights), num_returns=len(self._flights), timeout=0)[0]:
            flight = self._flights.pop(reference)
            self._moved.add(flight.job.pool)
            try:
                landed.append((flight, msgspec.json.decode(ray.get(reference), type=Solved)))
                self._ledger.finish(flight.job)
            except Exception as error:  # noqa: BLE001 - whatever a task died of, the others go on and readers are told
                landed.append((flight, error))
                gone = isinstance(_cause(error), BadObject) or (_lost(error) and now <= flight.deadline)
                self._ledger.finish(flight.job, lost=gone)
        for reference, flight in self._flights.items():
            if now > flight.deadline:
                ray.cancel(reference, force=True)
        return landed

    def _take_in(self, flight: _Flight, answer: Solved | Exception, now: float, entries: Mapping[str, PoolEntry]) -> None:
        if isinstance(answer, Solved):
            self._solved(flight, answer)
            return
        standing = entries.get(flight.job.pool)
        if isinstance(_cause(answer), BadObject) and (standing is None or standing.object != flight.entry.object):
            return  # a newer checkpoint took the place of this one while the task waited
        self._failed(flight, _cause(answer), now)

    def _solved(self, flight: _Flight, found: Solved) -> None:
        board = msgspec.structs.replace(self._board(flight.entry, flight.parameters, found.result), memory=found.memory)
        self._count(flight.job.method, found.result.status)
        self._seconds[flight.job.method] += found.result.seconds
        name = self._written(flight.job, msgspec.structs.replace(board, start=found.start))
        self._note(flight.job, self._intervals.shown(flight.job, board))
        self._stands(flight.job, board, name)
        self._unpublished.add(flight.job)

    def _written(self, job: Job, board: SolvedBoard) -> str | None:
        """The name of the file of a result; None where it could not be written, and is to be written later."""
        try:
            name = self._files.write(board)
        except OSError as error:
            self._troubles.warn(log, _UNWRITTEN, error, **job._asdict())
            self._unwritten.add(job)
            return None
        self._unwritten.discard(job)
        return name

    def _write_late(self) -> None:
        """Write what could not be written, as on a full disk, once it can be."""
        for job in list(self._unwritten):
            board = msgspec.structs.replace(whole(self._latest[job], self._rows[job]), error=None)
            if (name := self._written(job, board)) is None:
                return
            self._names[job] = name
            self._troubles.over(_UNWRITTEN)

    def _note(self, job: Job, board: SolvedBoard) -> None:
        """Add a result to the history of its job."""
        if job.method != insight.INSIGHT:
            self._history[job].append(kept(board))

    def _stands(self, job: Job, board: SolvedBoard, name: str | None) -> None:
        """Hold the newest result of a job; name: of its file."""
        self._latest[job], self._rows[job] = packed(board)
        if name is not None:
            self._names[job] = name

    def _keep(self, job: Job) -> None:
        """Let the history hold the newest result as readers see it: with the intervals that it has by now."""
        if history := self._history.get(job):
            history[-1] = kept(self._intervals.shown(job, whole(self._latest[job], self._rows[job])))

    def _failed(self, flight: _Flight, cause: Exception, now: float) -> None:
        overdue = f"it did not end within {self._settings.solve_deadline_seconds:g} s and was cancelled"
        status, why = _FAILED, overdue if now > flight.deadline else f"{type(cause).__name__}: {cause}".splitlines()[0]
        if isinstance(cause, InputError):  # parameters were looked at when they were chosen: the pool's content is not what they need
            status, why = _NOT_APPLICABLE, cause.rule if isinstance(cause, methods.NotApplicable) else f"{cause.argument} {cause.rule}"
        level = logging.INFO if status == _NOT_APPLICABLE else logging.WARNING
        log.log(level, "solve %s: %s", status.replace("_", " "), why, extra=_fields(flight))
        self._count(flight.job.method, status)
        standing = self._latest.get(flight.job)
        if standing is None or standing.result.status in _NOTHING:
            standing = self._board(flight.entry, flight.parameters, _nothing(flight.job.method, status))
            self._stands(flight.job, standing, None)
        self._latest[flight.job] = msgspec.structs.replace(standing, error=why)
        self._unpublished.add(flight.job)

    def _board(self, entry: PoolEntry, parameters: Mapping[str, float | str | bool], result: SolveResult) -> SolvedBoard:
        return SolvedBoard(
            pool=entry.pool,
            generation=entry.generation,
            position=entry.position,
            outcomes=entry.outcomes,
            data=entry.digest,
            parameters=dict(parameters),
            solved_at=self._clock(),
            result=result,
            log=self._log,
            version=VERSION,
        )

    def _count(self, method: str, status: str) -> None:
        self._ended[method, status] += 1

    def _look(self, now: float) -> None:
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            if self._rest.over:
                self._find_lost()
            self._write_late()

    def _publish(self) -> None:
        for job in list(self._unpublished) if self._rest.over else ():
            try:
                shown = self._intervals.shown(job, whole(self._latest[job], self._rows[job]))
                with self._rest.asking():
                    if self._store.publish_solved(shown) and job.method != insight.INSIGHT:
                        self._store.publish_history(*job, self._history[job])
            except StoreError as error:
                self._troubles.warn(log, _WAITING, error)
                if isinstance(error, OtherLog):
                    continue
                return
            self._unpublished.discard(job)
            self._taken[job] = self._latest[job]
            self._troubles.over(_WAITING)

    def _retire(self, views: Mapping[str, PoolView]) -> None:
        """Take away the boards of methods that a pool is no longer solved by."""
        wanted = {pool: {*view.methods, insight.INSIGHT} for pool, view in views.items()}
        retired = [job for job in self._latest if job.pool in wanted and job.method not in wanted[job.pool]]
        for job in retired if self._rest.over else ():
            try:
                with self._rest.asking():
                    self._store.drop_solved(*job)
            except StoreError as error:
                self._troubles.warn(log, "a retired board waits for the store: %s", error, **job._asdict())
                return
            self._files.remove(job)
            self._intervals.forget(job)
            self._ledger.forget(job)
            for noted in (self._latest, self._rows, self._history, self._names, self._taken):
                noted.pop(job, None)
            self._unpublished.discard(job)
            self._unwritten.discard(job)

    def _clear(self, entries: Mapping[str, PoolEntry]) -> None:
        """Take an earlier generation's ratings from the boards of one that has no outcomes yet, as of a season that begins: nothing would
        be solved for as long as nobody plays, and who was banned would go on leading.
        """
        for job, board in list(self._latest.items()):
            entry = entries.get(job.pool)
            if entry is not None and not entry.outcomes and board.generation < entry.generation:
                empty = self._board(entry, board.parameters, _nothing(job.method, _NOT_APPLICABLE))
                self._stands(job, msgspec.structs.replace(empty, error=f"generation {entry.generation} has no outcomes yet"), None)
                self._unpublished.add(job)
                self._unwritten.discard(job)

    def _find_lost(self) -> None:
        """Mark for publication what the store has not, or not whole, or only an older one of, or without its history.

        Of some pools at a time, in turn.
        """
        pools = sorted({job.pool for job in self._latest})
        looked = [pool for pool in pools if pool > self._looked_to][:_LOOK_POOLS]
        try:
            with self._rest.asking():
                held = self._store.held(looked)
        except StoreError:
            return
        self._looked_to = looked[-1] if looked and looked[-1] != pools[-1] else ""
        for job, board in self._latest.items():
            if job.pool not in held:
                continue
            there = held[job.pool].get(job.method)
            if _lacks(there, board, self._intervals.told(job, board), len(self._history.get(job, ()))):
                self._unpublished.add(job)


def _lacks(held: Held | None, board: SolvedBoard, told: Intervals | msgspec.UnsetType, history: int) -> bool:
    """Whether a store that holds `held` has to be given `board`, whose intervals say `told`, with a history of so many kept solves:
    not where another writer's newer one stands.
    """
    if held is None or held.board.log != board.log:
        return True
    newer = (held.board.generation, held.board.position) > (board.generation, board.position)
    same = (_identified(held.board), held.board.result.intervals) == (_identified(board), told)
    return not newer and (not same or history > held.history)


def _identified(board: SolvedBoard) -> tuple[object, ...]:
    return board.generation, board.position, board.data, board.parameters, board.solved_at, board.error


def _tried(board: SolvedBoard) -> Tried:
    return Tried(board.data, board.outcomes, board.parameters, float("-inf"), running=False)


def _cause(error: Exception) -> Exception:
    """What a task raised, without what Ray wrapped it in."""
    return getattr(error, "cause", None) or error


def _lost(error: Exception) -> bool:
    """Whether the process that solved is gone, rather than what it solved is at fault; a newer try may go well."""
    return isinstance(error, RayError) and not isinstance(error, RayTaskError)


def _solvable(entry: PoolEntry, control: ControlState) -> bool:
    """Whether readers may see results on what a checkpoint holds: not of a generation that they have left."""
    return entry.stopped is None and entry.generation >= control.served(entry.pool)


def _view(entry: PoolEntry, control: ControlState) -> PoolView:
    return PoolView(entry.pool, entry.digest, entry.outcomes, chosen_for(control.plans.get(entry.pool), Kind(entry.kind)))


def _fields(flight: _Flight) -> dict[str, str | int]:
    return {"pool": flight.job.pool, "method": flight.job.method, "position": flight.entry.position}


def _nothing(method: str, status: str) -> SolveResult:
    nothing = CertificateRow(kind="none", value=None)
    return SolveResult(method=method, input="none", agents=[], certificate=nothing, status=status, seconds=0.0)
