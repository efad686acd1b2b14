"""Replaces erased names in a partition's table, in one commit that conflicts with every append and compaction beside it.

The first segment that holds a name and all later ones are written again, because the hash chain of all rows after a changed row changes.
The stored chain of these rows is checked first, so an erasure never hides a change that somebody else made.

The commit names the archive's application id, so a writer with an older snapshot fails in its own commit. The table keeps how many
erasures its rows have undergone, so a writer that does not know all of them is refused (`writer.py`). A killed erasure leaves the table
as it was, and is done again from the beginning.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from services.archive.chain import ChainHead, extended, verify
from services.archive.erased_rows import erased
from services.archive.reader import ArchiveReader
from services.archive.schema import APP_ID, ELSEWHERE_ID, ERASURES_ID, SCHEMA, SEGMENT_ROWS, layout
from services.archive.table import checked, elsewhere_of, erasures_of, find_table, position_of, sync_commit, sync_left
from services.archive.writer import ArchiveMovedError
from services.control.erasures import ArchiveRewrite, ErasureRequest, NameMatcher, matchers

_NOTE: Final = "equirank.erasure"
_UNNAMED_HOURS: Final = 1
"""Age from which on a file that the table's log does not name is of no append that still runs: tasks end within minutes."""
_SEARCHED: Final = ("pool", "agents", "meta", "raw")


def erase_rows(
    url: str,
    partition: int,
    log: str,
    requests: Sequence[ErasureRequest],
    elsewhere: Sequence[ErasureRequest] = (),
    *,
    settled: tuple[int, int] = (0, 0),
) -> ArchiveRewrite | None:
    """Replace the erased names in the rows of a partition, and delete the files that held them.

    Readers that have one of these files open fail, and have to open the archive again.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        log: Identity of the outcome log.
        requests: Erasures of the partition's pools, in the order of the control log.
        elsewhere: All erasures of other pools, in the same order.
        settled: How many of both the control log notes as done. Where all are, only a table from before that, as from a backup, is
            changed.

    Returns:
        What the newest of the erasures that are not noted changed; None where no row held a name, or nothing was archived.

    Raises:
        ArchiveMovedError: Another commit came first; nothing was changed, and a later try can help.
        ChainBrokenError: Rows are not those that were appended; nothing is changed before they are restored.
        OtherLogError, ArchiveDamagedError, DeltaError, OSError: The table cannot be read or written.
    """
    table = find_table(url, partition)
    if table is None or not (requests or elsewhere):
        return None
    done, wanted = (erasures_of(checked(table, log)), elsewhere_of(table)), (len(requests), len(elsewhere))
    left = [*requests[done[0] :], *elsewhere[done[1] :]]
    if not left and wanted == settled:
        return None
    sync_left(table)
    changed = _replace(table, partition, matchers(left), (max(done[0], wanted[0]), max(done[1], wanted[1]))) if left else None
    if changed is None and (done[0] > settled[0] or done[1] > settled[1]):
        changed = _noted(table, partition, settled)
    _delete_replaced(table)
    return changed


def _delete_replaced(table: DeltaTable) -> None:
    """Delete all files that the snapshot does not hold: those replaced of late at once, and older ones that the table's log has forgotten.

    A file that the log does not name may be one of an append that is about to be committed, unless it is old.
    """
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    table.vacuum(_UNNAMED_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
    sync_left(table)


def _replace(table: DeltaTable, partition: int, names: Mapping[str, NameMatcher], count: tuple[int, int]) -> ArchiveRewrite | None:
    """Replace names in one commit, after which the rows have undergone `count` erasures, of the partition and of others."""
    reader = ArchiveReader(table)
    found = _search(reader, names)
    if not found:
        table.create_write_transaction([], "append", Schema.from_arrow(SCHEMA), commit_properties=_properties(table, count, None))
        return None
    first, before = min(found), reader.chain_head(partition)[0]
    note = _Note(erasures=count[0], elsewhere=count[1], rows=sum(found.values()), covered=before.rows, before=before.link.hex())
    stream = _Stream(_rewritten(reader, first, reader.link(partition, first * SEGMENT_ROWS), names))
    try:
        write_deltalake(
            table,
            pa.RecordBatchReader.from_batches(SCHEMA, stream.batches()),
            mode="overwrite",
            predicate=f"segment >= {first}",
            commit_properties=_properties(table, count, note),
            writer_properties=layout(),
        )
    except CommitFailedError as error:
        table.update_incremental()
        raise ArchiveMovedError(table.table_uri, reader.position, position_of(table)) from error
    except DeltaError:
        if stream.failure is not None:
            raise stream.failure from None
        raise
    sync_commit(table)
    return note.change(table, partition)


class _Note(msgspec.Struct, frozen=True):
    """What the commit of an erasure says of it. erasures, elsewhere: how many the rows have undergone with it."""

    erasures: int
    rows: int
    covered: int
    before: str
    elsewhere: int = 0

    def change(self, table: DeltaTable, partition: int) -> ArchiveRewrite:
        """The same with the link that the table has now."""
        after = ArchiveReader(table).link(partition, self.covered).link.hex()
        return ArchiveRewrite(rows=self.rows, covered=self.covered, before=self.before, after=after)


def _noted(table: DeltaTable, partition: int, settled: tuple[int, int]) -> ArchiveRewrite:
    """What the newest erasure after the first `settled` ones changed, which an earlier call committed.

    The table's log forgets the link before it after a day.
    """
    for commit in table.history():
        if (text := commit.get(_NOTE)) is not None:
            note = msgspec.json.decode(text, type=_Note)
            if note.erasures > settled[0] or note.elsewhere > settled[1]:
                return note.change(table, partition)
    head = ArchiveReader(table).chain_head(partition)[0]
    return ArchiveRewrite(rows=0, covered=head.rows, before="", after=head.link.hex())


def _search(reader: ArchiveReader, names: Mapping[str, NameMatcher]) -> dict[int, int]:
    """Numbers of the segments that hold an erased name, each with how many rows do."""
    counts: dict[int, int] = {}
    for number, pools in enumerate(reader.rows_from(0, ("row", "pool"))):
        if not {None, *names}.isdisjoint(pools["pool"].unique().to_pylist()):  # of a pool elsewhere there is a row here only by mistake
            table = next(reader.rows_from(pools["row"][0].as_py(), ("row", *_SEARCHED)))
            counts[number] = int(np.count_nonzero(erased(table, names)[1]))
    return {number: count for number, count in counts.items() if count}


def _rewritten(reader: ArchiveReader, first: int, head: ChainHead, names: Mapping[str, NameMatcher]) -> Iterator[pa.Table]:
    """Segments from number `first` on, without the names and with another chain. head: the link before them."""
    old = new = head
    for table in reader.rows_from(first * SEGMENT_ROWS):
        old = verify(old, [table])
        rows, _ = erased(table, names)
        new, links = extended(new, rows)
        yield rows.set_column(rows.column_names.index("chain"), SCHEMA.field("chain"), pa.array(links, pa.binary()))


class _Stream:
    """Tables as batches for the writer of Delta, which asks from threads that may not read tables. failure: why reading failed."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self.failure: Exception | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches. Raises what reading raises."""
        with ThreadPoolExecutor(1, "erasure") as executor:
            try:
                while (table := executor.submit(next, self._tables, None).result()) is not None:
                    yield from table.to_batches()
            except Exception as error:
                self.failure = error
                raise


def _properties(table: DeltaTable, count: tuple[int, int], note: _Note | None) -> CommitProperties:
    """The transactions of a commit: the position does not move, and the commit conflicts with appends all the same."""
    return CommitProperties(
        custom_metadata=None if note is None else {_NOTE: msgspec.json.encode(note).decode()},
        max_commit_retries=0,
        app_transactions=[Transaction(APP_ID, position_of(table)), *map(Transaction, (ERASURES_ID, ELSEWHERE_ID), count)],
    )
