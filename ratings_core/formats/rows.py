"""Rules for single rows of tables and battles: invalid rows, white space, filters, and columns of tasks, slices and features."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.features import Feature
from ratings_core.formats.table import name

NOT_CHOSEN: Final = "not chosen by --where"
"""Reason for skipping a row that does not match `where`."""

RowT = TypeVar("RowT")
MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True)
class RowRules:
    """How rows are read.

    keep_bad: Yield the `FormatError` of an invalid row and continue, instead of raising it.
    trim: Remove white space at both ends of every cell.
    where: (column, value) pairs that a row must have; other rows are skipped.
    task: Column that names the task of a game; None for no tasks.
    slice_by: Column that names the slice of a game; None for no slices.
    features: Covariates of each game.
    """

    keep_bad: bool = False
    trim: bool = False
    where: tuple[tuple[str, str], ...] = ()
    task: str | None = None
    slice_by: str | None = None
    features: tuple[Feature, ...] = ()

    def trimmed(self, cells: Mapping[str, Any]) -> Mapping[str, Any]:
        """The cells of a row, without white space around them if `trim` is set."""
        return {key: value.strip() if isinstance(value, str) else value for key, value in cells.items()} if self.trim else cells

    @property
    def columns(self) -> list[str]:
        """The columns that the rules name."""
        named = [*(column for column, _ in self.where), *(column for column in (self.task, self.slice_by) if column is not None)]
        return [*named, *(column for feature in self.features for column in feature.columns)]

    def check_columns(self, header: Iterable[str]) -> None:
        """Raise `FormatError` if a table lacks a column that the rules name."""
        known = list(header)
        for column in self.columns:
            if column not in known:
                raise FormatError(1, column, known, "must be a column of the header")

    def chosen(self, cells: Mapping[str, Any]) -> bool:
        """Whether a row has all values of `where`."""
        return all(cell_text(cells.get(column)) == value for column, value in self.where)

    def task_of(self, cells: Mapping[str, Any], row: int) -> str | None:
        """The task that a row names; None for an empty cell or no column. Raises `FormatError`."""
        text = "" if self.task is None else cell_text(cells.get(self.task))
        return name(text, row, self.task or "") if text else None

    def extras_of(self, cells: Mapping[str, Any], row: int) -> "Extras":
        """The task, slice and features of a row. Raises `FormatError`."""
        piece = "" if self.slice_by is None else cell_text(cells.get(self.slice_by))
        return Extras(self.task_of(cells, row), piece, tuple(feature.of(cells, row) for feature in self.features))


PLAIN: Final = RowRules()
"""Rules without options: invalid rows raise an error, and all rows are read unchanged."""


@dataclass(frozen=True, slots=True)
class Extras:
    """Values of a row in addition to the game.

    Attributes:
        task: Task of the game, or None.
        slice: Value of the slice column; empty if the row has no value or there is no such column.
        features: One number for each feature of the rules.
    """

    task: str | None = None
    slice: str = ""
    features: tuple[float, ...] = ()


NO_EXTRAS: Final = Extras()


def made(
    rows: Iterator[tuple[int, RowT | FormatError]], make: Callable[[int, RowT], MadeT | Skipped], rules: RowRules
) -> Iterator[MadeT | Skipped | FormatError]:
    """Yield `make(number, row)` for each row. An error of a row, or a row that is an error, is yielded if `rules.keep_bad`, else raised."""
    for number, row in rows:
        try:
            if isinstance(row, FormatError):
                raise row
            yield make(number, row)
        except FormatError as error:
            if not rules.keep_bad:
                raise
            yield error


def cell_text(value: Any) -> str:
    """Text of a cell for comparison by `where` and `slice_by`: empty for None, `true` or `false` for bools."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
