"""Tables of games between two sides with a score each, such as football results."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, Literal, TypeAlias

from ratings_core.formats.table import FormatError, Table, name, number, read_table

Unplayed: TypeAlias = Literal["skip", "refuse"]
NOT_PLAYED: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null"})


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """Which columns hold what. time: a date (YYYY-MM-DD, midnight UTC), an ISO date and time, or seconds since 1970; None: no time."""

    first: str = "home_team"
    second: str = "away_team"
    first_score: str = "home_score"
    second_score: str = "away_score"
    time: str | None = "date"


@dataclass(frozen=True, slots=True)
class Result:
    """One game. line: of the file, from 1; cells: the whole row; time: seconds since 1970, None without a time column."""

    line: int
    first: str
    second: str
    first_score: float
    second_score: float
    time: float | None
    cells: tuple[str, ...]

    @property
    def places(self) -> tuple[int, int]:
        """Places of the two sides, the higher score first."""
        return 1 + (self.first_score < self.second_score), 1 + (self.second_score < self.first_score)


@dataclass(frozen=True, slots=True)
class Results:
    """games: in the file's order; rows: all rows of data; unplayed: lines of rows without scores, which are no games."""

    games: tuple[Result, ...]
    rows: int
    unplayed: tuple[int, ...]


def read_results(text: str, columns: ResultColumns | None = None, unplayed: Unplayed = "refuse", delimiter: str = ",") -> Results:
    """The games of a CSV. unplayed: what to do with rows whose scores are empty or NA.

    columns: None takes the known ones, with `date` where the file has it. Raises `FormatError` naming row and column.
    """
    table = read_table(text, delimiter)
    columns = columns or ResultColumns(time="date" if "date" in table.header else None)
    reader = _Reader(table, columns)
    without = {line for line, row in _lines(table) if reader.is_unplayed(row)}
    if without and unplayed == "refuse":
        raise FormatError(min(without), columns.first_score, "NA", "must be a score; rows not played are left out by unplayed=skip")
    games = tuple(reader.game(line, row) for line, row in _lines(table) if line not in without)
    return Results(games, len(table.rows), tuple(sorted(without)))


def seconds(cell: str, line: int, column: str) -> float:
    """Seconds since 1970 of a date, an ISO date and time (UTC where it names no zone), or a number. Raises `FormatError`."""
    try:
        if len(cell) == len("2000-01-31"):
            return _midnight(date.fromisoformat(cell))
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return number(cell, line, column)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class _Reader:
    """Takes rows apart by the places of their columns."""

    def __init__(self, table: Table, columns: ResultColumns) -> None:
        self._columns = columns
        self._first, self._second = table.column(columns.first), table.column(columns.second)
        self._scores = table.column(columns.first_score), table.column(columns.second_score)
        self._time = None if columns.time is None else table.column(columns.time)

    def is_unplayed(self, row: list[str]) -> bool:
        return any(row[i].strip() in NOT_PLAYED for i in self._scores)

    def game(self, line: int, row: list[str]) -> Result:
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


def _lines(table: Table) -> Iterator[tuple[int, list[str]]]:
    return zip(table.lines, table.rows, strict=True)


def _midnight(day: date) -> float:
    return float((day - date(1970, 1, 1)).days * 86_400)
