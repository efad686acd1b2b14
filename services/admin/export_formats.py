"""Formats of exports: tables become the bytes of a file or of a response, a bounded part at a time."""

import io
import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from ratings_core import extras
from ratings_core.errors import InputError
from services.admin.export import COLUMNS

_ROWS: Final = 500
"""Rows of a part: pyarrow holds the interpreter while it makes Python objects of them, some 10 ms."""
_GROUP_ROWS: Final = 1 << 16
"""Rows of a row group of Parquet, except the last one."""


class Format(StrEnum):
    """Formats of an export. `jsonl`: outcomes of the wire schema, which `replay` takes."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


class Part(NamedTuple):
    """The next bytes of an export. rows: written so far; position: offset up to which the log was read."""

    data: bytes
    rows: int
    position: int


def encoded(tables: Iterator[tuple[Any, int]], form: Format, columns: Sequence[str]) -> Iterator[Part]:
    """The bytes of an export. They are complete only if the iterator ends; after an error, Parquet lacks its index.

    Args:
        tables: What `services.admin.export.tables` gives.
        form: The format.
        columns: Columns of Parquet and CSV.

    Raises:
        InputError: The format does not have these columns. Raised before the first part.
    """
    return _parts(tables, sink := _Sink(), _WRITERS[form](sink, columns))


def _parts(tables: Iterator[tuple[Any, int]], sink: "_Sink", writer: "_Writer") -> Iterator[Part]:
    rows = position = 0
    for table, position in tables:
        for begin in range(0, len(table), _ROWS):
            part = table.slice(begin, _ROWS)
            writer.write(part)
            rows += len(part)
            yield Part(sink.take(), rows, position)
    writer.close()
    yield Part(sink.take(), rows, position)


class _Sink(io.RawIOBase):
    """A file that keeps what was written until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._written.append(piece := bytes(data))
        self._size += len(piece)
        return len(piece)

    def take(self) -> bytes:
        """What was written since the last call."""
        taken, self._written = b"".join(self._written), []
        return taken


class _Writer(Protocol):
    """Writes tables to one file."""

    def __init__(self, file: _Sink, columns: Sequence[str]) -> None: ...

    def write(self, table: Any) -> None: ...

    def close(self) -> None: ...


class _Parquet:
    def __init__(self, file: _Sink, columns: Sequence[str]) -> None:
        from services.archive.schema import fields  # noqa: PLC0415 - needs the extra `archive`

        self._columns, self._schema = list(columns), fields(columns)
        self._arrow = extras.load("pyarrow", "archive", "exporting outcomes")
        self._writer = extras.load("pyarrow.parquet", "archive", "exporting outcomes").ParquetWriter(file, self._schema, compression="zstd")
        self._group = self._schema.empty_table()

    def write(self, table: Any) -> None:
        self._group = self._arrow.concat_tables([self._group, table.select(self._columns).cast(self._schema)])
        if len(self._group) >= _GROUP_ROWS:
            self._write_group()

    def close(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if len(self._group):
            self._writer.write_table(self._group)
        self._group = self._schema.empty_table()


class _Csv:
    """Lists are JSON; a cell without a value is empty."""

    def __init__(self, file: _Sink, columns: Sequence[str]) -> None:
        self._columns, self._file = list(columns), file
        self._csv = extras.load("pyarrow.csv", "archive", "exporting outcomes")
        self._header = True

    def write(self, table: Any) -> None:
        cells = table.select(self._columns)
        for at, name in enumerate(self._columns):
            cells = cells.set_column(at, name, [_as_text(name, cells[name])])
        self._csv.write_csv(cells, self._file, self._csv.WriteOptions(include_header=self._header))
        self._header = False

    def close(self) -> None:
        """Nothing is held back."""


class _JsonLines:
    def __init__(self, file: _Sink, columns: Sequence[str]) -> None:
        if tuple(columns) != COLUMNS:
            raise InputError("column", list(columns), "must be left out for jsonl: its lines are outcomes of the wire schema")
        self._file = file

    def write(self, table: Any) -> None:
        from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
        from services.wire.events import encode  # noqa: PLC0415 - as above

        for event in decode.events(table):
            self._file.write(encode([event]) + b"\n")

    def close(self) -> None:
        """Nothing is held back."""


def _as_text(name: str, column: Any) -> Any:
    """A column as CSV holds it."""
    arrow = extras.load("pyarrow", "archive", "exporting outcomes")
    if name in ("agents", "sides", "places", "scores"):
        return arrow.array([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in column.to_pylist()], arrow.string())
    if name == "meta":
        return arrow.array([None if cell is None else cell.decode() for cell in column.to_pylist()], arrow.string())
    return column.combine_chunks()


_WRITERS: Final[dict[Format, type[_Writer]]] = {Format.PARQUET: _Parquet, Format.CSV: _Csv, Format.JSONL: _JsonLines}


def format_of(path: Path) -> Format:
    """The format that a file's name says. Raises `InputError` for another ending."""
    ending = path.suffix.removeprefix(".")
    if ending not in set(Format):
        raise InputError("output", path.name, f"must end with one of {', '.join(f'.{form}' for form in Format)}")
    return Format(ending)
