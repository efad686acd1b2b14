"""Copeland's rule and Condorcet winners, from margins."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import SolverError
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Solution, Status

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copeland(Solution):
    """ratings: Copeland's scores, the number of agents beaten plus half the number tied with, from 0 to m-1 in steps of 1/2.

    beaten, lost: int64 (m,), number of agents that each agent beats and loses to; tied: int64 (m,), number of all others, including those
    it never met; ranking: order of the scores, with ties.
    """

    beaten: Ints
    lost: Ints
    tied: Ints
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class CondorcetWinners:
    """strong: the agent that beats every other agent, or None; weak: all agents that lose to no agent, including the strong winner."""

    strong: int | None
    weak: tuple[int, ...]


def copeland(margins: Any, *, tie_tolerance: float = 0.0) -> Copeland:
    """Copeland's rule (VasE, app. C.2.5): one point for each other agent beaten head to head, half a point for each tied one.

    margins: (m, m), entry (a, b) is votes for a over b minus votes for b over a; a dense array or any scipy sparse array, which stays
    sparse. Absent entries and zeros are ties, so agents that never met tie. tie_tolerance: a margin of at most this absolute value is a
    tie. The rule is Condorcet consistent, but not clone consistent.

    The rule is exact. The certificate (kind ``exact``) compares points counted along rows and along columns, where an opponent's loss is a
    win. It is the largest difference in points and is always 0, because counts are whole numbers.
    Raises `InputError` unless margins are square, finite and exactly antisymmetric, `SolverError` if the two counts differ.
    """
    begun = time.perf_counter()
    matrix, tolerance = _accepted(margins, tie_tolerance)
    beaten, lost = _above(matrix, tolerance), _above(-matrix, tolerance)
    tied = len(beaten) - 1 - beaten - lost
    scores = beaten + tied / 2
    recounted = (_above(-matrix, tolerance, axis=0) - _above(matrix, tolerance, axis=0) + len(beaten) - 1) / 2
    difference = float(np.abs(scores - recounted).max())
    if difference != 0:
        raise SolverError(f"points counted by rows and by columns differ by {difference:g}; report this bug of the library or a dependency")
    return Copeland(
        ratings=scores,
        certificate=Certificate("exact", difference),
        status=Status.OPTIMAL,
        seconds=time.perf_counter() - begun,
        beaten=beaten,
        lost=lost,
        tied=tied,
        ranking=Ranking.from_scores(scores),
    )


def condorcet_winners(margins: Any, *, tie_tolerance: float = 0.0) -> CondorcetWinners:
    """Strong and weak Condorcet winners (VasE, sec. 3.1; SCO, sec. 2.3). Arguments and errors as for `copeland`.

    Pairs that never met tie. With sparse margins there may therefore be many weak winners, and a strong winner has met every other agent.
    """
    matrix, tolerance = _accepted(margins, tie_tolerance)
    beaten, lost = _above(matrix, tolerance), _above(-matrix, tolerance)
    strong = np.flatnonzero(beaten == len(beaten) - 1)
    weak = np.flatnonzero(lost == 0)
    return CondorcetWinners(int(strong[0]) if strong.size else None, tuple(weak.tolist()))


def _accepted(margins: Any, tie_tolerance: float) -> tuple[checks.Matrix, float]:
    accept = checks.sparse_antisymmetric if checks.is_sparse(margins) else checks.antisymmetric
    return accept("margins", margins), checks.number("tie_tolerance", tie_tolerance, low=0.0)


def _above(matrix: checks.Matrix, tolerance: float, axis: int = 1) -> Ints:
    """Number of entries above the tolerance in each row (axis 1) or column (axis 0)."""
    return np.asarray((matrix > tolerance).sum(axis=axis), np.int64)
