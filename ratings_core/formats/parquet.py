"""Rows of Parquet files, a batch of pages at a time. Needs the extra `arrow`."""

import datetime as dt
import decimal
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from ratings_core import extras
from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError

MAGIC: Final = b"PAR1"
_BATCH: Final = 256
"""Rows held in memory at once; a row of an arena file holds a whole conversation."""
_BUFFER: Final = 1 << 16


def parquet_columns(stream: BinaryIO) -> list[str]:
    """Read the names of a Parquet file's columns. Raises as `parquet_rows` does."""
    return [name for name, _ in parquet_types(stream)]


def parquet_types(stream: BinaryIO) -> list[tuple[str, Any]]:
    """Read name and Arrow type of each of a Parquet file's columns. Raises as `parquet_rows` does."""
    schema = _opened(stream).schema_arrow
    return list(zip(schema.names, schema.types, strict=True))


def parquet_rows(stream: BinaryIO, needed: Collection[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the rows of a Parquet file, with values as JSON has them.

    Args:
        stream: The file; seekable, because Parquet stores the positions of its columns at the end.
        needed: Columns that the file must have.

    Yields:
        The row's number, from 1, and the value of each column. Dates and times are ISO texts, as in JSON.

    Raises:
        InputError: The file is damaged.
        FormatError: The file lacks a needed column.
        MissingExtraError: The package pyarrow is not installed.
    """
    for row, value in python_rows(stream, needed):
        yield row, {name: _plain(cell) for name, cell in value.items()}


def python_rows(stream: BinaryIO, needed: Collection[str], columns: Sequence[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the rows of a Parquet file, with values as Python holds them.

    Pages are read one batch at a time, not whole row groups.

    Args:
        stream: The file; seekable, because Parquet stores the positions of its columns at the end.
        needed: Columns that the file must have.
        columns: Columns to read; None reads all.

    Yields:
        The row's number, from 1, and the value of each column. Raises as `parquet_rows` does.
    """
    file = _opened(stream)
    for column in needed:
        if column not in file.schema_arrow.names:
            raise FormatError(1, column, file.schema_arrow.names, "must be a column of the file")
    yield from _rows(file, columns)


def _opened(stream: BinaryIO) -> Any:
    if not stream.seekable():
        raise InputError("file", "Parquet, compressed again or from a pipe", "must be a plain file: Parquet stores its index at the end")
    parquet = extras.load("pyarrow.parquet", "arrow", "reading Parquet")
    with _refused():
        return parquet.ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER, memory_map=False)


def _rows(file: Any, columns: Sequence[str] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    batches, row = file.iter_batches(_BATCH, columns=columns, use_threads=False), 0
    while True:
        with _refused():
            batch = next(batches, None)
            values = [] if batch is None else batch.to_pylist()
        if batch is None:
            return
        for value in values:
            row += 1
            yield row, value


@contextmanager
def _refused() -> Iterator[None]:
    """Turn errors of the Parquet reader into `InputError`."""
    arrow = extras.load("pyarrow", "arrow", "reading Parquet")
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError("file", " ".join(str(error).split()), "must be a complete Parquet file of values that Python can hold") from error


def _plain(value: Any) -> Any:
    """Convert `value` to what JSON can hold."""
    if isinstance(value, dict):
        return {str(name): _plain(field) for name, field in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | dt.timedelta):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value
