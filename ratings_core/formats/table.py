"""CSV tables as every reader takes them: a header, rows of its width, numbers that are numbers."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import csv_lines
from ratings_core.records.names import check_name

_MAX_CELL: Final = 1 << 26
Source: TypeAlias = str | io.BufferedReader
"""A text, or a stream as `unpacked` returns it."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A CSV file whose header was read. Iterating gives (line, cells) of each row, once, and raises `FormatError` where one is broken."""

    header: list[str]
    rest: Iterator[tuple[int, list[str]]]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        for line, row in self.each():
            if isinstance(row, FormatError):
                raise row
            yield line, row

    def each(self) -> Iterator[tuple[int, list[str] | FormatError]]:
        """(line, cells) of each row, once; a row of another width than the header is its error, in place of cells."""
        for line, row in self.rest:
            if len(row) == len(self.header):
                yield line, row
            else:
                yield line, FormatError(line, None, len(row), f"must have {len(self.header)} cells, as the header has")

    def column(self, name: str) -> int:
        """Index of the column. Raises `FormatError` naming the columns there are."""
        if name not in self.header:
            raise FormatError(1, name, self.header, "must be a column of the header")
        return self.header.index(name)


def read_rows(lines: Iterable[str], delimiter: str = ",") -> Rows:
    """The table in `lines` (blank ones are passed over), read as far as its header. delimiter: one character. Raises `FormatError`."""
    rest = _cells(lines, checked_delimiter(delimiter))
    header = next(rest, None)
    if header is None:
        raise FormatError(1, None, "", "must be a header; the file is empty")
    _check_header(header[1])
    return Rows(header[1], rest)


def rows_of(source: Source, delimiter: str = ",") -> Rows:
    """As `read_rows`, of a text, whose byte order mark is taken off, or of a stream, of which one line is held. Raises `FormatError`."""
    if isinstance(source, str):
        return read_rows(io.StringIO(source.removeprefix("\ufeff"), newline=""), delimiter)
    return read_rows(csv_lines(source), delimiter)


def checked_delimiter(delimiter: str) -> str:
    """`delimiter` where it can part cells. Raises `InputError`."""
    if len(checks.instance("delimiter", delimiter, str)) != 1 or delimiter in '\r\n"':
        raise InputError("delimiter", delimiter, "must be one character, such as , or ; or a tab")
    return delimiter


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


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL))  # the module's 128 KiB would refuse conversations; it is only ever raised
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise FormatError(reader.line_num, None, str(error), "must be CSV") from error


def _check_header(header: list[str]) -> None:
    twice = next((text for text, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise FormatError(1, twice, twice, "must head one column only")
