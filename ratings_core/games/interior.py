"""The central path of a zero-sum game: a primal-dual interior point method without crossover.

A strategy x and its slacks s are kept strictly positive and exactly consistent (the uniform strategy with a value lowered far
enough is a feasible start), so the duality gap is x's and nothing else has to converge. The limit of the path is strictly
complementary: each strategy ends either with probability or with slack, which tells the largest optimal support apart
(Goldman and Tucker 1956; Gueler and Ye 1993). Steps are Mehrotra's predictor-corrector (SIAM J. Optim. 2, 1992).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, lu_factor, lu_solve

from ratings_core.deadline import NEVER, Deadline
from ratings_core.solution import Floats

Direction: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""From the wanted change of x * s, entry by entry, to the changes of x and s that keep the point feasible."""

SMALLEST_STEP: Final = 1e-9
"""A step shorter than this has stalled: rounding, not the path, decides its direction."""


@dataclass(frozen=True, slots=True)
class PathPoint:
    """A feasible point. strategy, slack: positive, one entry per pure strategy; gap: their product, 0 at an equilibrium."""

    strategy: Floats
    slack: Floats
    gap: float
    iterations: int


class PathGame(Protocol):
    """A game as the path sees it."""

    def start(self) -> tuple[Floats, Floats]:
        """A strictly feasible strategy and its slacks."""

    def newton(self, strategy: Floats, slack: Floats) -> Direction:
        """The system of one point, factored."""


class SymmetricPath:
    """A symmetric game: find p with M'p >= 0. Slack is M'p + t, where t falls to 0 and keeps sum(p) = 1 by itself."""

    def __init__(self, margins: Floats) -> None:
        self._transposed = np.ascontiguousarray(margins.T)

    def start(self) -> tuple[Floats, Floats]:
        """The even strategy, with t large enough for every slack to be positive."""
        m = len(self._transposed)
        expected = self._transposed.mean(axis=1)
        return np.full(m, 1 / m), expected + (2 * float(np.abs(expected).max()) + 1e-3)

    def newton(self, strategy: Floats, slack: Floats) -> Direction:
        """As `PathGame.newton`; one border keeps the sum."""
        system = self._transposed.copy(order="F")
        system[np.diag_indices_from(system)] += slack / strategy
        factors = lu_factor(system, overwrite_a=True, check_finite=False)
        border = lu_solve(factors, np.ones(len(slack)), check_finite=False)

        def direction(change: Floats) -> tuple[Floats, Floats]:
            free = lu_solve(factors, change / strategy, check_finite=False)
            step = free - (free.sum() / border.sum()) * border
            return step, (change - slack * step) / strategy

        return direction


class MatrixPath:
    """A game of rows (maximising) against columns; strategies are stacked, rows first, and so are slacks.

    Both values move freely and keep each side's sum at 1. The smaller system left by eliminating the larger side was tried and
    stalls at gaps of 1e-9 on degenerate games, too early to read the supports off.
    """

    def __init__(self, payoffs: Floats) -> None:
        r, c = payoffs.shape
        self._payoffs = payoffs
        self._system = np.block([[np.zeros((r, r)), -payoffs], [payoffs.T, np.zeros((c, c))]])
        self._borders = np.repeat([[1.0, 0.0], [0.0, -1.0]], [r, c], axis=0)

    def start(self) -> tuple[Floats, Floats]:
        """Both even strategies, with the values apart enough for every slack to be positive."""
        r, c = self._payoffs.shape
        for_row, for_column = self._payoffs.mean(axis=1), self._payoffs.mean(axis=0)
        strategy = np.concatenate([np.full(r, 1 / r), np.full(c, 1 / c)])
        margin = float(np.ptp(for_row) + np.ptp(for_column)) + 1e-3
        return strategy, np.concatenate([for_row.max() - for_row, for_column - for_column.min()]) + margin

    def newton(self, strategy: Floats, slack: Floats) -> Direction:
        """As `PathGame.newton`; two borders keep the sums."""
        system = self._system.copy(order="F")
        system[np.diag_indices_from(system)] = slack / strategy
        factors = lu_factor(system, overwrite_a=True, check_finite=False)
        borders = lu_solve(factors, self._borders, check_finite=False)
        sums = self._borders.T @ borders

        def direction(change: Floats) -> tuple[Floats, Floats]:
            free = lu_solve(factors, change / strategy, check_finite=False)
            step = free - borders @ np.linalg.solve(sums, self._borders.T @ free)
            return step, (change - slack * step) / strategy

        return direction


def central_path(game: PathGame, *, gap: float, max_iterations: int, deadline: Deadline = NEVER) -> Iterator[PathPoint]:
    """Points of falling duality gap, until one is at most `gap`, the steps stall, `max_iterations` were made or the deadline passed."""
    strategy, slack = game.start()
    for iteration in range(max_iterations + 1):
        point = PathPoint(strategy, slack, float(strategy @ slack), iteration)
        yield point
        if point.gap <= gap or deadline.passed() or (moved := _advanced(game, strategy, slack)) is None:
            return
        strategy, slack = moved


def _advanced(game: PathGame, strategy: Floats, slack: Floats) -> tuple[Floats, Floats] | None:
    """The next point, or None where the arithmetic allows no further progress."""
    try:
        direction = game.newton(strategy, slack)
        step, slack_step = _corrected(direction, strategy, slack)
    except LinAlgError:
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
    """How many such steps keep both positive."""
    fastest = max(float(np.max(-step / strategy)), float(np.max(-slack_step / slack)))
    return 1 / fastest if fastest > 0 else np.inf
