"""What readers of files raise, and what they leave out."""

from dataclasses import dataclass
from typing import Any

from ratings_core.errors import InputError


class FormatError(InputError):
    """A file does not hold what its kind says.

    row: line number from 1, as an editor counts, or number of the item in a JSON array or a Parquet file; column: header, field or
    number, or None; file: its name, if the caller that opened it gave it.
    """

    def __init__(self, row: int, column: str | None, value: Any, rule: str, file: str | None = None) -> None:
        self.row, self.column, self.file = row, column, file
        place = f"row {row}" + (f", column {column!r}" if column is not None else "")
        super().__init__(place if file is None else f"{file}: {place}", value, rule)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.row, self.column, self.value, self.rule, self.file)

    def within(self, file: str) -> "FormatError":
        """The same error, naming the file."""
        return FormatError(self.row, self.column, self.value, self.rule, file)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that is whole but no outcome. row: as in `FormatError`; why: the same words for all rows left out for the same reason."""

    row: int
    why: str
