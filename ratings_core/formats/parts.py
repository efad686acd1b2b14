"""What readers give: outcomes as columns, and counts of the rows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.coded import Coded
from ratings_core.columns import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.solution import Floats

SHOWN: Final = 100
"""Number of bad rows that are kept with their broken rule. All are counted."""


@dataclass(slots=True)
class RowCounts:
    """Counts of the rows in one reading of a table.

    Attributes:
        rows: Number of rows.
        left_out: Reason -> number of rows that are not outcomes.
        bad: Number of rows that break a rule.
        first: Errors of the first hundred bad rows.
        remarks: Column -> how it is used, where that differs from what its header says.
    """

    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    bad: int = 0
    first: list[FormatError] = field(default_factory=list)
    remarks: dict[str, str] = field(default_factory=dict)

    def refuse(self, errors: Iterable[FormatError]) -> None:
        """Count bad rows."""
        for error in errors:
            self.bad += 1
            if len(self.first) < SHOWN:
                self.first.append(error)


@dataclass(frozen=True, slots=True)
class FilePart:
    """n outcomes of a file, in order.

    Attributes:
        columns: The outcomes.
        rows: int64 (n,), number of the row of each outcome.
        hashes: uint64 (n, 2), hash of each complete row; None if not wanted.
        slices: Value of the slice column; None without slices.
        features: float64 (n, k), values of the features; None without features.
        timed: bool (n,), whether each outcome has a time. The others have time 0.
    """

    columns: Games | TaskScores
    rows: NDArray[np.int64]
    hashes: NDArray[np.uint64] | None = None
    slices: Coded | None = None
    features: Floats | None = None
    timed: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.timed is None:
            object.__setattr__(self, "timed", np.zeros(len(self.rows), np.bool_))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, mask: NDArray[np.bool_]) -> "FilePart":
        """The outcomes where `mask` (n,) is true."""
        return self._with(self.columns.take(mask), np.flatnonzero(mask))

    def reordered(self, order: NDArray[np.int64]) -> "FilePart":
        """Games in another order. order: int64 (n,), index of the game at each position. Raises `InputError` for scores."""
        if not isinstance(self.columns, Games):
            raise InputError("sort", True, "must be left out: only games have an order")
        return self._with(self.columns.reordered(order), order)

    def _with(self, columns: Games | TaskScores, rows: NDArray[np.int64]) -> "FilePart":
        return replace(
            self,
            columns=columns,
            rows=self.rows[rows],
            hashes=None if self.hashes is None else self.hashes[rows],
            slices=None if self.slices is None else self.slices.take(rows),
            features=None if self.features is None else self.features[rows],
            timed=None if self.timed is None else self.timed[rows],
        )
