"""Slices of a file: its rows, grouped by the value of a column."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from ratings_core.errors import InputError
from services.imports.files import Row

MOST_SLICES: Final = 1_000
"""Largest number of slices, because each slice has its own tallies. A column with more values probably holds ids or times."""
PartT = TypeVar("PartT")


class Slices(Generic[PartT]):
    """One part for each slice, such as the tallies of its rows. make: Makes the part of a new slice."""

    def __init__(self, make: Callable[[], PartT]) -> None:
        self._make = make
        self._parts: dict[str, PartT] = {}

    def parts(self, rows: Sequence[Row]) -> Iterator[tuple[PartT, list[Row]]]:
        """Yield for each slice in `rows` its part and its rows, in order. Raises `InputError` beyond 1,000 slices."""
        by_value: dict[str, list[Row]] = {}
        for row in rows:
            by_value.setdefault(row.extras.slice, []).append(row)
        for value, own in by_value.items():
            yield self.part(value), own

    def part(self, value: str) -> PartT:
        """The part of one slice, which is made if the slice is new. Raises `InputError` beyond 1,000 slices."""
        if value not in self._parts:
            if len(self._parts) >= MOST_SLICES:
                raise InputError("slice-by", value, f"must be a column of at most {MOST_SLICES} values")
            self._parts[value] = self._make()
        return self._parts[value]

    def sorted(self) -> list[tuple[str, PartT]]:
        """Value and part of each slice, in order of the values. Raises `InputError` for a file without slices."""
        if not self._parts:
            raise InputError("file", 0, "must contain at least one game that the options do not exclude")
        return sorted(self._parts.items())
