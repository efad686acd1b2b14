"""CSV tables, the common base of the readers: a header, rows with as many cells as the header, and checked cells."""

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
    """A CSV file after its header. It can be iterated once; yields (line, cells) per row and raises `FormatError` for invalid rows."""

    header: list[str]
    rest: Iterator[tuple[int, list[str]]]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        for line, row in self.each():
            if isinstance(row, FormatError):
                raise row
            yield line, row

    def each(self) -> Iterator[tuple[int, list[str] | FormatError]]:
        """Yield (line, cells) for each row, once. For a row with another number of cells than the header, yield the error instead."""
        for line, row in self.rest:
            if len(row) == len(self.header):
                yield line, row
            else:
                yield line, FormatError(line, None, len(row), f"must have {len(self.header)} cells, like the header")

    def column(self, name: str) -> int:
        """Index of the column. Raises `FormatError` with the existing columns."""
        if name not in self.header:
            raise FormatError(1, name, self.header, "must be a column of the header")
        return self.header.index(name)


def read_rows(lines: Iterable[str], delimiter: str = ",") -> Rows:
    """Open the table in `lines` and read its header; blank lines are ignored. delimiter: one character. Raises `FormatError`."""
    rest = _cells(lines, checked_delimiter(delimiter))
    header = next(rest, None)
    if header is None:
        raise FormatError(1, None, "", "must be a header; the file is empty")
    _check_header(header[1])
    return Rows(header[1], rest)


def rows_of(source: Source, delimiter: str = ",") -> Rows:
    """`read_rows` for a text, without its byte order mark, or for a stream, which is read line by line. Raises `FormatError`."""
    if isinstance(source, str):
        return read_rows(io.StringIO(source.removeprefix("\ufeff"), newline=""), delimiter)
    return read_rows(csv_lines(source), delimiter)


def checked_delimiter(delimiter: str) -> str:
    """Return `delimiter` if it is a valid delimiter. Raises `InputError`."""
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
    """The name of an agent or a task in a cell. Raises `FormatError` with the violated rule of names."""
    try:
        return check_name(cell)
    except InputError as error:
        raise FormatError(row, column, cell, error.rule) from error


def distinct(names: Sequence[str], row: int, what: str) -> tuple[str, ...]:
    """Check the names of a header, which must be distinct. Raises `FormatError`."""
    seen: set[str] = set()
    for text in names:
        if name(text, row, text) in seen:
            raise FormatError(row, text, text, f"must name each {what} once")
        seen.add(text)
    return tuple(names)


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL))  # the module's default, 128 KiB, is too small for conversations
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
        raise FormatError(1, twice, twice, "must be the header of only one column")
