"""Encode exported tables as Parquet, CSV or JSON lines, in parts of bounded size."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias

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


class EncodedPart(NamedTuple):
    """The next bytes of an export. rows: written so far; position: offset up to which the log was read."""

    data: bytes
    rows: int
    position: int


def encoded(tables: Iterator[tuple[Any, int]], form: Format, columns: Sequence[str]) -> Iterator[EncodedPart]:
    """Encode an export. The file is complete only when the iterator ends: after an error, a Parquet file lacks its footer.

    Args:
        tables: Tables from `services.admin.export.tables`.
        form: The format.
        columns: Columns of Parquet and CSV; `COLUMNS` for JSON lines.

    Raises:
        InputError: Columns were selected for JSON lines. Raised before the first part.
        MissingExtraError: The extra `archive` is not installed.
    """
    if form is Format.JSONL and tuple(columns) != COLUMNS:
        raise InputError("column", list(columns), "must be left out for jsonl, whose lines are outcomes of the wire schema")
    return _parts(tables, _WRITERS[form], list(columns))


def _parts(tables: Iterator[tuple[Any, int]], writer: "_Writer", columns: list[str]) -> Iterator[EncodedPart]:
    extras.load("deltalake", "archive", "exporting outcomes")  # before a writer imports a module that needs it
    rows = position = 0
    file = io.BytesIO()
    with writer(file, columns) as write:
        for table, position in tables:
            for begin in range(0, len(table), _ROWS):
                part = table.slice(begin, _ROWS)
                rows += len(part)
                write(part)
                yield EncodedPart(_taken(file), rows, position)
    yield EncodedPart(_taken(file), rows, position)


def _taken(file: io.BytesIO) -> bytes:
    """Bytes written since the last call. Emptying the buffer is safe, because Arrow counts file offsets itself."""
    written = file.getvalue()
    file.seek(0)
    file.truncate()
    return written


_Write: TypeAlias = Callable[[Any], object]
_Writer: TypeAlias = Callable[[BinaryIO, list[str]], AbstractContextManager[_Write]]
"""Begins a file with some columns, gives a function that adds a table, and ends the file. It may hold back rows until then."""


@contextmanager
def _parquet(file: BinaryIO, columns: list[str]) -> Iterator[_Write]:
    from services.archive.schema import fields  # noqa: PLC0415 - needs the extra `archive`

    schema, arrow = fields(columns), extras.load("pyarrow", "archive", "exporting outcomes")
    group = schema.empty_table()
    with extras.load("pyarrow.parquet", "archive", "exporting outcomes").ParquetWriter(file, schema, compression="zstd") as writer:

        def write(table: Any) -> None:
            nonlocal group
            group = arrow.concat_tables([group, table.select(columns).cast(schema)])
            if len(group) >= _GROUP_ROWS:
                writer.write_table(group)
                group = schema.empty_table()

        yield write
        if len(group):
            writer.write_table(group)


@contextmanager
def _csv(file: BinaryIO, columns: list[str]) -> Iterator[_Write]:
    """Encode lists as JSON, and null as an empty cell."""
    from services.archive.schema import SCHEMA  # noqa: PLC0415 - needs the extra `archive`

    def cells(table: Any) -> Any:
        return arrow.table({name: _as_text(name, table[name]) for name in columns})

    arrow, csv = (extras.load(name, "archive", "exporting outcomes") for name in ("pyarrow", "pyarrow.csv"))
    schema = cells(SCHEMA.empty_table()).schema
    with csv.CSVWriter(file, schema) as writer:
        yield lambda table: writer.write_table(cells(table).cast(schema))


@contextmanager
def _json_lines(file: BinaryIO, _columns: list[str]) -> Iterator[_Write]:
    """Encode a row as a line. A line may exceed the size limit of a record: a stream holds scores in fewer bytes than JSON."""
    from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`

    yield lambda table: file.writelines(msgspec.json.encode(event) + b"\n" for event in decode.events(table))


def _as_text(name: str, column: Any) -> Any:
    """Column with CSV cells: lists as JSON, `meta` as text, other columns unchanged."""
    arrow = extras.load("pyarrow", "archive", "exporting outcomes")
    if name in ("agents", "sides", "places", "scores"):
        return arrow.array([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in column.to_pylist()], arrow.string())
    if name == "meta":
        return arrow.array([None if cell is None else cell.decode() for cell in column.to_pylist()], arrow.string())
    return column.combine_chunks()


_WRITERS: Final[dict[Format, _Writer]] = {Format.PARQUET: _parquet, Format.CSV: _csv, Format.JSONL: _json_lines}


def format_of(path: Path) -> Format:
    """Format for a file name's extension. Raises `InputError` for an unknown extension."""
    ending = path.suffix.removeprefix(".")
    if ending not in set(Format):
        raise InputError("output", path.name, f"must end with one of {', '.join(f'.{form}' for form in Format)}")
    return Format(ending)
