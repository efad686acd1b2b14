"""CSV files as blocks of text columns. Arrow's reader does the work; this module reads the header and names bad rows."""

import codecs
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import MAX_LINE_BYTES, NOT_UTF8, Source, byte_stream, decoded
from ratings_core.formats.tables.block import Block, check_names
from ratings_core.formats.tables.row_hashes import row_hashes

DELIMITERS: Final = (",", ";", "\t", "|")
"""Delimiters that are recognized in a header."""
_BLOCK: Final = 1 << 22
"""Bytes that are parsed at a time. A row must fit into them. Arrow reads up to 32 of these blocks ahead."""
_CODED: Final = pa.dictionary(pa.int32(), pa.string())
_MARK: Final = b"\xef\xbb\xbf"
SEPARATOR: Final = "sep="
"""Beginning of a first line that names the delimiter, as spreadsheets write it."""
_SHOWN: Final = 60


class CsvTable:
    """A CSV file.

    Args:
        stream: The file, as `unpacked` returns it.
        delimiter: Separator of the cells; None to recognize it in the header.

    Raises:
        FormatError: The file has no header, or a name of it repeats.
    """

    def __init__(self, stream: io.BufferedReader, delimiter: str | None = None) -> None:
        self._stream, self._invalid = stream, list[Any]()
        line, text, self._rest = _first_record(stream, 0)
        self.delimiter = guess_delimiter(text) if delimiter is None else delimiter
        if text.lower().startswith(SEPARATOR) and len(text.strip()) == len(SEPARATOR) + 1:
            self.delimiter = text.strip()[-1] if delimiter is None else delimiter
            line, text, self._rest = _first_record(stream, line)
        self.header = _cells(text, self.delimiter, line)
        check_names(self.header)
        self._before, self._next = line, line + 1

    def blocks(self, columns: Sequence[str], *, hashed: bool = False) -> Iterator[Block]:
        """Yield all rows, as texts. See `Table.blocks`."""
        known = set(self.header)
        for column in columns:
            if column not in known:
                raise FormatError(1, column, self.header, "must be a column of the header")
        if not self._rest and not self._stream.peek(1):
            return
        wanted = set(columns)
        names = self.header if hashed else [name for name in self.header if name in wanted] or self.header[:1]
        try:
            for rows in self._opened(names, wanted):
                yield self._block(rows, wanted, hashed=hashed)
        except pa.ArrowInvalid as error:
            raise self._explained(error) from error
        if self._invalid:
            none = pa.RecordBatch.from_arrays([pa.nulls(0, _CODED)] * len(columns), names=list(columns))
            yield Block(none, np.zeros(0, np.int64), np.zeros((0, 2), np.uint64) if hashed else None, self._bad(sys.maxsize))

    def _opened(self, names: Sequence[str], wanted: set[str]) -> Iterator[Any]:
        return iter(
            arrow_csv.open_csv(
                pa.PythonFile(_After(self._rest, self._stream, self._before + 1), mode="r"),
                read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=self.header),
                parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=self._note),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: _CODED if name in wanted else pa.string() for name in names},
                    include_columns=list(names),
                    strings_can_be_null=False,
                    check_utf8=False,  # the stream does it
                ),
            )
        )

    def _note(self, row: Any) -> str:
        self._invalid.append(row)
        return "skip"

    def _block(self, rows: Any, wanted: set[str], *, hashed: bool) -> Block:
        """The next rows. Arrow numbers the rows that it leaves out; all other rows have the numbers between them."""
        hashes = row_hashes(rows) if hashed else None
        invalid = [self._before + row.number for row in self._invalid]
        numbers = np.setdiff1d(np.arange(self._next, self._next + len(rows) + len(invalid)), invalid, assume_unique=True)[: len(rows)]
        self._next = int(numbers[-1]) + 1
        return Block(rows.select([name for name in rows.schema.names if name in wanted]), numbers, hashes, self._bad(self._next))

    def _bad(self, end: int) -> list[FormatError]:
        """Errors of the rows that Arrow left out, of numbers below `end`, once."""
        rule = f"must have {len(self.header)} cells, like the header"
        errors = [FormatError(self._before + row.number, None, row.actual_columns, rule) for row in self._invalid]
        past = [error for error in errors if error.row < end]
        del self._invalid[: len(past)]  # in place: Arrow's thread that reads ahead appends to this list
        return past

    def _explained(self, error: Exception) -> InputError:
        text = str(error)
        if "straddling" in text:
            rule = f"must have rows of at most {_BLOCK >> 20} MiB: is a quotation mark open?"
            return FormatError(self._next, None, text, rule)
        return InputError("file", text, "must be CSV")


def opened_csv(source: Source, delimiter: str | None = None) -> CsvTable:
    """The table of a text, or of a stream as `unpacked` returns it. Raises `FormatError`, and `InputError` for anything else."""
    if isinstance(source, str):
        source = io.BufferedReader(io.BytesIO(source.encode("utf-8", "surrogateescape")))
    return CsvTable(byte_stream(source), delimiter)


def guess_delimiter(header: str) -> str:
    """The delimiter that divides a header into most cells; a comma if none does."""
    return max(DELIMITERS, key=lambda one: (len(_split(header, one)), one == ","))


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _first_record(stream: io.BufferedReader, number: int) -> tuple[int, str, bytes]:
    """The first record that is not blank: the number of its last line, its text, and bytes after it that were read as well.

    number: Number of lines before. A quotation mark can span lines. Lines end with LF, CR LF, or CR alone. Raises `FormatError`.
    """
    record = b""
    while line := stream.readline(MAX_LINE_BYTES):
        number += 1
        record += line.removeprefix(_MARK) if number == 1 else line
        if len(record) > MAX_LINE_BYTES:
            raise FormatError(number, None, record[:_SHOWN], f"must be a header of at most {MAX_LINE_BYTES} bytes")
        end = _lone_return(record)
        if end >= 0:
            return number, decoded(record[:end], number), record[end + 1 :]
        if record.strip() and record.count(b'"') % 2 == 0:
            return number, decoded(record, number).rstrip("\r\n"), b""
        record = record if record.strip() else b""
    raise FormatError(1, None, "", "must be a header; the file is empty")


def _lone_return(record: bytes) -> int:
    """Position of the first carriage return that ends a line alone; -1 for no such return."""
    at = record.find(b"\r")
    is_lone = at > 0 and at < len(record) - 1 and record[at + 1 : at + 2] != b"\n" and record.count(b'"', 0, at) % 2 == 0
    return at if is_lone else -1


class _After:
    """A stream with some bytes before it, for Arrow, which is checked to be UTF-8. Arrow checks columns, and names no line."""

    closed = False

    def __init__(self, first: bytes, stream: io.BufferedReader, line: int) -> None:
        self._first, self._stream, self._line = first, stream, line
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_cut = False

    def read(self, size: int) -> bytes:
        """The next bytes. Raises `FormatError` for a line that is not UTF-8."""
        first, self._first = self._first, b""
        data = first or self._stream.read(size)
        if self._is_cut or not data.isascii():
            self._check(data)
        self._line += data.count(b"\n")
        return data

    def _check(self, data: bytes) -> None:
        held = self._decoder.getstate()[0]
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            at = max(error.start - len(held), 0)
            begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            line = held + data[begin : end if end >= 0 else len(data)]
            decoded(line, self._line + data.count(b"\n", 0, at))
            raise FormatError(self._line, None, line[:_SHOWN], NOT_UTF8) from error
        self._is_cut = bool(self._decoder.getstate()[0])


def _cells(text: str, delimiter: str, line: int) -> list[str]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise FormatError(line, None, str(error), "must be CSV") from error
