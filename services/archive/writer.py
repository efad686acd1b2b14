"""Append rows to a partition's table, exactly once.

The table's log stores the partition's position as the transaction version of an application id. An append covers the offsets from that
position to its end, and a single commit holds its rows and the new position. So a killed writer leaves either the complete append or no
visible row: files without a commit are not part of a snapshot.

Delta compares only the application ids of concurrent commits, not their versions. The writer therefore checks the version on the snapshot
that it commits on. A batch that begins at another position is refused before the commit. If another writer committed after the snapshot,
the commit fails. The id is the same for all engines, so a superseded engine conflicts with its successor.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from ratings_core.errors import InputError
from services.archive.erased_rows import erased
from services.archive.reader import check_count, rows_of
from services.archive.schema import APP_ID, BEGIN_ID, CONTENT, ELSEWHERE_ID, ERASURES_ID, SCHEMA, SEGMENT_ROWS, layout
from services.archive.table import erasures_of, open_table, position_of, sync_commit, sync_left
from services.control.erasures import ErasureRequest, matchers

_RETRIES: Final = 15
"""Maximum number of retries of a commit after a compaction or another maintenance commit came first."""


class ArchiveMovedError(Exception):
    """Another writer appended first. position: the archive's present position."""

    def __init__(self, uri: str, begin: int, position: int) -> None:
        self.position = position
        super().__init__(f"the archive {uri} is at offset {position}: it refused an append from offset {begin}; continue from {position}")


class UnknownErasureError(Exception):
    """The table has an erasure that the writer lacks. Its append could contain the erased name."""

    def __init__(self, uri: str, applied: int, known: int) -> None:
        why = f"its rows have undergone {applied} erasures, and this writer knows {known}"
        super().__init__(f"the archive {uri} refused an append: {why}; read the control log to its end and open the archive again")


class ArchiveWriter:
    """Appends rows of one partition. Use `open_writer` to make one.

    Attributes:
        position: First offset that is not archived.
        rows: Number of rows of the partition.

    Args:
        table: The newest snapshot.
        erasures: Erasures of the partition. Tokens replace the names of those that are applied to the table.
        elsewhere: Erasures of other partitions. Tokens replace all of their names.
    """

    def __init__(self, table: DeltaTable, erasures: Sequence[ErasureRequest] = (), elsewhere: Sequence[ErasureRequest] = ()) -> None:
        self._table, self._erasures, self._elsewhere = table, erasures, elsewhere
        self.position, self.rows = position_of(table), rows_of(table)

    def append(self, rows: pa.Table, begin: int, end: int, *, gap_to: int | None = None) -> None:
        """Append the log's rows from offset `begin` to before `end`. On return, the rows are durable and visible.

        Args:
            rows: All rows of these offsets, in the order of the log, with the columns `CONTENT`.
            begin: The archive's position.
            end: The new position. It may be higher than the last row's offset plus 1, because offsets have gaps.
            gap_to: First offset after lost records, which becomes the table's begin; None if no record is lost.

        Raises:
            InputError: There are no rows, they are not between `begin` and `end`, or they are not in order.
            ArchiveMovedError: Another writer appended first. Nothing of this append is visible. Open the archive again.
            UnknownErasureError: The table has an erasure that this writer lacks.
            DeltaError, OSError: The store failed. Whether the append is visible is unknown: open the archive again.

        """
        _check(rows, begin, end)
        if begin != self.position or position_of(self._table) != begin:
            raise ArchiveMovedError(self._table.table_uri, begin, position_of(self._table))
        applied, elsewhere = self._applied()
        numbered = self._numbered(erased(rows, matchers([*self._erasures[:applied], *self._elsewhere]))[0])
        transactions = [Transaction(APP_ID, end), Transaction(ERASURES_ID, applied), Transaction(ELSEWHERE_ID, elsewhere)]
        transactions += [] if gap_to is None else [Transaction(BEGIN_ID, gap_to)]
        self._commit(numbered.select(SCHEMA.names).cast(SCHEMA), transactions)
        self.rows, self.position = self.rows + len(rows), end

    def _applied(self) -> tuple[int, int]:
        """Numbers of applied erasures after an append, of this partition and of others.

        An empty table gets all erasures of this writer. Otherwise the numbers do not change. Raises `UnknownErasureError`.
        """
        applied, known = erasures_of(self._table), (len(self._erasures), len(self._elsewhere))
        if applied[0] > known[0] or applied[1] > known[1]:
            raise UnknownErasureError(self._table.table_uri, sum(applied), sum(known))
        return applied if self.rows else known

    def _numbered(self, rows: pa.Table) -> pa.Table:
        number = np.arange(self.rows, self.rows + len(rows))
        segment = pa.array(number // SEGMENT_ROWS, pa.int32())
        return rows.select(CONTENT).append_column("row", pa.array(number)).append_column("segment", segment)

    def _commit(self, rows: pa.Table, transactions: list[Transaction]) -> None:
        properties = CommitProperties(app_transactions=transactions, max_commit_retries=_RETRIES)
        try:
            write_deltalake(
                self._table,
                rows,
                mode="append",
                schema_mode="merge",  # tables of earlier releases have a column that the rows lack
                commit_properties=properties,
                writer_properties=layout(),
            )
        except CommitFailedError as error:
            self._table.update_incremental()
            raise ArchiveMovedError(self._table.table_uri, self.position, position_of(self._table)) from error
        sync_commit(self._table)


def open_writer(
    url: str, partition: int, log: str, erasures: Sequence[ErasureRequest] = (), elsewhere: Sequence[ErasureRequest] = ()
) -> ArchiveWriter:
    """Open a writer at the table's position. Creates the table if it does not exist.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        log: Identity of the outcome log.
        erasures: All erasures of the partition's pools, in the order of the control log.
        elsewhere: All erasures of other pools, in the same order.

    Raises:
        OtherLogError: The table belongs to another log.
        ArchiveDamagedError: Rows are missing or duplicated, by the statistics of the files.
        DeltaError, OSError: The table cannot be read or synced.

    """
    table = open_table(url, partition, log)
    sync_left(table)
    writer = ArchiveWriter(table, erasures, elsewhere)
    check_count(table, writer.rows)
    return writer


def _check(rows: pa.Table, begin: int, end: int) -> None:
    if not len(rows):
        raise InputError("rows", 0, "must be one row or more: wait for records before an append")
    offset, item = rows["offset"].to_numpy(), rows["item"].to_numpy()
    if not begin <= offset[0] <= offset[-1] < end:
        raise InputError("rows", (int(offset[0]), int(offset[-1])), f"must have offsets from {begin} to below {end}")
    same, later = offset[1:] == offset[:-1], offset[1:] > offset[:-1]
    if not (later | (same & (item[1:] > item[:-1]))).all():
        raise InputError("rows", len(rows), "must rise by offset, then by item")
