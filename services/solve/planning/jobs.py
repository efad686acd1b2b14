"""Jobs of the scheduler: their kinds, and the lifecycle that every job goes through."""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Final, NamedTuple, TypeAlias

from services.boards.store.protocol import INSIGHT
from services.runtime.lifecycle import Lifecycle

Parameters: TypeAlias = Mapping[str, float | str | bool]


class JobKind(Enum):
    """What a job computes."""

    METHOD = "method"
    """A board, by one method of the registry."""
    INSIGHT = "insight"
    """The report on what ratings alone do not show. It reads the pool's boards, so it runs after them."""

    @property
    def keeps_history(self) -> bool:
        """Whether earlier results stay readable."""
        return self is JobKind.METHOD

    @property
    def reads_boards(self) -> bool:
        """Whether the job waits while boards of its pool are solved."""
        return self is JobKind.INSIGHT


class Job(NamedTuple):
    """One method, or insight, on one pool."""

    pool: str
    method: str

    @property
    def kind(self) -> JobKind:
        """What the job computes."""
        return JobKind.INSIGHT if self.method == INSIGHT else JobKind.METHOD


class JobStatus(StrEnum):
    """Status of a job. The metric `equirank_solve_jobs` counts jobs by these words."""

    IDLE = "idle"
    """Not due: no try has ended since the start, or the job was withdrawn while it waited."""
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


class JobEvent(StrEnum):
    """What happens to a job."""

    DUE = "due"
    WITHDRAWN = "withdrawn"
    """The job is not due any more: its pool stopped, readers left its generation, or its data equal those of the newest try again."""
    STARTED = "started"
    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    FAILED = "failed"
    LOST = "lost"


_RESTING: Final = (JobStatus.IDLE, JobStatus.SOLVED, JobStatus.NOT_APPLICABLE, JobStatus.FAILED, JobStatus.LOST)
JOB_LIFECYCLE: Final = Lifecycle(
    "solve job",
    JobStatus.IDLE,
    {
        **{(status, JobEvent.DUE): JobStatus.WAITING for status in _RESTING},
        (JobStatus.WAITING, JobEvent.WITHDRAWN): JobStatus.IDLE,
        (JobStatus.WAITING, JobEvent.STARTED): JobStatus.RUNNING,
        (JobStatus.RUNNING, JobEvent.SUCCEEDED): JobStatus.SOLVED,
        (JobStatus.RUNNING, JobEvent.REFUSED): JobStatus.NOT_APPLICABLE,
        (JobStatus.RUNNING, JobEvent.FAILED): JobStatus.FAILED,
        (JobStatus.RUNNING, JobEvent.LOST): JobStatus.LOST,
    },
)
