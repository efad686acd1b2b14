"""Tries under way: started on the task pool, bounded by a deadline, and taken in when they end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.methods import registry
from services.checkpoints.checkpoint import PoolEntry
from services.checkpoints.objects import BadObject
from services.solve.intervals.tasks import add_and_publish
from services.solve.planning.jobs import Job, JobEvent, Parameters
from services.solve.worker.task_pool import Task, TaskLost, TaskPool, TaskType, failure_text
from services.solve.worker.tasks import Delivery, Destination, solve_and_publish

_SOLVE: Final = TaskType(solve_and_publish, restarts=1)
_INTERVALS: Final = TaskType(add_and_publish)


@dataclass(frozen=True, slots=True)
class Flight:
    """A running try.

    Attributes:
        job: Its job.
        entry: The checkpoint that it reads.
        parameters: Parameters of the solve.
        deadline: When it is cancelled, in seconds of the scheduler's timer.
        need: Bytes of memory that it is expected to take.
    """

    job: Job
    entry: PoolEntry
    parameters: dict[str, float | str | bool]
    deadline: float
    need: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A try that ended: with a result that was delivered, or without a result for the reason `why`."""

    flight: Flight
    event: JobEvent
    delivery: Delivery | None = None
    why: str = ""
    unreadable: bool = False
    """Whether the checkpoint's object could not be read."""


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """Limits for all running solves together.

    Attributes:
        workers: Number of solves at once.
        memory_bytes: Memory of all solves together; None for no limit.
        solve_memory_bytes: Memory of one solve.
    """

    workers: int
    memory_bytes: int | None
    solve_memory_bytes: int

    def admit(self, need: int, running: Sequence[int]) -> bool:
        """Whether one more solve may start. A solve always fits when nothing else runs: its own memory limit bounds it.

        Args:
            need: Bytes that it is expected to take.
            running: Bytes that the solves under way are expected to take, one number each.
        """
        if len(running) >= self.workers:
            return False
        return not running or self.memory_bytes is None or sum(running) + need <= self.memory_bytes


class Flights:
    """The running tries.

    Args:
        tasks: Where they run.
        checkpoints_url: Address of the checkpoints.
        destination: Where they write and publish; its sequence is replaced.
        deadline_seconds: Time after which a try is cancelled.
        limits: Limits for all of them together.
    """

    def __init__(
        self, tasks: TaskPool, checkpoints_url: str, destination: Destination, deadline_seconds: float, limits: TaskLimits
    ) -> None:
        self._tasks, self._url, self._destination = tasks, checkpoints_url, destination
        self._deadline_seconds, self.limits = deadline_seconds, limits
        self._flights: dict[Task, Flight] = {}

    def __len__(self) -> int:
        """Number of running tries."""
        return len(self._flights)

    @property
    def jobs(self) -> list[Job]:
        """The jobs of the running tries."""
        return [flight.job for flight in self._flights.values()]

    def read_before(self, pool: str, generation: int) -> bool:
        """Whether a running try reads a checkpoint of the pool of an earlier generation."""
        return any(flight.job.pool == pool and flight.entry.generation < generation for flight in self._flights.values())

    def fits(self, need: int) -> bool:
        """Whether a try that is expected to take `need` bytes may start in addition to the running tries."""
        return self.limits.admit(need, [flight.need for flight in self._flights.values()])

    def start(self, job: Job, entry: PoolEntry, parameters: Parameters, previous: str | None, sequence: int, need: int, now: float) -> None:
        """Start a try. previous: the file of the newest result. sequence: number of the solve."""
        to = msgspec.json.encode(msgspec.structs.replace(self._destination, sequence=sequence))
        arguments = self._url, msgspec.json.encode(entry), job.method, dict(parameters), self.limits.solve_memory_bytes, previous, to
        task = self._tasks.start(_INTERVALS if job.intervals else _SOLVE, *arguments)
        self._flights[task] = Flight(job, entry, dict(parameters), now + self._deadline_seconds, need)

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for a try to end."""
        self._tasks.wait(self._flights, seconds)

    def ended(self, now: float) -> list[Ended]:
        """The tries that ended since the last call. Those past their deadline are cancelled; they end soon after."""
        ended = [self._result(task, self._flights.pop(task), now) for task in self._tasks.wait(self._flights)]
        for task, flight in self._flights.items():
            if now > flight.deadline:
                self._tasks.cancel(task)
        return ended

    def cancel(self) -> None:
        """Cancel all running tries."""
        for task in self._flights:
            self._tasks.cancel(task)

    def _result(self, task: Task, flight: Flight, now: float) -> Ended:
        try:
            delivery = msgspec.json.decode(self._tasks.result(task), type=Delivery)
        except Exception as error:  # noqa: BLE001 - after any failure of a task, other jobs continue and readers see the reason
            return self._failure(flight, error, overdue=now > flight.deadline)
        # A superseded solve is tried again with a higher sequence; a newer engine, which may be the other writer, ends this one.
        return Ended(flight, JobEvent.LOST if delivery.superseded else JobEvent.SUCCEEDED, delivery)

    def _failure(self, flight: Flight, error: Exception, *, overdue: bool) -> Ended:
        if isinstance(error, InputError):
            # Parameters were checked when they were chosen, so the pool's content is not what the method needs.
            rule = error.rule if isinstance(error, registry.NotApplicable) else f"{error.argument} {error.rule}"
            return Ended(flight, JobEvent.REFUSED, why=rule)
        if isinstance(error, BadObject):
            return Ended(flight, JobEvent.LOST, why=failure_text(error), unreadable=True)
        if overdue:
            return Ended(flight, JobEvent.FAILED, why=f"the solve did not end within {self._deadline_seconds:g} s and was cancelled")
        passing = isinstance(error, TaskLost | OSError)  # OSError: of a file system or an object store; the same solve may succeed later
        return Ended(flight, JobEvent.LOST if passing else JobEvent.FAILED, why=failure_text(error))
