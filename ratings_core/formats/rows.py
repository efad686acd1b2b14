"""How readers of tables and battles treat single rows: bad rows, white space, a choice of rows, and columns of tasks, slices, features."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.features import Feature
from ratings_core.formats.table import name

NOT_CHOSEN: Final = "not chosen by --where"
"""Why a row is left out that lacks a wanted value."""

RowT = TypeVar("RowT")
MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True)
class RowRules:
    """How rows are read.

    keep_bad: Yield the `FormatError` of a bad row and go on, in place of raising it.
    trim: Take white space off both ends of every cell.
    where: (column, value) pairs that a row must have; other rows are left out.
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
        """The cells of a row without white space around them, where asked for."""
        return {key: value.strip() if isinstance(value, str) else value for key, value in cells.items()} if self.trim else cells

    def check_columns(self, header: Iterable[str]) -> None:
        """Raise `FormatError` where a table lacks a column that the rules name."""
        known = list(header)
        needed = [*(column for column, _ in self.where), *(column for column in (self.task, self.slice_by) if column is not None)]
        for column in [*needed, *(column for feature in self.features for column in feature.columns)]:
            if column not in known:
                raise FormatError(1, column, known, "must be a column of the header")

    def chosen(self, cells: Mapping[str, Any]) -> bool:
        """Whether a row has all wanted values."""
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
"""Bad rows are raised, all rows are read as they are."""


@dataclass(frozen=True, slots=True)
class Extras:
    """What a row says beside the game itself.

    Attributes:
        task: What was played or asked.
        slice: Value of the column of slices; empty where the row has no value, and without such a column.
        features: One number for each feature asked for.
    """

    task: str | None = None
    slice: str = ""
    features: tuple[float, ...] = ()


NO_EXTRAS: Final = Extras()


def made(
    rows: Iterator[tuple[int, RowT | FormatError]], make: Callable[[int, RowT], MadeT | Skipped], rules: RowRules
) -> Iterator[MadeT | Skipped | FormatError]:
    """What `make` makes of each row; errors of rows are raised, or yielded where `rules` keep them. Rows that are errors already, too."""
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
    """A cell as `where` and `slice_by` compare it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
