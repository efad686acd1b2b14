"""Reader for rows of Parquet files, in batches."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.stream import MAX_LINE_BYTES

MAGIC: Final = b"PAR1"
_BATCH: Final = 256
"""Rows in memory at a time. The number is small because a row of an arena file contains a full conversation."""
_BUFFER: Final = 1 << 16
_TEXTS: Final = frozenset({"STRING", "JSON", "NONE"})
"""Logical types of columns that contain texts or bytes."""


def parquet_types(stream: BinaryIO) -> list[tuple[str, Any]]:
    """Read name and Arrow type of each of a Parquet file's columns. Raises `InputError` for a damaged file."""
    schema = opened(stream).schema_arrow
    return list(zip(schema.names, schema.types, strict=True))


def python_rows(stream: BinaryIO, needed: Collection[str], columns: Sequence[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the rows of a Parquet file, with values as Python objects.

    The reader loads one batch of rows at a time instead of complete row groups. A page can store a long text once for many rows. Texts
    therefore stay dictionary-encoded until the size of each row is known.

    Args:
        stream: The file; seekable, because Parquet stores the positions of its columns at the end.
        needed: Columns that the file must have.
        columns: Columns to read; None reads all.

    Yields:
        The row's number, from 1, and the value of each column. Raises `InputError` for a damaged file, and `FormatError` for a file
        without a needed column and a row of more than `MAX_LINE_BYTES`.
    """
    file = opened(stream)
    for column in needed:
        if column not in file.schema_arrow.names:
            raise FormatError(1, column, file.schema_arrow.names, "must be a column of the file")
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in _TEXTS]
    yield from _rows(opened(stream, texts), columns, file.schema_arrow)


def opened(stream: BinaryIO, coded: Sequence[str] = ()) -> Any:
    """Open the file. coded: paths of columns to read as dictionary-encoded texts."""
    if not stream.seekable():
        raise InputError("file", "Parquet, compressed again or from a pipe", "must be a plain file: Parquet stores its index at the end")
    import pyarrow.parquet as parquet  # noqa: PLC0415, PLR0402 - takes time to load

    with refused():
        return parquet.ParquetFile(stream, read_dictionary=coded, pre_buffer=False, buffer_size=_BUFFER, memory_map=False)


def _rows(file: Any, columns: Sequence[str] | None, schema: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    batches, row = _batches(file, columns), 0
    while True:
        with refused():
            if (batch := next(batches, None)) is None:
                return
        for part in _parts(batch, row + 1):
            with refused():
                values = _written_out(part, schema).to_pylist()
            for value in values:
                row += 1
                yield row, value


def _batches(file: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Batches that never span two row groups, because a list of texts cannot have two dictionaries."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(_BATCH, row_groups=[group], columns=columns, use_threads=False)


def _parts(batch: Any, first: int) -> Iterator[Any]:
    """Split a batch into parts of at most `MAX_LINE_BYTES`. first: number of its first row. Raises `FormatError` for a larger row."""
    with refused():
        size = sum(map(_bytes_of, batch.columns))
    if size <= MAX_LINE_BYTES:
        yield batch
    elif len(batch) == 1:
        raise FormatError(first, None, size, f"must be a row of at most {MAX_LINE_BYTES} bytes")
    else:
        half = len(batch) // 2
        yield from _parts(batch.slice(0, half), first)
        yield from _parts(batch.slice(half), first + half)


def _bytes_of(column: Any) -> int:
    """Size of an Arrow array in bytes. For a dictionary, the texts are counted once for each row."""
    import pyarrow as pa  # noqa: PLC0415 - takes time to load
    from pyarrow import compute  # noqa: PLC0415 - as above

    if pa.types.is_dictionary(column.type):
        lengths = compute.binary_length(column.dictionary).take(column.indices)  # `take` checks the indices, which Arrow reads unchecked
        return compute.sum(lengths).as_py() or 0
    if pa.types.is_struct(column.type):
        return sum(map(_bytes_of, column.flatten()))
    if pa.types.is_map(column.type):  # has no flatten
        begin, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
        return _bytes_of(column.values.slice(begin, end - begin))
    return _bytes_of(column.flatten()) if pa.types.is_nested(column.type) else int(column.nbytes)


def _written_out(batch: Any, schema: Any) -> Any:
    """Decode the dictionaries of a batch, because Python converts plain columns faster. schema: of the file, with the plain types."""
    import pyarrow as pa  # noqa: PLC0415 - takes time to load

    types = dict(zip(schema.names, schema.types, strict=True))
    try:
        return batch.cast(pa.schema([(name, types[name]) for name in batch.schema.names]))
    except pa.ArrowException:  # Arrow has no cast for some types of lists and texts
        return batch


@contextmanager
def refused() -> Iterator[None]:
    """Turn errors of the Parquet reader into `InputError`."""
    import pyarrow as pa  # noqa: PLC0415 - takes time to load

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError("file", " ".join(str(error).split()), "must be a complete Parquet file of values that Python can hold") from error
