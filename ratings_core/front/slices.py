"""Slices: outcomes grouped by the value of a column."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, TypeVar

import numpy as np

from ratings_core.errors import InputError
from ratings_core.formats.parts import FilePart
from ratings_core.front.counted import NOTHING, nothing_counts

MOST_SLICES: Final = 1_000
"""Largest number of slices, because each slice has its own tallies. A column with more values probably holds ids or times."""
OwnT = TypeVar("OwnT")


class Slices(Generic[OwnT]):
    """One object for each slice, such as the tallies of its outcomes. make: Makes the object of a new slice."""

    def __init__(self, make: Callable[[], OwnT]) -> None:
        self._make = make
        self._owned: dict[str, OwnT] = {}

    def parts(self, part: FilePart) -> Iterator[tuple[OwnT, FilePart]]:
        """Yield for each slice in `part` its object and its outcomes, in order. Raises `InputError` beyond 1,000 slices."""
        if part.slices is None:
            yield self.part(""), part
            return
        used = part.slices.used()
        number = {text: i for i, text in enumerate(dict.fromkeys(used.texts.names()))}  # trimmed cells can become equal
        code = np.array([number[text] for text in used.texts.names()], np.int64)[used.code] if number else used.code
        values = list(number)
        if len(values) > MOST_SLICES:
            self._refuse(values[MOST_SLICES])
        for value in range(len(values)):
            yield self.part(values[value]), part.take(np.asarray(code == value))

    def part(self, value: str) -> OwnT:
        """The object of one slice, which is made if the slice is new. Raises `InputError` beyond 1,000 slices."""
        if value not in self._owned:
            if len(self._owned) >= MOST_SLICES:
                self._refuse(value)
            self._owned[value] = self._make()
        return self._owned[value]

    def sorted(self, left_out: Mapping[str, int] = NOTHING) -> list[tuple[str, OwnT]]:
        """Value and object of each slice, in order of the values.

        Args:
            left_out: Reason -> number of rows that are not outcomes, for the error.

        Raises:
            InputError: No slice exists.
        """
        if not self._owned:
            raise InputError("games", 0, nothing_counts(left_out))
        return sorted(self._owned.items())

    @staticmethod
    def _refuse(value: str) -> None:
        raise InputError("slice-by", value, f"must be a column of at most {MOST_SLICES} values")
