"""Verdicts on the rows of a table: a row is accepted, left out for a reason, or refused by the first rule that it breaks."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.formats.errors import FormatError

SHOWN: Final = 100
"""Number of refused rows that are described. All are counted."""

Mask = NDArray[np.bool_]


class Verdicts:
    """The verdicts on n rows. The first one on a row counts."""

    def __init__(self, n: int) -> None:
        self._reason = np.zeros(n, np.int32)
        self._reasons: list[tuple[str | None, str, bool]] = [(None, "", False)]

    def __len__(self) -> int:
        return len(self._reason)

    @property
    def accepted(self) -> Mask:
        """Mask of the rows without a verdict, bool (n,)."""
        return np.asarray(self._reason == 0, np.bool_)

    def refuse(self, mask: Mask, column: str | None, rule: str) -> None:
        """Refuse the rows of a mask (n,), because the value of a column breaks a rule."""
        self._give(mask, column, rule, refused=True)

    def leave_out(self, mask: Mask, why: str) -> None:
        """Leave out the rows of a mask (n,) for a reason, which is the same text for all of its rows."""
        self._give(mask, None, why, refused=False)

    @property
    def left_out(self) -> Counter[str]:
        """Reason -> number of rows that were left out."""
        return self._counts(refused=False)

    @property
    def refused(self) -> int:
        """Number of refused rows."""
        return self._counts(refused=True).total()

    def errors(self, numbers: NDArray[np.int64], value_of: Callable[[str, int], Any]) -> list[FormatError]:
        """Errors of the first hundred refused rows, in order.

        Args:
            numbers: int64 (n,), number of each row.
            value_of: Returns the value of a column in the row of an index.
        """
        is_bad = np.array([refused for _, _, refused in self._reasons], np.bool_)[self._reason]
        errors = []
        for row in np.flatnonzero(is_bad)[:SHOWN].tolist():
            column, rule, _ = self._reasons[self._reason[row]]
            errors.append(FormatError(int(numbers[row]), column, None if column is None else value_of(column, row), rule))
        return errors

    def _give(self, mask: Mask, column: str | None, text: str, *, refused: bool) -> None:
        new = mask & (self._reason == 0)
        if new.any():
            self._reason[new] = len(self._reasons)
            self._reasons.append((column, text, refused))

    def _counts(self, *, refused: bool) -> Counter[str]:
        rows = np.bincount(self._reason, minlength=len(self._reasons)).tolist()
        counts: Counter[str] = Counter()
        for (_, text, bad), number in zip(self._reasons, rows, strict=True):
            if bad is refused and text:
                counts[text] += number
        return counts
