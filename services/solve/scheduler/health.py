"""The state of solves as the engine's metrics show it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from services.boards.result import SolvedBoard
from services.solve.planning.jobs import Job


@dataclass(frozen=True, slots=True)
class SolveHealth:
    """The state of solves at one moment. It is a copy, so it can be read while solves run.

    Attributes:
        running: Solves under way.
        jobs: Jobs by status, in the words of `services.solve.planning.jobs.JobStatus`.
        ended: Tries by (method, status).
        seconds: Seconds spent solving, by method.
        waiting: Due solves without a worker, by method.
        longest_wait: Longest wait of a due solve in seconds, by method.
        outdated: Seconds since the next solve of the most outdated board became due, by method. A board is outdated until readers see
            the result of that solve: while it waits or runs, after it failed, and while the store has not taken it.
        unpublished: Boards that the store has not taken yet, by method.
        certificates: Largest certificate on the boards, by method.
        replicates: Replicates solved for intervals, by method.
        erasing: Boards whose results are still to be searched for erased names.
        unconnected: Pools with agents that never met the others, as their newest insight reports.
        thinly_led: Pools led by weakly connected agents, as their newest insight reports.
    """

    running: int = 0
    jobs: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[tuple[str, str], int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    longest_wait: Mapping[str, float] = field(default_factory=dict)
    outdated: Mapping[str, float] = field(default_factory=dict)
    unpublished: Mapping[str, int] = field(default_factory=dict)
    certificates: Mapping[str, float] = field(default_factory=dict)
    unconnected: int = 0
    thinly_led: int = 0
    replicates: Mapping[str, float] = field(default_factory=dict)
    erasing: int = 0


def largest(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The largest value of each method."""
    maxima: dict[str, float] = {}
    for method, value in values:
        maxima[method] = max(value, maxima.get(method, value))
    return maxima


def certificates(boards: Mapping[Job, SolvedBoard]) -> dict[str, float]:
    """Largest certificate of each method's boards."""
    proven = ((job.method, board.result.certificate.value) for job, board in boards.items())
    return largest((method, value) for method, value in proven if value is not None)
