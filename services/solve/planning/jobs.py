"""Jobs of the scheduler, and the lifecycle that every job goes through."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from services.boards.slice_boards import is_sliced, method_of, part_of
from services.boards.store.protocol import INSIGHT
from services.runtime.lifecycle import Lifecycle

Parameters: TypeAlias = Mapping[str, float | str | bool]


class Job(NamedTuple):
    """One method, or insight, on one pool or slice. board: Name of the board. intervals: Whether the job adds intervals to the board."""

    pool: str
    board: str
    intervals: bool = False

    @property
    def method(self) -> str:
        """The method, or insight."""
        return method_of(self.board)

    @property
    def content(self) -> "ContentKey":
        """What the job works on."""
        return ContentKey(self.pool, part_of(self.board))

    @property
    def sliced(self) -> bool:
        """Whether the job works on a slice."""
        return is_sliced(self.board)

    @property
    def of_board(self) -> "Job":
        """The job that solves the board."""
        return self._replace(intervals=False)

    @property
    def is_insight(self) -> bool:
        """Whether the job is insight, which keeps no history."""
        return self.board == INSIGHT


class ContentKey(NamedTuple):
    """A pool, or one of its slices. part: `part_of` the names of the slice's boards; empty for the pool."""

    pool: str
    part: str = ""


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
