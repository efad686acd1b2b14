"""Lexicographically least deviation gains in whole numbers, for games of few strategies: no tolerance decides which rows a level fixes.

Near copies of a strategy make rows nearly parallel. The values of levels then depend on the differences of payoffs divided by differences
of copies, and a row that is frozen at an error of 1e-12 can change later ratings by half of the payoffs' spread. Floating point cannot
bound this error, so small games are solved exactly.

One tableau serves all levels. A row with gains A s and slack w has A s + w = t, where t is the value of the last level. A level adds a
variable v, by which the slacks of all open rows exceed their new values, and maximises v by the simplex method. Columns of positive
reduced cost are 0 in every optimum, and are removed. A row whose slack is among them has the gain t - v in every optimum: it is frozen.
The entries are whole numbers over one common denominator (Edmonds; Bareiss), so they are exact. They are determinants of gains.
"""

from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import NEVER, Deadline
from ratings_core.equilibria.lexicographic import LeastGains
from ratings_core.games.gain_matrix import GainMatrix

Whole: TypeAlias = NDArray[np.object_]
"""Whole numbers of any length, in an array."""
GAIN: Final = 0
"""Label of a level's variable v. Joints have the labels 1, 2, ..., and slacks of rows -1, -2, ..."""


def least_gains_exactly(matrix: GainMatrix, whole: float, *, max_solves: int, deadline: Deadline = NEVER) -> LeastGains:
    """The lexicographically least gains of `matrix`, and a distribution that has them.

    whole: payoffs times this are whole numbers of at most 14 digits, up to rounding of float64, and the gains are exact for these;
    max_solves: limit of levels; deadline: checked before each pivot. If one of them ends the search, the remaining rows have the gains of
    the last distribution.
    """
    ids, every, scale = matrix.whole_gains(whole)
    gains, first = np.unique(every, axis=1, return_index=True)
    search = _Search(gains, deadline)
    while search.open.any() and search.levels < max_solves and search.next_level():
        pass
    return search.result(ids[first], scale, len(ids) - len(first))


class _Search:
    """The tableau: a row for each constraint, a column for each variable and one for the right-hand side.

    labels: of the columns; basis: label of each row's basic variable; denominator: of all entries; value: t, in the scale of gains;
    values: gains of frozen rows; used: joints with positive probability at the optimum of some level.
    """

    def __init__(self, gains: NDArray[np.int64], deadline: Deadline) -> None:
        rows, joints = gains.shape
        start = int(np.argmin(gains.max(axis=0)))
        self.gains, self.deadline = gains, deadline
        self.open, self.values = np.ones(rows, bool), [Fraction(0)] * rows
        self.used: set[int] = set()
        self.levels = self.pivots = 0
        self.value, self.denominator = Fraction(int(gains[:, start].max())), 1
        self.labels = np.append(np.arange(1, joints + 1), -np.arange(1, rows + 1))
        self.basis = np.append(-np.arange(1, rows + 1), start + 1)
        slack = np.hstack([gains - gains[:, [start]], np.eye(rows, dtype=np.int64), gains[:, start].max() - gains[:, [start]]])
        total = np.concatenate([np.ones(joints, np.int64), np.zeros(rows, np.int64), [1]])
        self.table: Whole = np.vstack([slack, total]).astype(object)

    def next_level(self) -> bool:
        """Find the optimum of the next level and freeze its rows. False if the deadline passed before."""
        gain = self._enter_gain()
        degenerate = False
        while not self.deadline.passed():
            improving = np.flatnonzero(self.table[gain, :-1] < 0)
            if not len(improving):
                self._freeze(gain)
                return True
            # the smallest label after a step of length 0 (Bland), because the steepest column could then cycle
            column = improving[np.argmin((self.labels if degenerate else self.table[gain, :-1])[improving])]
            degenerate = self._pivot(int(column))
        return False

    def _enter_gain(self) -> int:
        """Add v to the basis and return its row. Its column is the sum of the open rows' slacks, and it never leaves during the level."""
        slacks = self.table[:, :-1][:, np.isin(-self.labels, np.flatnonzero(self.open) + 1)]
        self.table = np.hstack([slacks.sum(axis=1, keepdims=True), self.table])
        self.labels = np.append(GAIN, self.labels)
        self._pivot(0)
        return int(np.flatnonzero(self.basis == GAIN)[0])

    def _pivot(self, column: int) -> bool:
        """Bring the column's variable into the basis, and return whether the step had length 0."""
        entries, bounds = self.table[:, column], self.table[:, -1]
        ratios = [(Fraction(int(bounds[i]), int(entries[i])), self.basis[i], i) for i in np.flatnonzero(entries > 0).tolist()]
        row = min(ratios)[2]
        pivot, chosen = entries[row], self.table[row].copy()
        degenerate = bounds[row] == 0
        self.table = (self.table * pivot - np.outer(entries, chosen)) // self.denominator
        self.table[row] = chosen
        self.basis[row], self.denominator = self.labels[column], pivot
        self.pivots += 1
        return bool(degenerate)

    def _freeze(self, gain: int) -> None:
        """Remove the columns that are 0 in every optimum, and v with its row; freeze the rows whose slack is among the columns."""
        self.value -= Fraction(self.table[gain, -1], self.denominator)
        self.used.update(self._played()[0].tolist())
        zero = (self.table[gain, :-1] > 0) & (self.labels != GAIN)
        for row in (-self.labels[zero & (self.labels < 0)] - 1).tolist():
            self.open[row], self.values[row] = False, self.value
        kept = ~zero & (self.labels != GAIN)
        self.table = np.delete(self.table, gain, axis=0)[:, np.append(kept, True)]
        self.basis, self.labels = np.delete(self.basis, gain), self.labels[kept]
        self.levels += 1

    def _played(self) -> tuple[NDArray[np.int64], list[Fraction]]:
        """Joints with positive probability, and their probabilities."""
        rows = np.flatnonzero((self.basis > 0) & (self.table[:, -1] > 0))
        return self.basis[rows] - 1, [Fraction(self.table[i, -1], self.denominator) for i in rows]

    def result(self, ids: NDArray[np.int64], scale: float, duplicates: int) -> LeastGains:
        """The gains so far. ids: of the joints; scale: of the gains; duplicates: number of joints with the gains of another one."""
        joints, shares = self._played()
        of_play = self.gains[:, joints].astype(object) @ np.array(shares, object)
        now = [own if self.open[row] else self.values[row] for row, own in enumerate(of_play)]
        gains = np.array([float(one) / scale for one in now])
        return LeastGains(
            gains=gains,
            errors=np.where(self.open, 1.0 + abs(float(self.value) / scale), 0.0),
            ids=ids[joints],
            probability=np.array([float(share) for share in shares]),
            used=np.sort(ids[sorted(self.used)]),
            complete=not self.open.any(),
            stats={
                "levels": self.levels,
                "solves": self.levels,
                "iterations": self.pivots,
                "columns": len(ids),
                "duplicate_joints": duplicates,
                "cold_starts": 0,
                "exact": 1,
            },
        )
