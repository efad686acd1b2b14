"""Rows of Parquet files, a batch of pages at a time."""

import datetime as dt
import decimal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError

MAGIC: Final = b"PAR1"
_BATCH: Final = 256
"""Rows held at once, conversations of an arena and all."""
_BUFFER: Final = 1 << 16


def parquet_rows(stream: BinaryIO, needed: Collection[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number from 1, value of each column) of every row; dates and times are ISO texts, as in JSON.

    stream: seekable, since the columns' places are written at the end; needed: columns that must be there. Pages are read as they
    come, not whole row groups. Raises `InputError` for a file that is broken or lacks a column.
    """
    if not stream.seekable():
        raise InputError("file", "Parquet, packed once more or from a pipe", "must be a plain file: where its pages lie stands at its end")
    with _told():
        file = pq.ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER, memory_map=False)
    for column in needed:
        if column not in file.schema_arrow.names:
            raise FormatError(1, column, file.schema_arrow.names, "must be a column of the file")
    yield from _rows(file)


def _rows(file: pq.ParquetFile) -> Iterator[tuple[int, dict[str, Any]]]:
    batches, row = file.iter_batches(_BATCH, use_threads=False), 0
    while True:
        with _told():
            batch = next(batches, None)
            values = [] if batch is None else batch.to_pylist()
        if batch is None:
            return
        for value in values:
            row += 1
            yield row, {name: _plain(cell) for name, cell in value.items()}


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError("file", " ".join(str(error).split()), "must be a whole Parquet file of values that Python can hold") from error


def _plain(value: Any) -> Any:
    """`value` as JSON would have it."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | dt.timedelta):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value
