"""Encode exported tables as Parquet, CSV or JSON lines, in parts of bounded size."""

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ratings_core import extras
from ratings_core.errors import InputError
from services.admin.export import COLUMNS

_ROWS: Final = 500
"""Rows of a part. The interpreter lock is held while pyarrow converts these rows to Python objects, about 10 ms."""
_GROUP_ROWS: Final = 1 << 16
"""Rows of a row group of Parquet, except the last one."""


class Format(StrEnum):
    """Formats of an export. `jsonl` has outcomes of the wire schema. `equirank replay` reads all formats, with all columns of outcomes."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


class Part(NamedTuple):
    """The next bytes of an export. rows: written so far; position: offset up to which the log was read."""

    data: bytes
    rows: int
    position: int


def encoded(tables: Iterator[tuple[Any, int]], form: Format, columns: Sequence[str]) -> Iterator[Part]:
    """Encode an export. The file is complete only when the iterator ends: after an error, a Parquet file lacks its footer.

    Args:
        tables: Tables from `services.admin.export.tables`.
        form: The format.
        columns: Columns of Parquet and CSV; `COLUMNS` for JSON lines.

    Raises:
        InputError: Columns were selected for JSON lines. Raised before the first part.
    """
    if form is Format.JSONL and tuple(columns) != COLUMNS:
        raise InputError("column", list(columns), "must be left out for jsonl, whose lines are outcomes of the wire schema")
    return _parts(tables, _WRITERS[form](list(columns)))


def _parts(tables: Iterator[tuple[Any, int]], writer: "_Writer") -> Iterator[Part]:
    rows = position = 0
    for table, position in tables:
        for begin in range(0, len(table), _ROWS):
            part = table.slice(begin, _ROWS)
            rows += len(part)
            yield Part(writer.bytes_of(part), rows, position)
    yield Part(writer.rest(), rows, position)


class _Writer(ABC):
    """Encodes tables as one file. A writer may hold back bytes until later calls."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns

    @abstractmethod
    def bytes_of(self, table: Any) -> bytes:
        """Add a table. Returns the next bytes of the file."""

    def rest(self) -> bytes:
        """Last bytes of the file."""
        return b""


class _Parquet(_Writer):
    def __init__(self, columns: list[str]) -> None:
        from services.archive.schema import fields  # noqa: PLC0415 - needs the extra `archive`

        super().__init__(columns)
        self._schema, self._file = fields(columns), io.BytesIO()
        self._arrow = extras.load("pyarrow", "archive", "exporting outcomes")
        parquet = extras.load("pyarrow.parquet", "archive", "exporting outcomes")
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        self._group = self._schema.empty_table()

    def bytes_of(self, table: Any) -> bytes:
        self._group = self._arrow.concat_tables([self._group, table.select(self._columns).cast(self._schema)])
        if len(self._group) >= _GROUP_ROWS:
            self._writer.write_table(self._group)
            self._group = self._schema.empty_table()
        return self._written()

    def rest(self) -> bytes:
        if len(self._group):
            self._writer.write_table(self._group)
        self._writer.close()
        return self._written()

    def _written(self) -> bytes:
        """Bytes written since the last call. Emptying the buffer is safe, because Arrow counts file offsets itself."""
        written = self._file.getvalue()
        self._file.seek(0)
        self._file.truncate()
        return written


class _Csv(_Writer):
    """Encodes lists as JSON, and null as an empty cell."""

    _header = True

    def bytes_of(self, table: Any) -> bytes:
        csv, file = extras.load("pyarrow.csv", "archive", "exporting outcomes"), io.BytesIO()
        cells = table.select(self._columns)
        for at, name in enumerate(self._columns):
            cells = cells.set_column(at, name, [_as_text(name, cells[name])])
        csv.write_csv(cells, file, csv.WriteOptions(include_header=self._header))
        self._header = False
        return file.getvalue()

    def rest(self) -> bytes:
        """The header if no table was added; otherwise empty."""
        from services.archive.schema import SCHEMA  # noqa: PLC0415 - needs the extra `archive`

        return self.bytes_of(SCHEMA.empty_table()) if self._header else b""


class _JsonLines(_Writer):
    """Encodes a row as a line. A line may exceed the size limit of a record: a stream holds scores in fewer bytes than JSON."""

    def bytes_of(self, table: Any) -> bytes:
        from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`

        return b"".join(msgspec.json.encode(event) + b"\n" for event in decode.events(table))


def _as_text(name: str, column: Any) -> Any:
    """Column with CSV cells: lists as JSON, `meta` as text, other columns unchanged."""
    arrow = extras.load("pyarrow", "archive", "exporting outcomes")
    if name in ("agents", "sides", "places", "scores"):
        return arrow.array([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in column.to_pylist()], arrow.string())
    if name == "meta":
        return arrow.array([None if cell is None else cell.decode() for cell in column.to_pylist()], arrow.string())
    return column.combine_chunks()


_WRITERS: Final[dict[Format, type[_Writer]]] = {Format.PARQUET: _Parquet, Format.CSV: _Csv, Format.JSONL: _JsonLines}


def format_of(path: Path) -> Format:
    """Format for a file name's extension. Raises `InputError` for an unknown extension."""
    ending = path.suffix.removeprefix(".")
    if ending not in set(Format):
        raise InputError("output", path.name, f"must end with one of {', '.join(f'.{form}' for form in Format)}")
    return Format(ending)
