"""The simplex method in whole numbers: entries share one denominator, so no tolerance decides about a sign (Edmonds; Bareiss).

Entries are determinants of the given numbers. A pivot therefore divides without remainder.
"""

from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.deadline import NEVER, Deadline

Whole: TypeAlias = NDArray[np.object_]
"""Whole numbers of any length, in an array."""
Labels: TypeAlias = NDArray[np.int64]


class Tableau:
    """Equations in nonnegative variables: a row for each basic variable, a column for each other variable and one for the right-hand side.

    table: entries times the denominator; labels: of the columns; basis: label of each row's basic variable; denominator: of all entries, at
    least 1; pivots: number of exchanges so far.
    """

    def __init__(self, table: NDArray[np.int64] | Whole, labels: Labels, basis: Labels) -> None:
        self.table: Whole = table.astype(object)
        self.labels, self.basis, self.denominator = labels, basis, 1
        self.pivots = 0

    def maximise(self, row: int, deadline: Deadline = NEVER) -> bool:
        """Maximise the basic variable of `row`, which stays in the basis. False if the deadline passed before."""
        degenerate = False
        while not deadline.passed():
            improving = np.flatnonzero(self.table[row, :-1] < 0)
            if not len(improving):
                return True
            # the smallest label after a step of length 0 (Bland), because the steepest column could then cycle
            column = int(improving[np.argmin((self.labels if degenerate else self.table[row, :-1])[improving])])
            leaving = self.leaving(column)
            degenerate = bool(self.table[leaving, -1] == 0)
            self.exchange(leaving, column)
        return False

    def leaving(self, column: int) -> int:
        """The row whose variable is the first to become 0 when the column's variable grows."""
        entries, bounds = self.table[:, column], self.table[:, -1]
        return int(min((Fraction(int(bounds[i]), int(entries[i])), self.basis[i], i) for i in np.flatnonzero(entries > 0).tolist())[2])

    def exchange(self, row: int, column: int) -> None:
        """Bring the column's variable into the basis in place of the row's; the entry where they meet must be positive."""
        entries, chosen = self.table[:, column].copy(), self.table[row].copy()
        pivot = entries[row]
        self.table = (self.table * pivot - np.outer(entries, chosen)) // self.denominator
        self.table[row], self.table[:, column] = chosen, -entries
        self.table[row, column] = self.denominator
        self.basis[row], self.labels[column] = self.labels[column], self.basis[row]
        self.denominator = pivot
        self.pivots += 1

    def add_row(self, label: int, row: Whole) -> int:
        """Add a basic variable by its row, times the denominator, and return the row's index."""
        self.table, self.basis = np.vstack([self.table, row]), np.append(self.basis, label)
        return len(self.basis) - 1

    def add_column(self, label: int, column: Whole) -> int:
        """Add a variable by its column, times the denominator, and return the column's index."""
        self.table, self.labels = np.insert(self.table, len(self.labels), column, axis=1), np.append(self.labels, label)
        return len(self.labels) - 1

    def remove(self, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> None:
        """Remove the masked rows and columns."""
        self.table = self.table[~rows][:, np.append(~columns, True)]
        self.basis, self.labels = self.basis[~rows], self.labels[~columns]

    def positive(self) -> dict[int, Fraction]:
        """Labels and values of the variables that are positive at this basis."""
        rows = np.flatnonzero(self.table[:, -1] > 0).tolist()
        return {int(self.basis[i]): Fraction(int(self.table[i, -1]), int(self.denominator)) for i in rows}
