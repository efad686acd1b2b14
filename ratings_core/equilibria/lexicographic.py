"""Lexicographically least deviation gains: minimise the largest gain, then the next largest, until all gains are fixed.

This is Algorithm 1 of Marris et al., by column generation. Rows (deviations) are few and joints are many. So a level's program is solved on
the joints added so far, and joints of least weighted gains are added until no joint improves the optimum. Rows with a positive multiplier
have the same gain in every optimum, and exactly those are frozen. An overlooked row costs another round; a row frozen by mistake would make
the answer wrong. Joints of equal gains share a column: any split of its probability among them has the same gains, and the first joint
represents them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import NEVER, Deadline
from ratings_core.equilibria.master import Master, MasterPoint
from ratings_core.games.gain_matrix import GainMatrix
from ratings_core.games.symmetry import DIGITS
from ratings_core.solution import Floats

BATCH: Final = 50
"""Joints added per round; 20 to 100 cost about the same."""
EXACT: Final = 1e-12
"""Smaller gaps are rounding errors."""
LOOSE: Final = 1e-8
"""A level that ends with a larger gap is solved again from a cold start."""
POSITIVE: Final = 1e-6
"""Multipliers above this are positive. They sum to 1 over the open rows, so at least one row has a larger multiplier."""
SLACK: Final = 1e-9
"""Rows whose gain is below the level by more than this are not frozen at it, regardless of their multiplier."""


@dataclass(frozen=True, slots=True)
class LeastGains:
    """gains: (rows,); errors: (rows,), bound on the error of each gain, to first order; ids, probability: the joints of the final
    distribution and their probabilities; used: joints with positive probability at any level's optimum; complete: True if every row was
    fixed before the limit.
    """

    gains: Floats
    errors: Floats
    ids: NDArray[np.int64]
    probability: Floats
    used: NDArray[np.int64]
    complete: bool
    stats: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Level:
    """The optimum of a level: its value t and a bound on the error of t."""

    point: MasterPoint
    value: float
    error: float


def least_gains(matrix: GainMatrix, *, max_solves: int, start: NDArray[np.int64] | None = None, deadline: Deadline = NEVER) -> LeastGains:
    """The lexicographically least gains of `matrix`, whose entries are within +-1, and a distribution that has them.

    max_solves: limit of solves of the master program; deadline: checked after each solve. If one of them ends the search, the remaining
    rows have the gains of the last distribution. start: joints that a similar matrix needed. Raises `SolverError` if a program cannot be
    solved.
    """
    return _Search(matrix, max_solves, np.zeros(0, np.int64) if start is None else start, deadline).run()


class _Columns:
    """The joints in the master program, a column each. ids: in the master's order; duplicates: number of joints with the gains of another
    one.
    """

    def __init__(self, matrix: GainMatrix) -> None:
        self.matrix, self.master = matrix, Master(matrix.rows)
        self.ids = np.zeros(0, np.int64)
        self.duplicates = 0
        self._seen: set[bytes] = set()

    def add(self, ids: NDArray[np.int64]) -> bool:
        """Add joints and return whether any joint was new, with an id and gains that no earlier joint has."""
        asked = ids[~np.isin(ids, self.ids)]
        columns = self.matrix.columns(asked)
        unlike = self._unlike(columns)
        if unlike.any():
            self.master.add(columns[:, unlike])
            self.ids = np.append(self.ids, asked[unlike])
        return bool(unlike.any())

    def _unlike(self, columns: Floats) -> NDArray[np.bool_]:
        """Mask of columns that differ from all columns seen before, including earlier ones of this call."""
        fresh = []
        for column in np.round(columns.T, DIGITS) + 0.0:  # turns -0 into 0
            fresh.append((key := column.tobytes()) not in self._seen)
            self._seen.add(key)
        self.duplicates += fresh.count(False)
        return np.array(fresh, bool)


class _Errors:
    """Bounds on the errors of levels' values.

    level_of: level at which a row was frozen, -1 before; gaps: of the levels so far; _effect[k, j]: effect of an error in level j's program
    on the value of level k.
    """

    def __init__(self, rows: int) -> None:
        self.level_of = np.full(rows, -1)
        self.gaps: list[float] = []
        self._effect = np.zeros((0, 0))

    def account(self, gap: float, multipliers: Floats, rows: NDArray[np.int64]) -> None:
        """Add a level, at which `rows` are frozen. multipliers: of all rows at its optimum.

        A multiplier is minus the derivative of the level's value with respect to its row's bound. So errors of earlier levels enter with
        their signs and mostly cancel. A sum of absolute errors would overstate the error a thousandfold.
        """
        frozen, k = self.level_of >= 0, len(self.gaps)
        slopes = np.bincount(self.level_of[frozen], multipliers[frozen], minlength=k)
        effect = np.zeros((k + 1, k + 1))
        effect[:k, :k], effect[k, :k], effect[k, k] = self._effect, -slopes @ self._effect, 1.0
        self._effect = effect
        self.level_of[rows] = k
        self.gaps.append(gap)

    def by_row(self) -> Floats:
        """Error of each frozen row's gain; for open rows, the error of the last level."""
        return np.asarray((np.abs(self._effect) @ np.array(self.gaps))[self.level_of], np.float64)


class _Search:
    """Solves the levels one after another. used: joints with positive probability at any level's optimum; solves, iterations, cold: counts
    of the master program.
    """

    def __init__(self, matrix: GainMatrix, max_solves: int, start: NDArray[np.int64], deadline: Deadline) -> None:
        self.matrix, self.max_solves, self.deadline = matrix, max_solves, deadline
        self.columns, self.errors = _Columns(matrix), _Errors(matrix.rows)
        self.master = self.columns.master
        self.solves = self.iterations = self.cold = 0
        self.used: set[int] = set()
        self.columns.add(matrix.least(np.full(matrix.rows, 1.0 / matrix.rows), BATCH)[0] if not len(start) else start)

    def run(self) -> LeastGains:
        level = self._level()
        while self._freeze(level) and not self._over():
            level = self._level()
        return self._result(level)

    def _over(self) -> bool:
        return self.solves >= self.max_solves or self.deadline.passed()

    def _level(self) -> _Level:
        level = self._warm_level()
        if level.error <= LOOSE or self._over():
            return level
        self.cold += 1
        self.master.forget()
        return min(level, self._warm_level(), key=lambda one: one.error)

    def _warm_level(self) -> _Level:
        while True:
            point = self._solved()
            ids, weighted = self.matrix.least(point.multipliers, BATCH)
            level = self._priced(point, float(weighted[0]))
            enough = level.error <= EXACT or self._over()
            if enough or not self.columns.add(ids[weighted < self._reached(level) - EXACT]):
                return level

    def _solved(self) -> MasterPoint:
        point = self.master.solve()
        self.solves += 1
        self.iterations += point.iterations
        return point

    def _priced(self, point: MasterPoint, least: float) -> _Level:
        """The level with its error. least: minimum of multipliers @ column over all joints, which bounds the level's value from below (weak
        duality).
        """
        frozen = ~self.master.open
        paid = point.multipliers[frozen]
        value = float(point.gains[~frozen].max())
        below = least - float(paid @ self.master.bounds[frozen])
        beyond = float(paid @ np.maximum(point.gains[frozen] - self.master.bounds[frozen], 0.0))
        return _Level(point, value, max(0.0, value - below) + beyond)

    def _reached(self, level: _Level) -> float:
        """Value of multipliers @ column for joints with positive probability; joints with lower values improve the program."""
        frozen = ~self.master.open
        return level.value + float(level.point.multipliers[frozen] @ self.master.bounds[frozen])

    def _freeze(self, level: _Level) -> bool:
        """Freeze the rows that the level determines, and return whether any row is still open."""
        self.used.update(self.columns.ids[: len(level.point.probability)][level.point.probability > 0].tolist())
        point, still = level.point, self.master.open
        tight = still & (point.multipliers > POSITIVE) & (point.gains >= level.value - SLACK)
        rows = np.flatnonzero(tight) if tight.any() else np.array([np.argmax(np.where(still, point.multipliers, -1.0))])
        self.errors.account(level.error + float((level.value - point.gains[rows]).max()), point.multipliers, rows)
        self.master.freeze(rows, level.value, point)
        return bool(self.master.open.any())

    def _result(self, level: _Level) -> LeastGains:
        still, point = self.master.open, level.point
        played = point.probability > 0
        # gains of open rows lie between the level's value and the least gain of any joint (Marris et al., property 3)
        errors = np.where(still, 1.0 + np.abs(level.value), self.errors.by_row())
        return LeastGains(
            gains=np.where(still, point.gains, self.master.bounds),
            errors=errors,
            ids=self.columns.ids[: len(played)][played],
            probability=point.probability[played],
            used=np.array(sorted(self.used), np.int64),
            complete=not still.any(),
            stats={
                "levels": len(self.errors.gaps),
                "solves": self.solves,
                "iterations": self.iterations,
                "columns": len(self.columns.ids),
                "duplicate_joints": self.columns.duplicates,
                "cold_starts": self.cold,
            },
        )
