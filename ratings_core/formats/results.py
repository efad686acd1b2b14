"""Tables of games between two sides with one score for each side, such as football results."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from ratings_core import checks
from ratings_core.formats.errors import FormatError, Skipped
from ratings_core.formats.rows import NO_EXTRAS, NOT_CHOSEN, PLAIN, Extras, RowRules, made
from ratings_core.formats.stream import csv_lines
from ratings_core.formats.table import Rows, name, number, read_rows
from ratings_core.formats.times import seconds

Unplayed: TypeAlias = Literal["skip", "refuse"]
NOT_PLAYED: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null"})
NO_RESULT: Final = "no result (unplayed)"
"""Reason for skipping a game without a result."""


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """Names of the columns. time: column of a date (YYYY-MM-DD, midnight UTC), an ISO date and time, or seconds since 1970; or None."""

    first: str = "home_team"
    second: str = "away_team"
    first_score: str = "home_score"
    second_score: str = "away_score"
    time: str | None = "date"


@dataclass(frozen=True, slots=True)
class Result:
    """One game. line: its line in the file, from 1; cells: all cells of the row; time: seconds since 1970, None without a time column.

    extras: task, slice and features, from the columns that the rules name.
    """

    line: int
    first: str
    second: str
    first_score: float
    second_score: float
    time: float | None
    cells: tuple[str, ...]
    extras: Extras = NO_EXTRAS

    @property
    def task(self) -> str | None:
        """The task of the game; None if its cell is empty or the rules name no column."""
        return self.extras.task

    @property
    def places(self) -> tuple[int, int]:
        """Places of the two sides: 1 for the higher score, 2 for the lower, 1 for both if equal."""
        return 1 + (self.first_score < self.second_score), 1 + (self.second_score < self.first_score)


def iter_results(
    stream: io.BufferedReader,
    columns: ResultColumns | None = None,
    unplayed: Unplayed = "refuse",
    delimiter: str = ",",
    rules: RowRules = PLAIN,
) -> Iterator[Result | Skipped | FormatError]:
    """Read the games of a CSV file in file order, one at a time.

    stream: as `unpacked` returns it; columns: None uses the default names, with `date` only if the file has this column; unplayed: whether
    to skip or refuse rows in which a score is one of `NOT_PLAYED`; rules: how to treat single rows. Raises `FormatError` (row, column), and
    `InputError` for another word of `unplayed`.
    """
    checked_unplayed(unplayed)
    rows = read_rows(csv_lines(stream), delimiter)
    reader = _Reader(rows, columns or ResultColumns(time="date" if "date" in rows.header else None))
    rules.check_columns(rows.header)

    def game(line: int, row: list[str]) -> Result | Skipped:
        cells = rules.trimmed(dict(zip(rows.header, row, strict=True)))
        if not rules.chosen(cells):
            return Skipped(line, NOT_CHOSEN)
        found = reader.game(line, list(cells.values()), unplayed)
        if isinstance(found, Skipped):
            return found
        return replace(found, extras=rules.extras_of(cells, line))

    return made(rows.each(), game if rules != PLAIN else lambda line, row: reader.game(line, row, unplayed), rules)


def checked_unplayed(unplayed: Unplayed) -> None:
    """Raises `InputError` unless `unplayed` is a word of `Unplayed`."""
    checks.choice("unplayed", unplayed, get_args(Unplayed))


class _Reader:
    """Converts rows to results, with the column positions looked up once."""

    def __init__(self, rows: Rows, columns: ResultColumns) -> None:
        self._columns, self._header = columns, rows.header
        self._first, self._second = rows.column(columns.first), rows.column(columns.second)
        self._scores = rows.column(columns.first_score), rows.column(columns.second_score)
        self._time = None if columns.time is None else rows.column(columns.time)

    def game(self, line: int, row: list[str], unplayed: Unplayed) -> Result | Skipped:
        empty = next((i for i in self._scores if row[i].strip() in NOT_PLAYED), None)
        if empty is not None:
            if unplayed == "refuse":
                raise FormatError(line, self._header[empty], row[empty], "must be a score; rows not played are left out by unplayed=skip")
            return Skipped(line, NO_RESULT)
        return self._played(line, row)

    def _played(self, line: int, row: list[str]) -> Result:
        columns = self._columns
        first, second = name(row[self._first], line, columns.first), name(row[self._second], line, columns.second)
        if first == second:
            raise FormatError(line, columns.second, second, "must differ from the first side")
        return Result(
            line=line,
            first=first,
            second=second,
            first_score=number(row[self._scores[0]], line, columns.first_score),
            second_score=number(row[self._scores[1]], line, columns.second_score),
            time=None if self._time is None else seconds(row[self._time], line, columns.time or ""),
            cells=tuple(row),
        )
