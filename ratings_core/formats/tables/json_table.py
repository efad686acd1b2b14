"""JSON lines and JSON arrays of objects as blocks of columns.

Lines are decoded a few megabytes at a time, and only the fields that are wanted. Items of an array are decoded one by one, which is slower.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.arrow import arrow_cells
from ratings_core.arrays.hashing import hash128
from ratings_core.formats.errors import FormatError
from ratings_core.formats.json_items import content, json_rows, starts_array
from ratings_core.formats.stream import MAX_LINE_BYTES
from ratings_core.formats.tables.block import Block, split_path
from ratings_core.formats.tables.mixed import mixed_texts
from ratings_core.formats.votes import FIELDS, MADE, vote

_PIECE: Final = 1 << 22
"""Bytes of lines that are decoded at a time."""
_ITEMS: Final = 4096
"""Items of an array in one block."""
_SAMPLE: Final = 200
"""Rows at the beginning whose fields are the header."""
_MARK: Final = b"\xef\xbb\xbf"
_SHOWN: Final = 60
_TWO_IN_A_LINE: Final = re.compile(rb"\}[ \t]*\{")
_LINE_FEED: Final = ord("\n")
_BLANK: Final = np.frombuffer(b" \t\r", np.uint8)


def json_table(stream: io.BufferedReader) -> "JsonLines | JsonArray":
    """The table of a stream, as `unpacked` returns it. Raises `FormatError` for an array that is not JSON from the beginning."""
    return JsonArray(stream) if starts_array(stream) else JsonLines(stream)


class _JsonTable:
    """Columns of decoded objects. Events of a raw log of votes get the columns of battles."""

    def __init__(self, sample: Iterable[Any]) -> None:
        items = [item for item in sample if isinstance(item, dict)]
        self._fields = dict.fromkeys(name for item in items for name in item)
        self.header = _names(items)
        self._votes = {"type", "models"} <= set(self.header) and "model_a" not in self.header
        if self._votes:
            self.header += MADE
        self._present = set(self.header)

    def _wanted(self, columns: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Column -> the field of the object, and the path within it, which is empty for the field itself."""
        return {column: next(((name, rest) for name, rest in _ways(column) if name in self._fields), (column, "")) for column in columns}

    def _fields_of(self, wanted: dict[str, tuple[str, str]]) -> list[str]:
        """The fields that must be decoded."""
        fields = [field for field, _ in wanted.values() if not (self._votes and field in MADE)]
        return list(dict.fromkeys([*fields, *(FIELDS if self._votes else ())]))

    def _rows(self, wanted: dict[str, tuple[str, str]], values: dict[str, list[Any]]) -> tuple[Any, list[str] | None]:
        """Record batch of the wanted columns, and why rows are left out. values: Field -> its value in each row."""
        reasons = None
        if self._votes:
            votes = [vote(*event) for event in zip(*(values[field] for field in FIELDS), strict=True)]
            values = values | {name: [getattr(one, name) for one in votes] for name in MADE}
            reasons = [one.why for one in votes]
        arrays = []
        for column, (field, path) in wanted.items():
            cells = values[field] if not path else [_at(value, path) for value in values[field]]
            if column not in self._present and any(cell is not None for cell in cells):
                self._present.add(column)
            arrays.append(_array(cells))
        return pa.RecordBatch.from_arrays(arrays, names=list(wanted)), reasons

    def _check_present(self, columns: Sequence[str]) -> None:
        """Raise `FormatError` for a column that no object has. Single objects may lack it: many files leave out empty values."""
        lacking = next((column for column in columns if column not in self._present), None)
        if lacking is not None and self.header:
            raise FormatError(1, lacking, self.header, "must be a column of the header")


class JsonLines(_JsonTable):
    """JSON lines: an object in each line that is not blank. stream: the file, as `unpacked` returns it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._line = stream, 0
        first = _piece(stream).removeprefix(_MARK)
        self._first = first
        super().__init__(_decoded_or_none(line) for line in first.splitlines()[:_SAMPLE])

    def blocks(self, columns: Sequence[str], *, hashed: bool = False) -> Iterator[Block]:
        """Yield all rows. A row's number is its line. See `Table.blocks`."""
        wanted = self._wanted(columns)
        fields = self._fields_of(wanted)
        decoder = _decoder(fields)
        piece = self._first
        while piece:
            yield self._block(piece, wanted, fields, decoder, hashed=hashed)
            piece = _piece(self._stream)
        self._check_present(columns)

    def _block(
        self, piece: bytes, wanted: dict[str, tuple[str, str]], fields: list[str], decoder: msgspec.json.Decoder[Any], *, hashed: bool
    ) -> Block:
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        total = piece.count(b"\n") + (not piece.endswith(b"\n"))
        bad: list[FormatError] = []
        try:  # the decoder also takes several objects in a line
            rows = [] if _TWO_IN_A_LINE.search(piece) else decoder.decode_lines(piece)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            rows = []
        numbers, lines = np.arange(1, total + 1), None
        if len(rows) != total or hashed:
            lines, numbers = _lines(piece)
        if lines is not None and len(rows) != len(numbers):
            rows, good, bad = _each(lines, numbers, self._line, decoder)
            lines, numbers = lines.take(np.flatnonzero(good)), numbers[good]
        numbers += self._line
        self._line += total
        values = {field: list(map(attrgetter(f"f{i}"), rows)) for i, field in enumerate(fields)}
        hashes = hash128(lines.bytes, lines.start) if hashed and lines is not None else None
        batch, reasons = self._rows(wanted, values)
        return Block(batch, numbers, hashes, bad, reasons)


class JsonArray(_JsonTable):
    """A JSON array of objects. stream: the file, as `unpacked` returns it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        items = json_rows(stream)
        sample = list(islice(items, _SAMPLE))
        self._items = chain(sample, items)
        super().__init__(item for _, item in sample)

    def blocks(self, columns: Sequence[str], *, hashed: bool = False) -> Iterator[Block]:
        """Yield all rows. A row's number is that of its item. See `Table.blocks`."""
        wanted = self._wanted(columns)
        fields = self._fields_of(wanted)
        while items := list(islice(self._items, _ITEMS)):
            bad = [FormatError(number, None, item, "must be an object") for number, item in items if not isinstance(item, dict)]
            good = [(number, item) for number, item in items if isinstance(item, dict)]
            values = {field: [item.get(field) for _, item in good] for field in fields}
            numbers = np.array([number for number, _ in good], np.int64)
            batch, reasons = self._rows(wanted, values)
            yield Block(batch, numbers, _hashes(good) if hashed else None, bad, reasons)
        self._check_present(columns)


def _hashes(items: Sequence[tuple[int, Any]]) -> NDArray[np.uint64]:
    texts = pack([content(item, number) for number, item in items])
    return hash128(texts.bytes, texts.start)


def _piece(stream: io.BufferedReader) -> bytes:
    """The next complete lines, some megabytes. Raises `FormatError` for a line that is too long."""
    piece = stream.read(_PIECE)
    if piece and not piece.endswith(b"\n"):
        rest = stream.readline(MAX_LINE_BYTES + 1)
        if len(rest) > MAX_LINE_BYTES:
            raise FormatError(1, None, rest[:_SHOWN], f"must be lines of at most {MAX_LINE_BYTES} bytes")
        piece += rest
    return piece


def _lines(piece: bytes) -> tuple[Arena, NDArray[np.int64]]:
    """The lines that are not blank, without their ends, and their numbers from 1."""
    data = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(data == _LINE_FEED)
    starts = np.concatenate([[0], ends + 1]).astype(np.int64)
    if starts[-1] == len(data):
        starts = starts[:-1]
    stops = np.append(ends, len(data))[: len(starts)].astype(np.int64)
    solid = np.concatenate([[0], np.cumsum(~np.isin(data, _BLANK) & (data != _LINE_FEED))])
    numbers = np.flatnonzero(solid[stops] > solid[starts])
    texts = [piece[begin:end].strip() for begin, end in zip(starts[numbers].tolist(), stops[numbers].tolist(), strict=True)]
    start = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=start[1:])
    return Arena(np.frombuffer(b"".join(texts), np.uint8), start), numbers.astype(np.int64) + 1


def _each(
    lines: Arena, numbers: NDArray[np.int64], before: int, decoder: msgspec.json.Decoder[Any]
) -> tuple[list[Any], NDArray[np.bool_], list[FormatError]]:
    """The rows of lines of which some are bad, the mask of the good ones, and errors of the others. before: number of earlier lines."""
    rows, bad, good = [], [], np.zeros(len(lines), np.bool_)
    blob, cuts = lines.bytes.tobytes(), lines.start.tolist()
    for i, number in enumerate(numbers.tolist()):
        line = blob[cuts[i] : cuts[i + 1]]
        try:
            rows.append(decoder.decode(line))
            good[i] = True
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            rule = "must be an object" if isinstance(_decoded_or_none(line), list | str | int | float | bool) else f"must be JSON ({error})"
            bad.append(FormatError(before + number, None, line[:_SHOWN].decode(errors="replace"), rule))
    return rows, good, bad


def _decoder(fields: Sequence[str]) -> msgspec.json.Decoder[Any]:
    """A decoder of objects with some fields, which become f0, f1 and so on."""
    named = [(f"f{i}", Any, None) for i in range(len(fields))]
    row = msgspec.defstruct("Row", named, rename={f"f{i}": field for i, field in enumerate(fields)}, gc=False)
    return msgspec.json.Decoder(row)


def _decoded_or_none(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _names(items: Iterable[dict[str, Any]]) -> list[str]:
    """Names of the fields of objects, in order of their first occurrence. Fields within fields are named by their paths."""
    names: dict[str, None] = {}
    for item in items:
        _add_fields(item, "", names)
    return list(names)


def _add_fields(item: dict[str, Any], before: str, names: dict[str, None]) -> None:
    for name, value in item.items():
        names[before + name] = None
        if isinstance(value, dict):
            _add_fields(value, f"{before}{name}.", names)


def _ways(path: str) -> Iterator[tuple[str, str]]:
    """Each way to divide a path into a field and the path within it, first the undivided one."""
    yield path, ""
    yield from split_path(path)


def _at(value: Any, path: str) -> Any:
    """The value at a path within an object; None if the path does not exist."""
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    candidates = (_at(value[name], rest) for name, rest in split_path(path) if name in value)
    return next((one for one in candidates if one is not None), None)


def _array(cells: list[Any]) -> Any:
    """Arrow array of cells; of their texts if they have different types."""
    if set(map(type, cells)) - {type(None)} in ({str}, {float}):  # the usual cells
        return arrow_cells(cells)
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return mixed_texts(cells)
