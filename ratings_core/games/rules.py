"""The arguments that all methods on zero-sum games take, checked in one place, and the error where an answer is not certain."""

from dataclasses import dataclass, field
from typing import TypeVar

from ratings_core import checks
from ratings_core.deadline import NEVER, Deadline
from ratings_core.errors import SolverError
from ratings_core.games.clones import CloneClasses, clone_classes, singletons
from ratings_core.solution import Floats, Solution, Status

SolutionT = TypeVar("SolutionT", bound=Solution)


@dataclass(frozen=True, slots=True)
class Limits:
    """tolerance: largest exploitability called optimal, > 0; close: interior-point memberships of the support less clear than this are
    settled by a linear program, >= 0; max_iterations: of the interior point, at least 1; deadline: asked between its steps. Raises
    `InputError`.
    """

    tolerance: float
    close: float
    max_iterations: int
    deadline: Deadline = field(default=NEVER, kw_only=True)

    def __post_init__(self) -> None:
        checks.number("tolerance", self.tolerance, above=0.0)
        checks.number("close", self.close, low=0.0)
        checks.count("max_iterations", self.max_iterations, low=1)


@dataclass(frozen=True, slots=True)
class Rules(Limits):
    """merge: exact duplicates are solved as one; accept_approximate: return what is beyond the tolerance instead of raising."""

    merge: bool
    accept_approximate: bool

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        checks.switch("merge", self.merge)
        checks.switch("accept_approximate", self.accept_approximate)

    def classes(self, rows: Floats) -> CloneClasses:
        """Classes of equal rows; classes of one row each if nothing is merged."""
        return clone_classes(rows) if self.merge else singletons(len(rows))

    def judged(self, found: SolutionT, what: str, data: str) -> SolutionT:
        """`found` where its status allows it. what: the method's answer, data: what it was made of, for the error's text.

        Raises `SolverError`, which carries `found`.
        """
        if found.status is Status.OPTIMAL or self.accept_approximate:
            return found
        raise SolverError(
            f"{what} is not certain to tolerance {self.tolerance:g}: {_shortfall(found)}; "
            f"raise tolerance, max_iterations or max_seconds, rescale {data} of very different size, or pass accept_approximate=True",
            found,
        )


def _shortfall(found: Solution) -> str:
    """What it was judged by."""
    gaps = [f"{found.certificate.kind} {found.certificate.value:.3g}"]
    if "support_gap" in found.stats:
        gaps += [f"support gap {found.stats['support_gap']:.3g}", f"entropy gap {found.stats['entropy_gap']:.3g} nats"]
    return ", ".join(gaps)
