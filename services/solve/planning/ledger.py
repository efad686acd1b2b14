"""The ledger of jobs: the status of each job, the time at which it became due, and the data of its newest try."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from services.solve.planning.jobs import JOB_LIFECYCLE, Job, JobEvent, JobStatus, Parameters

_ANSWERS: Final = frozenset({JobEvent.SUCCEEDED, JobEvent.REFUSED})
"""Ends of a try that answer it. A method that does not apply to its data is no failure."""


def data_of(generation: int, digest: str) -> str:
    """Identity of a pool's data. The generation is part of it because two generations may have equal digests."""
    return f"{generation}/{digest}"


class Given(NamedTuple):
    """What a try of a job works on.

    Attributes:
        data: Identity of the data (`data_of`). It changes exactly when the pool's generation or outcomes change.
        outcomes: Number of outcomes folded.
        parameters: Parameters of the job.
        reads_boards: Whether the job reads the boards of its pool. It then waits while they are solved.
    """

    data: str
    outcomes: int
    parameters: Parameters
    reads_boards: bool = False


@dataclass(slots=True)
class Entry:
    """One job in the ledger.

    Attributes:
        status: Its status.
        newest: What its newest try works on; None before the first try.
        started: When this try started, in seconds of the scheduler's timer; -inf for a try of an earlier run, which delays no new one.
        waiting_since: When it became due; None unless it waits.
        late_since: When it became due first since readers saw its newest answer; None if readers see the answer to its newest data, or if
            no try is due. Failed and lost tries are no answers.
        answered: Whether its newest try gave an answer, so that readers lack nothing once the answer is published.
        losses: Number of its newest tries that were lost in a row.
    """

    status: JobStatus = JOB_LIFECYCLE.start
    newest: Given | None = None
    started: float = float("-inf")
    waiting_since: float | None = None
    losses: int = 0
    late_since: float | None = None
    answered: bool = False

    def happened(self, event: JobEvent, waiting_since: float | None = None) -> None:
        """Move on in the lifecycle. Raises `UndefinedTransition`."""
        self.status, self.waiting_since = JOB_LIFECYCLE.after(self.status, event), waiting_since


class Ledger:
    """All jobs that are known. The planner reads it; the scheduler writes it."""

    def __init__(self, tried: Mapping[Job, Given] | None = None) -> None:
        """tried: Jobs with a result of an earlier run. They need no new try until their data change."""
        self._entries = {job: Entry(newest=newest) for job, newest in (tried or {}).items()}

    def newest(self, job: Job) -> Entry | None:
        """The entry of a job; None for one that was never due."""
        return self._entries.get(job)

    def queue(self, jobs: Iterable[Job], now: float) -> None:
        """Record which jobs are due. A job that was already waiting keeps its place; the others that waited are withdrawn."""
        due = set(jobs)
        for job in due:
            entry = self._entries.setdefault(job, Entry())
            if entry.status is not JobStatus.WAITING:
                entry.happened(JobEvent.DUE, now)
                entry.late_since = now if entry.late_since is None else entry.late_since
        for job, entry in self._entries.items():
            if entry.status is JobStatus.WAITING and job not in due:
                entry.happened(JobEvent.WITHDRAWN)
                entry.late_since = None

    def start(self, job: Job, given: Given, now: float) -> None:
        """Record that a waiting job starts."""
        entry = self._entries[job]
        entry.happened(JobEvent.STARTED)
        entry.newest, entry.started, entry.answered = given._replace(parameters=dict(given.parameters)), now, False

    def finish(self, job: Job, event: JobEvent) -> None:
        """Record how the running try of a job ended."""
        entry = self._entries[job]
        entry.happened(event)
        entry.losses = entry.losses + 1 if event is JobEvent.LOST else 0
        entry.answered = event in _ANSWERS

    def shown(self, job: Job) -> None:
        """Record that readers see the newest result of a job. If it answers the newest try, the job is late only if it is due again."""
        entry = self._entries[job]
        if entry.answered:
            entry.late_since = entry.waiting_since

    def late(self) -> dict[Job, float]:
        """Late job -> since when (`Entry.late_since`)."""
        return {job: entry.late_since for job, entry in self._entries.items() if entry.late_since is not None}

    def forget(self, job: Job) -> None:
        """Remove a job that is no longer needed. A running job stays; a call after its end removes it."""
        entry = self._entries.get(job)
        if entry is not None and entry.status is not JobStatus.RUNNING:
            del self._entries[job]

    def forget_ended(self, offered: Collection[Job]) -> None:
        """Remove jobs that are not offered any more, do not run and have no result of their own.

        These are intervals, whose board has them or another solve, and jobs that were never tried, as of a slice that vanished before.
        """
        ended = (job for job, entry in self._entries.items() if (job.intervals or entry.newest is None) and job not in offered)
        for job in list(ended):
            self.forget(job)

    def waiting(self) -> dict[Job, float]:
        """Waiting job -> when it became due."""
        return {job: entry.waiting_since for job, entry in self._entries.items() if entry.waiting_since is not None}

    def running(self) -> list[Job]:
        """Running jobs."""
        return [job for job, entry in self._entries.items() if entry.status is JobStatus.RUNNING]

    def statuses(self) -> dict[JobStatus, int]:
        """Number of jobs in each status, also where it is 0."""
        counts = Counter(entry.status for entry in self._entries.values())
        return {status: counts[status] for status in JobStatus}
