"""Reads a partition's table in log order, piece by piece. The order of the table's files does not matter."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyarrow.dataset import FileSystemDataset, ParquetReadOptions
from pyarrow.fs import SubTreeFileSystem

from services.archive.constants import constants
from services.archive.location import table_uri
from services.archive.pieces import Piece, pieces
from services.archive.schema import CODED, NAMES, ORDER, SCHEMA, SEGMENT_ROWS, fields
from services.archive.table import begin_of, log_of, position_of
from services.runtime.deadlines import Calls
from services.runtime.object_stores import SCHEMES, open_file_system, scheme_of

OPEN_SECONDS: Final = 15.0
"""Deadline for opening a table, in seconds."""
READ_SECONDS: Final = 120.0
"""Deadline for reading a piece of a segment, and for reading the statistics of its files, in seconds. A segment has about 60 MB."""
_MOST_CALLS: Final = 8
_CALLS: Final = Calls(_MOST_CALLS, "archive")
T = TypeVar("T")


class ArchiveDamagedError(Exception):
    """Rows of the table are missing or duplicated, or in a file that cannot be read."""

    def __init__(self, uri: str, why: str) -> None:
        super().__init__(f"the archive {uri} is damaged: {why}; restore the table from a backup")


class ArchiveReader:
    """Reads one snapshot of a partition's table. Later appends and compactions do not affect the snapshot.

    Attributes:
        begin: First log offset of the snapshot.
        position: Log offset after the last one of the snapshot.
        rows: Number of rows of the snapshot.
        log: Identity of the log.
    """

    def __init__(self, table: DeltaTable) -> None:
        self._table = table
        options = ParquetReadOptions(dictionary_columns={NAMES})
        self._data = table.to_pyarrow_dataset(schema=CODED, parquet_read_options=options, filesystem=_files(table.table_uri))
        self.begin, self.position, self.rows, self.log = begin_of(table), position_of(table), rows_of(table), log_of(table)

    @property
    def segments(self) -> int:
        """Number of segments."""
        return -(-self.rows // SEGMENT_ROWS)

    def read(
        self,
        begin: int = 0,
        end: int | None = None,
        *,
        pool: str | None = None,
        kind: str | None = None,
        columns: Sequence[str] = SCHEMA.names,
        coded: bool = False,
        most: int | None = None,
    ) -> Iterator[pa.Table]:
        """Yield rows in order of row number, in tables of one piece of a segment or less.

        Args:
            begin: First offset to read.
            end: Offset to end before; None reads to the snapshot's position.
            pool: Read only the rows of this pool.
            kind: Read only the rows of this kind.
            columns: Columns to return.
            coded: Faster form for folds: agents' names stay dictionary-encoded as in the files, and a column with a single value in the
                segment is made from the files' statistics without being read.
            most: Maximal rows of a table; None for a piece. Fewer rows take less memory, but parts of files are read several times.

        Raises:
            ArchiveDamagedError: Rows are missing or duplicated. This is checked only without `pool` and `kind`.
            OSError: The files cannot be read. It is `TimeoutError` if a piece exceeds its deadline.

        """
        wanted = pc.field("offset") >= begin
        wanted = wanted if end is None else wanted & (pc.field("offset") < end)
        equal = {name: value for name, value in (("pool", pool), ("kind", kind)) if value is not None}
        following: int | None = 0 if begin <= 0 else None
        for segment in range(self.segments):
            for table in self._tables(segment, wanted, columns, equal, most, derived=coded):
                if not equal and len(table):
                    following = self._check(table[ORDER].to_numpy(), following)
                if len(table):
                    yield table.select(list(columns)) if coded else table.select(list(columns)).cast(fields(columns))
        if not equal and end is None and following not in {None, self.rows}:
            raise self._missing(following or 0, self.rows, 0)

    def segment(self, number: int, columns: Sequence[str] = SCHEMA.names) -> pa.Table:
        """All rows of a segment in order of row number. Raises `ArchiveDamagedError`."""
        first, end = number * SEGMENT_ROWS, min((number + 1) * SEGMENT_ROWS, self.rows)
        parts = self._tables(number, pc.field(ORDER) >= first, columns, {})
        table = pa.concat_tables([CODED.empty_table().select(_with_order(columns)), *parts])
        if self._check(table[ORDER].to_numpy(), first) != end:
            raise self._missing(first, end, len(table))
        return table.select(list(columns)).cast(fields(columns))

    def _tables(
        self,
        segment: int,
        wanted: pc.Expression,
        columns: Sequence[str],
        equal: Mapping[str, str],
        most: int | None = None,
        *,
        derived: bool = False,
    ) -> Iterator[pa.Table]:
        """Yield rows of one segment in order of row number, in tables of one piece or less.

        Args:
            segment: Number of the segment.
            wanted: Filter of rows.
            columns: Columns to return.
            equal: Column -> value that rows must have. No row is compared where the files' statistics say that all have it.
            most: Maximal rows of a table; None for a piece.
            derived: Make columns with a single value from the files' statistics instead of reading them. Otherwise both are compared.

        Raises:
            ArchiveDamagedError: A file is invalid, or differs from its statistics.
        """
        names = _with_order(columns)
        constant, segment_pieces = self._call(partial(self._read_statistics, segment, [*names, *equal]))
        for name, value in equal.items():
            wanted = wanted if constant.get(name) == value else wanted & (pc.field(name) == value)
        read = [name for name in names if not (derived and name in constant)]
        for piece in segment_pieces:
            for first in range(piece.begin, piece.end, most or piece.end - piece.begin):
                here = wanted if most is None else wanted & (pc.field(ORDER) >= first) & (pc.field(ORDER) < first + most)
                table = self._call(partial(self._read, piece, here, read))
                yield self._in_order(self._add_constants(table, segment, constant))

    def _call(self, work: Callable[[], T]) -> T:
        """Return `work()`, which reads files. Raises `ArchiveDamagedError` for an invalid file, and `TimeoutError` past the deadline."""
        try:
            return _CALLS.run(self._table.table_uri, work, READ_SECONDS)
        except pa.ArrowInvalid as error:
            raise ArchiveDamagedError(self._table.table_uri, str(error)) from error

    def _read_statistics(self, segment: int, names: Sequence[str]) -> tuple[dict[str, Any], list[Piece]]:
        """Constant columns of a segment with their values, and its pieces, from the statistics of its files."""
        files = list(self._data.get_fragments(pc.field("segment") == segment))
        return constants(files, names), pieces(files, segment * SEGMENT_ROWS, (segment + 1) * SEGMENT_ROWS)

    def _read(self, piece: Piece, wanted: pc.Expression, names: Sequence[str]) -> pa.Table:
        data = FileSystemDataset(piece.groups, CODED, self._data.format, self._data.filesystem)
        return data.to_table(columns=names, filter=wanted)

    def _add_constants(self, table: pa.Table, segment: int, constant: Mapping[str, Any]) -> pa.Table:
        """Add the constant columns that were not read. Raises `ArchiveDamagedError` if a column that was read has another value."""
        for name, value in constant.items():
            if name not in table.column_names:
                table = table.append_column(CODED.field(name), pa.repeat(pa.scalar(value, CODED.field(name).type), len(table)))
            elif table[name].null_count < len(table) if value is None else table[name].unique().to_pylist() not in ([], [value]):
                raise ArchiveDamagedError(self._table.table_uri, f"statistics of segment {segment} say that {name} is always {value}")
        return table

    @staticmethod
    def _in_order(table: pa.Table) -> pa.Table:
        """Sort rows by number. Files come in any order, but usually in few ascending runs, which are reordered without a copy."""
        number = table[ORDER].to_numpy()
        starts = np.flatnonzero(np.append(True, number[1:] <= number[:-1])) if len(number) else np.zeros(0, np.int64)
        if len(starts) < 2:
            return table
        ends = np.append(starts[1:], len(number))
        order = np.argsort(number[starts], kind="stable")
        if (number[starts[order][1:]] <= number[ends[order][:-1] - 1]).any():  # the runs of two files overlap
            return table.combine_chunks().take(np.argsort(number, kind="stable"))
        return pa.concat_tables([table.slice(starts[run], ends[run] - starts[run]) for run in order])

    def _check(self, number: Any, following: int | None) -> int:
        first = int(number[0]) if following is None and len(number) else following or 0
        end = first + len(number)
        if not np.array_equal(number, np.arange(first, end)):
            last = max(end, int(number.max()) + 1)
            raise self._missing(first, last, len(number))
        return end

    def _missing(self, first: int, end: int, count: int) -> ArchiveDamagedError:
        why = f"it must hold each of the rows {first} to {end - 1} once and holds {count} rows there"
        return ArchiveDamagedError(self._table.table_uri, why)


def _with_order(columns: Sequence[str]) -> list[str]:
    """The columns, and the number of the row if it is not one of them."""
    return list(dict.fromkeys([*columns, ORDER]))


def open_reader(url: str, partition: int) -> ArchiveReader:
    """Open a reader of the newest snapshot.

    Args:
        url: URL of the archive.
        partition: Number of the partition.

    Raises:
        TableNotFoundError: The partition has no table.
        DeltaError, OSError: The table cannot be read. It is `TimeoutError` past the deadline.

    """
    uri = table_uri(url, partition)
    return _CALLS.run(uri, lambda: ArchiveReader(DeltaTable(uri)), OPEN_SECONDS)


def _files(uri: str) -> SubTreeFileSystem | None:
    """The file system of pyarrow for a table; None if pyarrow does not support the scheme of the URI.

    It is used instead of deltalake's file system, which calls Python from threads of pyarrow. If such a call is still running when the
    process ends, the process crashes.
    """
    if scheme_of(uri) not in SCHEMES:
        return None
    store, path = open_file_system(uri)
    return SubTreeFileSystem(path, store)


def rows_of(table: DeltaTable) -> int:
    """Number of rows of a snapshot, from the statistics of its files."""
    files = pa.table(table.get_add_actions(flatten=True))
    return 0 if not len(files) else int(pc.max(files["max.row"]).as_py()) + 1


def check_count(table: DeltaTable, rows: int) -> None:
    """Raise `ArchiveDamagedError` if the files of a snapshot do not have `rows` rows together, by their statistics."""
    count = pc.sum(pa.table(table.get_add_actions(flatten=True))["num_records"], min_count=0).as_py()
    if count != rows:
        raise ArchiveDamagedError(table.table_uri, f"it must hold each of the rows 0 to {rows - 1} once and its files hold {count} rows")
