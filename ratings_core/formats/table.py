"""CSV tables as every reader takes them: a header, rows of its width, numbers that are numbers."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ratings_core.errors import InputError
from ratings_core.names import check_name


class FormatError(InputError):
    """A file does not hold what its kind says. row: line number from 1, as an editor counts; column: header or number, or None."""

    def __init__(self, row: int, column: str | None, value: Any, rule: str) -> None:
        self.row, self.column = row, column
        super().__init__(f"row {row}" + (f", column {column!r}" if column is not None else ""), value, rule)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.row, self.column, self.value, self.rule)


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file with a header. rows[i] came from line lines[i] and is as wide as the header."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> int:
        """Index of the column. Raises `FormatError` naming the columns there are."""
        if name not in self.header:
            raise FormatError(1, name, self.header, "must be a column of the header")
        return self.header.index(name)


def read_table(text: str, delimiter: str = ",") -> Table:
    """The table in `text` (a byte order mark is taken off, blank lines are passed over). Raises `FormatError`."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise FormatError(reader.line_num, None, str(error), "must be CSV") from error
    if not rows:
        raise FormatError(1, None, "", "must be a header; the file is empty")
    header = rows[0]
    _check_header(header)
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(header):
            raise FormatError(line, None, len(row), f"must have {len(header)} cells, as the header has")
    return Table(header, rows[1:], lines[1:])


def text_lines(text: str) -> list[str]:
    """Lines as editors count them, ended by LF or CR LF; `str.splitlines` would also cut at characters that JSON allows inside texts."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def number(cell: str, row: int, column: str) -> float:
    """The finite number in a cell. Raises `FormatError`."""
    try:
        value = float(cell)
    except ValueError:
        raise FormatError(row, column, cell, "must be a number") from None
    if not math.isfinite(value) or "_" in cell:
        raise FormatError(row, column, cell, "must be a finite number")
    return value


def name(cell: str, row: int, column: str) -> str:
    """The agent or task named by a cell. Raises `FormatError` with the rule of names it breaks."""
    try:
        return check_name(cell)
    except InputError as error:
        raise FormatError(row, column, cell, error.rule) from error


def distinct(names: Sequence[str], row: int, what: str) -> tuple[str, ...]:
    """Names of a header, each checked and each once. Raises `FormatError`."""
    seen: set[str] = set()
    for text in names:
        if name(text, row, text) in seen:
            raise FormatError(row, text, text, f"must name each {what} once")
        seen.add(text)
    return tuple(names)


def _check_header(header: list[str]) -> None:
    twice = [text for text in header if header.count(text) > 1] if len(set(header)) < len(header) else []
    if twice:
        raise FormatError(1, twice[0], twice[0], "must head one column only")
