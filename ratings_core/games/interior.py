"""The central path of a zero-sum game: a primal-dual interior point method without crossover.

A strategy x and its slacks s stay strictly positive and exactly consistent. The uniform strategy with a sufficiently low value is a
feasible start. Therefore only the duality gap has to converge. The limit of the path is strictly complementary: each strategy ends with
either probability or slack, which identifies the largest optimal support (Goldman and Tucker 1956; Gueler and Ye 1993). Steps are
Mehrotra's predictor-corrector (SIAM J. Optim. 2, 1992).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
import scipy

from ratings_core.deadline import NEVER, Deadline
from ratings_core.solution import Floats

Direction: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""Maps a wanted change of x * s, entry by entry, to changes of x and s that keep the point feasible."""

SMALLEST_STEP: Final = 1e-9
"""Shorter steps have stalled: rounding determines their direction."""


@dataclass(frozen=True, slots=True)
class PathPoint:
    """A feasible point. strategy, slack: positive, one entry per pure strategy; gap: strategy @ slack, 0 at an equilibrium."""

    strategy: Floats
    slack: Floats
    gap: float
    iterations: int


class PathGame(Protocol):
    """The operations of a game that `central_path` needs."""

    def start(self) -> tuple[Floats, Floats]:
        """A strictly feasible strategy and its slacks."""

    def newton(self, strategy: Floats, slack: Floats) -> Direction:
        """Factor the Newton system at a point; the result solves it for any wanted change."""


class SymmetricPath:
    """A symmetric game: find p with M'p >= 0. The slack is M'p + t; the free variable t falls to 0 and keeps sum(p) = 1."""

    def __init__(self, margins: Floats) -> None:
        self._transposed = np.ascontiguousarray(margins.T)

    def start(self) -> tuple[Floats, Floats]:
        """The uniform strategy, with t large enough for every slack to be positive."""
        m = len(self._transposed)
        expected = self._transposed.mean(axis=1)
        return np.full(m, 1 / m), expected + (2 * float(np.abs(expected).max()) + 1e-3)

    def newton(self, strategy: Floats, slack: Floats) -> Direction:
        """As `PathGame.newton`; one border column keeps the sum of the strategy at 1."""
        system = self._transposed.copy(order="F")
        system[np.diag_indices_from(system)] += slack / strategy
        factors = scipy.linalg.lu_factor(system, overwrite_a=True, check_finite=False)
        border = scipy.linalg.lu_solve(factors, np.ones(len(slack)), check_finite=False)

        def direction(change: Floats) -> tuple[Floats, Floats]:
            free = scipy.linalg.lu_solve(factors, change / strategy, check_finite=False)
            step = free - (free.sum() / border.sum()) * border
            return step, (change - slack * step) / strategy

        return direction


class MatrixPath:
    """A game of rows (maximising) against columns; strategies are stacked, rows first, and so are slacks.

    Each side's value is a free variable that keeps the side's sum at 1. A smaller system without the larger side was tried: it stalls at
    gaps of 1e-9 on degenerate games, which is too early to read off the supports.
    """

    def __init__(self, payoffs: Floats) -> None:
        r, c = payoffs.shape
        self._payoffs = payoffs
        self._system = np.block([[np.zeros((r, r)), -payoffs], [payoffs.T, np.zeros((c, c))]])
        self._borders = np.repeat([[1.0, 0.0], [0.0, -1.0]], [r, c], axis=0)

    def start(self) -> tuple[Floats, Floats]:
        """Both uniform strategies, with the two values far enough apart for every slack to be positive."""
        r, c = self._payoffs.shape
        for_row, for_column = self._payoffs.mean(axis=1), self._payoffs.mean(axis=0)
        strategy = np.concatenate([np.full(r, 1 / r), np.full(c, 1 / c)])
        margin = float(np.ptp(for_row) + np.ptp(for_column)) + 1e-3
        return strategy, np.concatenate([for_row.max() - for_row, for_column - for_column.min()]) + margin

    def newton(self, strategy: Floats, slack: Floats) -> Direction:
        """As `PathGame.newton`; two border columns keep the sums of both strategies at 1."""
        system = self._system.copy(order="F")
        system[np.diag_indices_from(system)] = slack / strategy
        factors = scipy.linalg.lu_factor(system, overwrite_a=True, check_finite=False)
        borders = scipy.linalg.lu_solve(factors, self._borders, check_finite=False)
        sums = self._borders.T @ borders

        def direction(change: Floats) -> tuple[Floats, Floats]:
            free = scipy.linalg.lu_solve(factors, change / strategy, check_finite=False)
            step = free - borders @ np.linalg.solve(sums, self._borders.T @ free)
            return step, (change - slack * step) / strategy

        return direction


def central_path(game: PathGame, *, gap: float, max_iterations: int, deadline: Deadline = NEVER) -> Iterator[PathPoint]:
    """Points of falling duality gap. The path ends when the gap is at most `gap`, steps stall, or `max_iterations` or the deadline is
    reached.
    """
    strategy, slack = game.start()
    for iteration in range(max_iterations + 1):
        point = PathPoint(strategy, slack, float(strategy @ slack), iteration)
        yield point
        if point.gap <= gap or deadline.passed() or (moved := _advanced(game, strategy, slack)) is None:
            return
        strategy, slack = moved


def _advanced(game: PathGame, strategy: Floats, slack: Floats) -> tuple[Floats, Floats] | None:
    """The next point, or None if rounding prevents further progress."""
    try:
        direction = game.newton(strategy, slack)
        step, slack_step = _corrected(direction, strategy, slack)
    except scipy.linalg.LinAlgError:
        return None
    length = _reach(strategy, slack, step, slack_step)
    length = min(1.0, length * max(0.9, 1 - float(strategy @ slack)))
    if not (np.isfinite(step).all() and np.isfinite(slack_step).all()) or length < SMALLEST_STEP:
        return None
    return strategy + length * step, slack + length * slack_step


def _corrected(direction: Direction, strategy: Floats, slack: Floats) -> tuple[Floats, Floats]:
    mean = float(strategy @ slack) / len(strategy)
    step, slack_step = direction(-strategy * slack)
    length = min(1.0, _reach(strategy, slack, step, slack_step))
    predicted = float((strategy + length * step) @ (slack + length * slack_step)) / len(strategy)
    centre = mean * (max(predicted, 0.0) / mean) ** 3
    return direction(centre - strategy * slack - step * slack_step)


def _reach(strategy: Floats, slack: Floats, step: Floats, slack_step: Floats) -> float:
    """The largest multiple of the steps that keeps strategy and slack positive."""
    fastest = max(float(np.max(-step / strategy)), float(np.max(-slack_step / slack)))
    return 1 / fastest if fastest > 0 else np.inf
