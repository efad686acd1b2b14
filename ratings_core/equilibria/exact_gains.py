"""Lexicographically least deviation gains in whole numbers, for games of few strategies: no tolerance decides which rows a level fixes.

Near copies of a strategy make rows nearly parallel. The values of levels then depend on the differences of payoffs divided by differences
of copies, and a row that is frozen at an error of 1e-12 can change later ratings by half of the payoffs' spread. Floating point cannot
bound this error, so small games are solved exactly.

One tableau serves all levels. A row with gains A s and slack w has A s + w = t, where t is the value of the last level. A level adds a
variable v, by which the slacks of all open rows exceed their new values, and maximises v by the simplex method. Columns of positive
reduced cost are 0 in every optimum, and are removed. A row whose slack is among them has the gain t - v in every optimum: it is frozen.
The entries are whole numbers (`whole_tableau`), so they are exact.
"""

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import NEVER, Deadline
from ratings_core.equilibria.lexicographic import LeastGains
from ratings_core.games.gain_matrix import GainMatrix
from ratings_core.games.whole_tableau import Tableau

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
    """The tableau of a level, and what earlier levels decided.

    value: t, in the scale of gains; values: gains of frozen rows; used: joints with positive probability at the optimum of some level.
    """

    def __init__(self, gains: NDArray[np.int64], deadline: Deadline) -> None:
        rows, joints = gains.shape
        start = int(np.argmin(gains.max(axis=0)))
        self.gains, self.deadline = gains, deadline
        self.open, self.values = np.ones(rows, bool), [Fraction(0)] * rows
        self.used: set[int] = set()
        self.levels = 0
        self.value = Fraction(int(gains[:, start].max()))
        slack = np.hstack([gains - gains[:, [start]], gains[:, start].max() - gains[:, [start]]])
        table = np.delete(np.vstack([slack, np.ones(joints + 1, np.int64)]), start, axis=1)
        labels = np.arange(1, joints + 1)
        self.tableau = Tableau(table, np.delete(labels, start), np.append(-np.arange(1, rows + 1), labels[start]))

    def next_level(self) -> bool:
        """Find the optimum of the next level and freeze its rows. False if the deadline passed before."""
        gain = self._enter_gain()
        optimal = self.tableau.maximise(gain, self.deadline)
        if optimal:
            self._freeze(gain)
        return optimal

    def _enter_gain(self) -> int:
        """Add v to the basis and return its row. Its column is the sum of the open rows' slacks, and it never leaves during the level."""
        at = self.tableau
        slacks = -np.flatnonzero(self.open) - 1
        column = at.table[:, :-1][:, np.isin(at.labels, slacks)].sum(axis=1)
        column[np.isin(at.basis, slacks)] += at.denominator
        gain = at.add_column(GAIN, column)
        row = at.leaving(gain)
        at.exchange(row, gain)
        return row

    def _freeze(self, gain: int) -> None:
        """Remove the columns that are 0 in every optimum, and v with its row; freeze the rows whose slack is among the columns."""
        at = self.tableau
        self.value -= Fraction(at.table[gain, -1], at.denominator)
        self.used.update(self._played()[0].tolist())
        zero = at.table[gain, :-1] > 0
        for row in (-at.labels[zero & (at.labels < 0)] - 1).tolist():
            self.open[row], self.values[row] = False, self.value
        at.remove(at.basis == GAIN, zero)
        self.levels += 1

    def _played(self) -> tuple[NDArray[np.int64], list[Fraction]]:
        """Joints with positive probability, and their probabilities."""
        played = {label: share for label, share in self.tableau.positive().items() if label > GAIN}
        return np.array(list(played), np.int64) - 1, list(played.values())

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
                "iterations": self.tableau.pivots,
                "columns": len(ids),
                "duplicate_joints": duplicates,
                "cold_starts": 0,
                "exact": 1,
            },
        )
