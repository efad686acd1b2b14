"""Errors of file readers, and rows that they skip."""

from dataclasses import dataclass
from typing import Any

from ratings_core.errors import InputError


class FormatError(InputError):
    """The content of a file breaks a rule of its kind.

    row: line number from 1, as in an editor, or number of the item in a JSON array or a Parquet file; column: header, field or number, or
    None; file: name of the file, or None if the caller did not give it.
    """

    def __init__(self, row: int, column: str | None, value: Any, rule: str, file: str | None = None) -> None:
        self.row, self.column, self.file = row, column, file
        place = f"row {row}" + (f", column {column!r}" if column is not None else "")
        super().__init__(place if file is None else f"{file}: {place}", value, rule)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.row, self.column, self.value, self.rule, self.file)

    def within(self, file: str) -> "FormatError":
        """The same error with the name of the file."""
        return FormatError(self.row, self.column, self.value, self.rule, file)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A valid row that is not an outcome. row: as in `FormatError`; why: the reason, in the same words for all rows of that reason."""

    row: int
    why: str
