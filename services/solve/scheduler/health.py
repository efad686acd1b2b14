"""Where solves stand, by method: what the engine's metrics show of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from services.boards.result import SolvedBoard
from services.solve.planning.plan import Job


@dataclass(frozen=True, slots=True)
class SolveHealth:
    """A copy, safe to read while solves go on.

    ended: tries by (method, status); seconds: spent; waiting: due solves without a worker; longest_wait: seconds of the one that
    waits longest; outdated: seconds since the oldest board was solved that a try waits or runs to replace, whose newest try failed, or
    that readers see because the store has not taken the newer one; unpublished: boards that the store has not taken yet; unwritten: those
    whose file could not be written yet; certificates: largest on the boards; replicates: solved for intervals; each by method.
    unconnected, thinly_led: pools, as their newest insight finds.
    """

    running: int = 0
    ended: Mapping[tuple[str, str], int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    longest_wait: Mapping[str, float] = field(default_factory=dict)
    outdated: Mapping[str, float] = field(default_factory=dict)
    unpublished: Mapping[str, int] = field(default_factory=dict)
    unwritten: Mapping[str, int] = field(default_factory=dict)
    certificates: Mapping[str, float] = field(default_factory=dict)
    unconnected: int = 0
    thinly_led: int = 0
    replicates: Mapping[str, float] = field(default_factory=dict)


def largest(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The largest value of each method."""
    found: dict[str, float] = {}
    for method, value in values:
        found[method] = max(value, found.get(method, value))
    return found


def ages(boards: Mapping[Job, SolvedBoard], now: float) -> dict[str, float]:
    """Seconds since the oldest of `boards` was solved, by method. None is solved in the future, whatever a clock that was put back says."""
    return largest((job.method, max(0.0, now - board.solved_at)) for job, board in boards.items())


def certificates(boards: Mapping[Job, SolvedBoard]) -> dict[str, float]:
    """Largest certificate of each method's boards."""
    proven = ((job.method, board.result.certificate.value) for job, board in boards.items())
    return largest((method, value) for method, value in proven if value is not None)
