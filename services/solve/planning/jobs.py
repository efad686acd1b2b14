"""Jobs of the scheduler, and the lifecycle that every job goes through."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from services.boards.store.protocol import INSIGHT
from services.runtime.lifecycle import Lifecycle

Parameters: TypeAlias = Mapping[str, float | str | bool]


class Job(NamedTuple):
    """One method, or insight, on one pool."""

    pool: str
    method: str

    @property
    def is_insight(self) -> bool:
        """Whether the job is insight, which keeps no history. It reads the pool's boards, so it waits while they are solved."""
        return self.method == INSIGHT


class JobStatus(StrEnum):
    """Status of a job. The metric `equirank_solve_jobs` counts jobs by these words."""

    IDLE = "idle"
    """Not due: no try has ended since the start; or the job waited and is not due any more, because its pool stopped, readers left its
    generation, or its data equal those of the newest try again."""
    WAITING = "waiting"
    """Due; no worker is free yet."""
    RUNNING = "running"
    """A worker computes it."""
    SOLVED = "solved"
    """The newest try gave a result."""
    NOT_APPLICABLE = "not_applicable"
    """The pool's content is not what the method needs."""
    FAILED = "failed"
    """The newest try failed or passed its deadline; it is tried again when the data or the parameters change."""
    LOST = "lost"
    """The process of the newest try died, or its checkpoint was replaced or could not be read; it is tried again on the same data."""


_RESTING: Final = (JobStatus.IDLE, JobStatus.SOLVED, JobStatus.NOT_APPLICABLE, JobStatus.FAILED, JobStatus.LOST)
_FOLLOWING: Final = {
    **dict.fromkeys(_RESTING, (JobStatus.WAITING,)),
    JobStatus.WAITING: (JobStatus.IDLE, JobStatus.RUNNING),
    JobStatus.RUNNING: (JobStatus.SOLVED, JobStatus.NOT_APPLICABLE, JobStatus.FAILED, JobStatus.LOST),
}
JOB_LIFECYCLE: Final = Lifecycle("solve job", JobStatus.IDLE, {(one, to): to for one, following in _FOLLOWING.items() for to in following})
"""Each event of a job has the name of the status that it leads to."""
