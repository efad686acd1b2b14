"""Appends to a partition's table, exactly once.

The table's log keeps the partition's position as the transaction version of one application id. An append covers the offsets from that
position to its end, and one commit holds both its rows and the new position. So a killed writer leaves either all of an append or
nothing, and files without a commit are invisible.

Delta compares only the application ids of concurrent commits, never their versions. Therefore the writer checks the version on the very
snapshot that it commits on: a writer whose snapshot is older than another's commit fails in the commit, and one whose batch begins
elsewhere fails before it. The id holds no epoch, so a superseded shard conflicts with its successor.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from ratings_core.errors import InputError
from services.archive.chain import ChainHead, extended
from services.archive.erased_rows import erased
from services.archive.reader import ArchiveReader
from services.archive.schema import APP_ID, BEGIN_ID, CHAINED, CONTENT, ELSEWHERE_ID, ERASURES_ID, SCHEMA, SEGMENT_ROWS, fields, layout
from services.archive.table import elsewhere_of, erasures_of, open_table, position_of, sync_commit, sync_left
from services.control.erasures import ErasureRequest, matchers

_RETRIES: Final = 15
"""Commits tried again because a compaction or another maintenance commit came first."""


class ArchiveMovedError(Exception):
    """Another writer appended first. position: first offset that the archive does not hold now."""

    def __init__(self, uri: str, begin: int, position: int) -> None:
        self.position = position
        super().__init__(f"the archive {uri} is at offset {position}: it refused an append from offset {begin}; continue from {position}")


class UnknownErasureError(Exception):
    """The table's rows have undergone an erasure that the writer does not know: it would bring the name back."""

    def __init__(self, uri: str, applied: int, known: int) -> None:
        why = f"its rows have undergone {applied} erasures, and this writer knows {known}"
        super().__init__(f"the archive {uri} refused an append: {why}; read the control log to its end and open the archive again")


class ArchiveWriter:
    """Appends rows of one partition. Made by `open_writer`.

    position: first offset that is not archived. head: last link of the chain. erasures: those of the partition; rows are appended
    without the names of all that the table has undergone. elsewhere: those of other partitions; rows are appended without their names.
    """

    def __init__(
        self,
        table: DeltaTable,
        head: ChainHead,
        open_rows: pa.Table,
        erasures: Sequence[ErasureRequest] = (),
        elsewhere: Sequence[ErasureRequest] = (),
    ) -> None:
        self._table, self._open, self._erasures, self._elsewhere = table, open_rows, erasures, elsewhere
        self.position, self.head = position_of(table), head

    @property
    def rows(self) -> int:
        """Rows of the partition."""
        return self.head.rows + len(self._open)

    def append(self, rows: pa.Table, begin: int, end: int, *, gap_to: int | None = None) -> None:
        """Append what the log holds from offset `begin` to before `end`. When it returns, the rows are durable and visible.

        Args:
            rows: All rows of these offsets, in the order of the log, with the columns `CONTENT`.
            begin: The archive's position.
            end: The new position. It may be above the last row's offset, where the log has gaps.
            gap_to: First offset after records that are lost; None where nothing is lost. The table then begins there.

        Raises:
            InputError: The rows are not between `begin` and `end`, or not in order.
            ArchiveMovedError: Another writer appended first. Nothing of this append is visible. Open the archive again.
            UnknownErasureError: The table has undergone an erasure that this writer does not know.
            DeltaError, OSError: The store failed. Whether the append is visible is unknown: open the archive again.

        """
        _check(rows, begin, end)
        if begin != self.position or position_of(self._table) != begin:
            raise ArchiveMovedError(self._table.table_uri, begin, position_of(self._table))
        applied, elsewhere = self._applied()
        numbered = self._numbered(erased(rows, matchers([*self._erasures[:applied], *self._elsewhere]))[0])
        chained = pa.concat_tables([self._open, numbered.select(CHAINED).cast(fields(CHAINED))])
        head, links = extended(self.head, chained)
        numbered = numbered.append_column("chain", pa.array(links[len(self._open) :], pa.binary()))
        transactions = [Transaction(APP_ID, end), Transaction(ERASURES_ID, applied), Transaction(ELSEWHERE_ID, elsewhere)]
        transactions += [] if gap_to is None else [Transaction(BEGIN_ID, gap_to)]
        self._commit(numbered.select(SCHEMA.names).cast(SCHEMA), transactions)
        self._open = chained.slice(head.rows - self.head.rows).combine_chunks()
        self.head, self.position = head, end

    def _applied(self) -> tuple[int, int]:
        """How many erasures the table has undergone after an append, of its partition and of others: as many as before, and all that are
        known where it holds nothing yet.

        Raises `UnknownErasureError`.
        """
        applied, known = (erasures_of(self._table), elsewhere_of(self._table)), (len(self._erasures), len(self._elsewhere))
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
            write_deltalake(self._table, rows, mode="append", commit_properties=properties, writer_properties=layout())
        except CommitFailedError as error:
            self._table.update_incremental()
            raise ArchiveMovedError(self._table.table_uri, self.position, position_of(self._table)) from error
        sync_commit(self._table)


def open_writer(
    url: str, partition: int, log: str, erasures: Sequence[ErasureRequest] = (), elsewhere: Sequence[ErasureRequest] = ()
) -> ArchiveWriter:
    """A writer that continues where the table ends. Creates the table if it does not exist.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        log: Identity of the outcome log.
        erasures: All erasures of the partition's pools, in the order of the control log.
        elsewhere: All erasures of other pools, in the same order.

    Raises:
        OtherLogError: The table belongs to another log.

    """
    table = open_table(url, partition, log)
    sync_left(table)
    head, open_rows = ArchiveReader(table).chain_head(partition)
    return ArchiveWriter(table, head, open_rows.select(CHAINED), erasures, elsewhere)


def _check(rows: pa.Table, begin: int, end: int) -> None:
    if not len(rows):
        raise InputError("rows", 0, "must be one row or more: wait for records before an append")
    offset, item = rows["offset"].to_numpy(), rows["item"].to_numpy()
    if not begin <= offset[0] <= offset[-1] < end:
        raise InputError("rows", (int(offset[0]), int(offset[-1])), f"must have offsets from {begin} to below {end}")
    same, later = offset[1:] == offset[:-1], offset[1:] > offset[:-1]
    if not (later | (same & (item[1:] > item[:-1]))).all():
        raise InputError("rows", len(rows), "must rise by offset, then by item")
