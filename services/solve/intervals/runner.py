"""Computes intervals of solved boards as Ray tasks, one board at a time and only while no solve is due.

The first task reads the pool's checkpoint into the object store. Each later task solves a slice of replicates, until there are enough
of them or the time is spent. Intervals belong to one solve, with its position, generation, data, parameters and time; they are shown
only on the board of that solve. A board whose intervals are missing or outdated states the reason.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ratings_core.methods import registry
from ratings_core.methods.refits import LEAST
from services.boards.result import Intervals, SolvedBoard
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.control.erasures import NameMatcher
from services.runtime.settings import Settings
from services.solve.intervals import replicates as intervals
from services.solve.intervals.plan import Redrawn, next_job, rested
from services.solve.intervals.tasks import prepare, solve_slice
from services.solve.planning.jobs import Job
from services.solve.worker.task_pool import TaskLost, TaskPool, TaskType, failure_text

log = logging.getLogger("equirank.intervals")

_PREPARE: Final = TaskType(prepare, results=2)
_SLICE: Final = TaskType(solve_slice)
_FOLDER: Final = "intervals"
_SLICE_SECONDS: Final = 1.0
"""Time limit of a slice, after which it begins no further replicate. A due solve waits at most this long, plus one replicate."""


class IntervalFile(msgspec.Struct, frozen=True, kw_only=True):
    """Intervals of one solve, as they are stored.

    Attributes:
        generation, data, parameters, solved_at: Identity of the solve, together with `told.position`.
        told: Description of the intervals, or the reason why there are none.
        rows: Agent -> ends of its intervals.
    """

    pool: str
    method: str
    log: str
    generation: int
    data: str
    parameters: dict[str, float | str | bool]
    solved_at: float
    told: Intervals
    rows: dict[str, intervals.Ends]

    @property
    def solve(self) -> tuple[object, ...]:
        """Identity of the solve, as `Basis.solve` returns it."""
        return self.generation, self.told.position, self.data, self.parameters, self.solved_at


@dataclass(slots=True)
class _Run:
    """The running computation of a board's intervals. Times are seconds of the scheduler's timer.

    Attributes:
        waits_for: The running task; None between two tasks.
        since: When the newest task began.
        deadline: When the newest task is cancelled.
        prepared: The prepared problem in the object store.
        so_far: The replicates so far; None until the first task ended.
    """

    job: Job
    entry: PoolEntry
    board: SolvedBoard
    waits_for: Any
    since: float
    deadline: float
    prepared: Any
    so_far: intervals.Replication | None = None

    def spent(self, now: float) -> float:
        """Worker seconds used so far. A task that has not returned counts from its start until `now`."""
        told = 0.0 if self.so_far is None else self.so_far.facts.seconds + self.so_far.whole.seconds
        return told if self.waits_for is None else told + max(0.0, now - self.since)


class IntervalRunner:
    """Computes intervals in the background. The scheduler of solves calls its methods; none of them waits for a task."""

    def __init__(self, settings: Settings, checkpoints: CheckpointStore, log_identity: str, tasks: TaskPool) -> None:
        self._settings, self._checkpoints, self._log, self._tasks = settings, checkpoints, log_identity, tasks
        self._found: dict[Job, IntervalFile] = {}
        self._tried: dict[Job, Redrawn] = {}
        self._run: _Run | None = None
        self._ended, self._spent = float("-inf"), 0.0
        self.replicates: Counter[str] = Counter()
        self._load()

    def step(self, now: float, idle: bool, boards: Mapping[Job, SolvedBoard], entries: Mapping[str, PoolEntry]) -> Job | None:
        """Take the result of an ended task, or start the next task. Returns the job whose intervals were completed, if any.

        Args:
            now: Seconds of the scheduler's timer.
            idle: Whether a worker is free that no solve needs.
            boards: Job -> its newest board.
            entries: Pool -> its newest checkpoint.
        """
        if self._run is not None and ((newest := boards.get(self._run.job)) is None or newest.solve != self._run.board.solve):
            self.cancel()  # the job is tried again after all other candidates
            self._rest(self._run, now)
        if self._run is not None:
            return self._go_on(self._run, now, idle)
        if idle and self._settings.interval_seconds and rested(now, self._ended, self._spent):
            self._begin(now, boards, entries)
        return None

    def told(self, job: Job, board: SolvedBoard) -> Intervals | msgspec.UnsetType:
        """Description of the board's intervals, or the reason why there are none: the newest intervals are of an earlier solve.

        Unchanged if the method computed its own intervals, or if there are none for this job yet.
        """
        found = self._found.get(job)
        if found is None or isinstance(board.result.intervals, Intervals) or not board.result.agents:
            return board.result.intervals
        if found.solve == board.solve:
            return found.told
        why = f"the newest intervals are of an earlier solve (position {found.told.position}); those of this board are not computed yet"
        return Intervals(kind="none", why_not=why)

    def are_known(self, job: Job, board: SolvedBoard) -> bool:
        """Whether the intervals of this solve were computed and the board lacks them."""
        found = self._found.get(job)
        return found is not None and bool(found.rows) and found.solve == board.solve and not isinstance(board.result.intervals, Intervals)

    def shown(self, job: Job, board: SolvedBoard) -> SolvedBoard:
        """The board with the intervals of its solve, or with the reason why there are none."""
        found, told = self._found.get(job), self.told(job, board)
        if found is None or told is board.result.intervals:
            return board
        rows = intervals.with_ends(board.result.agents, found.rows) if told is found.told else board.result.agents
        return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows, intervals=told))

    def forget(self, job: Job) -> None:
        """Delete the intervals of a job that is no longer solved, in memory and on disk, and cancel its computation."""
        if self._run is not None and self._run.job == job:
            self.cancel()
            self._run = None
        self._found.pop(job, None)
        self._tried.pop(job, None)
        for name in self._checkpoints.blobs.tree(_folder(job)):
            self._checkpoints.blobs.remove(name)

    def erase(self, pool: str, generation: int, names: NameMatcher) -> None:
        """Delete a pool's intervals that contain an erased name, and cancel a computation on a generation before `generation`."""
        if self._run is not None and self._run.job.pool == pool and self._run.entry.generation < generation:
            self.forget(self._run.job)
        for job, found in list(self._found.items()):
            if job.pool == pool and any(names.token(agent) for agent in found.rows):
                self.forget(job)

    def cancel(self) -> None:
        """Cancel the running task, if any."""
        if self._run is not None and self._run.waits_for is not None:
            self._tasks.cancel(self._run.waits_for)

    def _begin(self, now: float, boards: Mapping[Job, SolvedBoard], entries: Mapping[str, PoolEntry]) -> None:
        standing = {
            job: board
            for job, board in boards.items()
            if job.method in registry.METHODS and job.pool in entries and _wants(board, entries[job.pool])
        }
        cost = {name: method.cost for name, method in registry.METHODS.items()}
        settings = self._settings
        job = next_job(now, standing, self._tried, settings.interval_seconds, LEAST, cost, settings.solve_seconds)
        if job is None:
            return
        entry, board = entries[job.pool], boards[job]
        arguments = (self._checkpoints.url, msgspec.json.encode(entry), job.method, board.parameters, settings.solve_memory_bytes)
        facts, prepared = self._tasks.start(_PREPARE, *arguments)
        self._run = _Run(job, entry, board, facts, now, now + settings.solve_deadline_seconds, prepared)

    def _go_on(self, run: _Run, now: float, idle: bool) -> Job | None:
        if run.waits_for is None:
            if idle and run.so_far is not None:
                self._next_slice(run, run.so_far, now)
            return None
        if not self._tasks.wait([run.waits_for]):
            if now > run.deadline:
                self._tasks.cancel(run.waits_for)
            return None
        try:
            answer = self._tasks.result(run.waits_for)
        except Exception as error:  # noqa: BLE001 - any failure of a task is shown to readers, and solves continue
            return self._failed(run, error, now)
        run.waits_for = None
        return self._take_in(run, answer, now)

    def _take_in(self, run: _Run, answer: Any, now: float) -> Job | None:
        """Take the result of a task: the facts from the first task, or the sample of a slice."""
        if run.so_far is None:
            run.so_far = intervals.Replication(answer, run.board.result, self._settings.interval_seconds)
            return None
        run.so_far.add(answer)
        self.replicates[run.job.method] += len(answer.ratings)
        if not run.so_far.done:
            return None
        told, rows = intervals.measured(run.so_far)
        return self._end(run, now, told, rows)

    def _next_slice(self, run: _Run, so_far: intervals.Replication, now: float) -> None:
        seed = intervals.seed_of(run.entry.pool, run.board.position, run.job.method)
        limits = min(_SLICE_SECONDS, so_far.left), self._settings.solve_memory_bytes
        run.waits_for = self._tasks.start(_SLICE, run.job.method, run.prepared, seed, *so_far.next, *limits)
        run.since, run.deadline = now, now + self._settings.solve_deadline_seconds

    def _failed(self, run: _Run, cause: Exception, now: float) -> Job | None:
        """End the computation after an error, and keep the reason for readers.

        If the checkpoint could not be read, no reason is kept. In this case, and if the process of the task was lost, the job is tried
        again: after a pause, and after all other candidates.
        """
        last = self._tried.get(run.job)
        losses = 1 + (last.losses if last is not None and last.solve == run.board.solve else 0)
        if isinstance(cause, BadObject | OSError):
            self._rest(run, now, losses)
            return None
        overdue = f"a refit did not end within {self._settings.solve_deadline_seconds:g} s and was cancelled"
        why = overdue if now > run.deadline else failure_text(cause)
        log.info("no intervals: %s", why, extra={**run.job._asdict(), "position": run.board.position})
        lost = isinstance(cause, TaskLost) and why != overdue
        return self._end(run, now, Intervals(kind="none", why_not=why), {}, losses if lost else 0)

    def _end(self, run: _Run, now: float, told: Intervals, rows: dict[str, intervals.Ends], losses: int = 0) -> Job:
        """Keep the intervals in memory and begin the pause. They are also kept in a file unless the try was lost: a restart tries again."""
        found = IntervalFile(
            pool=run.job.pool,
            method=run.job.method,
            log=self._log,
            generation=run.board.generation,
            data=run.board.data,
            parameters=run.board.parameters,
            solved_at=run.board.solved_at,
            told=msgspec.structs.replace(told, position=run.board.position),
            rows=rows,
        )
        self._found[run.job] = found
        self._rest(run, now, losses)
        try:
            if not losses:
                self._checkpoints.blobs.write(f"{_folder(run.job)}/newest.json", [msgspec.json.encode(found)])
        except OSError as error:
            log.warning("intervals were not written: %s", error, extra=run.job._asdict())
        return run.job

    def _rest(self, run: _Run, now: float, losses: int = 0) -> None:
        """Nothing of `run` is under way any more."""
        self._tried[run.job] = Redrawn(run.board.solve, now, losses)
        self._run, self._ended, self._spent = None, now, run.spent(now)

    def _load(self) -> None:
        """Load the intervals that were computed from this log before a restart."""
        for name in self._checkpoints.blobs.tree(_FOLDER):
            try:
                found = msgspec.json.decode(self._checkpoints.blobs.read(name), type=IntervalFile)
            except (msgspec.DecodeError, UnicodeDecodeError, FileNotFoundError):
                continue  # incomplete after a crash, damaged, or of another version: it is computed again
            if found.log == self._log:
                job = Job(found.pool, found.method)
                self._found[job] = found
                self._tried[job] = Redrawn(found.solve, float("-inf"))


def _wants(board: SolvedBoard, entry: PoolEntry) -> bool:
    """Whether a board needs intervals: it has rows and no error, is of the checkpointed data, and its method computed no intervals."""
    plain = not isinstance(board.result.intervals, Intervals) and bool(board.result.agents)
    return plain and board.error is None and (board.generation, board.data) == (entry.generation, entry.digest)


def _folder(job: Job) -> str:
    return f"{_FOLDER}/{job.pool}/{job.method}"
