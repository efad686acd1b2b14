"""The options of all methods on zero-sum games, and the error for answers that miss the tolerance."""

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

from ratings_core.deadline import Deadline
from ratings_core.errors import SolverError
from ratings_core.games.clones import CloneClasses, clone_classes, singletons
from ratings_core.options import Options, option
from ratings_core.solution import Floats, Solution, Status

SolutionT = TypeVar("SolutionT", bound=Solution)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions(Options):
    """Options of every solve of a zero-sum game along the central path."""

    tolerance: float = option(1e-9, "largest exploitability called optimal", 1e-14, 1e-2)
    close: float = option(1e-6, "memberships of the support less clear than this are settled by a linear program", 0.0, 1e9)
    max_iterations: int = option(100, "of the interior point", 1, 10_000)
    max_seconds: float = option(math.inf, "of wall time, asked between steps; then the best so far is taken", 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroSumOptions(PathOptions):
    """Options of every method that rates by a zero-sum game."""

    merge: bool = option(True, "exact duplicates share one agent's probability")
    accept_approximate: bool = option(False, "an answer beyond the tolerance, with how far")


PathOptionsT = TypeVar("PathOptionsT", bound=PathOptions)
PathOptionsT_co = TypeVar("PathOptionsT_co", bound=PathOptions, covariant=True)


@dataclass(frozen=True, slots=True)
class Rules(Generic[PathOptionsT_co]):
    """Options of a solve, and its deadline, which counts from the start of the solve."""

    options: PathOptionsT_co
    deadline: Deadline


def begin(options: PathOptionsT) -> Rules[PathOptionsT]:
    """The rules of a solve that starts at this call."""
    return Rules(options, Deadline.within(options.max_seconds))


def classes_by(options: ZeroSumOptions, rows: Floats) -> CloneClasses:
    """Classes of equal rows; classes of one row each if nothing is merged."""
    return clone_classes(rows) if options.merge else singletons(len(rows))


def judged(found: SolutionT, options: ZeroSumOptions, what: str, data: str) -> SolutionT:
    """Return `found` if it is optimal or if approximate answers are accepted. what: name of the answer, data: its input, for the error's
    text.

    Raises `SolverError`, which carries `found`.
    """
    if found.status is Status.OPTIMAL or options.accept_approximate:
        return found
    raise SolverError(
        f"{what} does not reach tolerance {options.tolerance:g}: {_shortfall(found)}; "
        f"raise tolerance, max_iterations or max_seconds, rescale {data} of very different size, round them so that near copies become "
        "copies, or set accept_approximate",
        found,
    )


def _shortfall(solution: Solution) -> str:
    """The certificate of a solution, and its gaps, as text."""
    gaps = [f"{solution.certificate.kind} {solution.certificate.value:.3g}"]
    if "support_gap" in solution.stats:
        gaps += [f"support gap {solution.stats['support_gap']:.3g}", f"entropy gap {solution.stats['entropy_gap']:.3g} nats"]
    return ", ".join(gaps)
