"""Replace erased names in a partition's table, in one commit that conflicts with every concurrent append and compaction.

The first segment with an erased name and all later segments are rewritten, because the hash chain after a changed row changes. The stored
chain of these rows is checked first. Without this check, the rewrite would give tampered rows a valid chain.

The commit uses the archive's application id, so a writer with an older snapshot fails in its own commit. The table stores the number of
erasures applied to its rows, and `writer.py` refuses to append if its own list of erasures is shorter. A killed erasure leaves the table
unchanged, and the next call starts again.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from services.archive.table import checked, erasures_of, find_table, position_of, sync_commit, sync_left
from services.archive.writer import ArchiveMovedError
from services.control.erasures import ArchiveRewrite, ErasureRequest, NameMatcher, matchers
from services.runtime.deadlines import start

_NOTE: Final = "equirank.erasure"
_UNNAMED_HOURS: Final = 1
"""Minimum age in hours at which a file without an entry in the table's log is deleted. A newer file may belong to a running append, which
ends within minutes."""
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
    """Replace the erased names in the rows of a partition, and delete the replaced files.

    Readers of an older snapshot fail, and have to open the archive again.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        log: Identity of the outcome log.
        requests: Erasures of the partition's pools, in the order of the control log.
        elsewhere: All erasures of other pools, in the same order.
        settled: Numbers of `requests` and of `elsewhere` that the control log notes as done. If all are done, only a table that lacks
            some of them is changed, such as one restored from a backup.

    Returns:
        Change of the table by this call, or by an earlier call that the control log does not note yet. None if no row held a name, or
        nothing is archived.

    Raises:
        ArchiveMovedError: Another commit came first. Nothing was changed; call again.
        ChainBrokenError: Rows are not those that were appended. Nothing was changed; the table has to be restored first.
        OtherLogError, ArchiveDamagedError, DeltaError, OSError: The table cannot be read or written.
    """
    table = find_table(url, partition)
    if table is None or not (requests or elsewhere):
        return None
    done, wanted = erasures_of(checked(table, log)), (len(requests), len(elsewhere))
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
    """Delete all files outside of the snapshot: replaced files in the table's log at once, and files without an entry by their age.

    A file without an entry in the table's log may belong to an append before its commit, so it is deleted after `_UNNAMED_HOURS`.
    """
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    table.vacuum(_UNNAMED_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
    sync_left(table)


def _replace(table: DeltaTable, partition: int, names: Mapping[str, NameMatcher], count: tuple[int, int]) -> ArchiveRewrite | None:
    """Replace names in one commit. Returns its change; None if no row held a name.

    count: numbers of erasures, of this partition and of others, that are applied to the rows after the commit.
    """
    reader = ArchiveReader(table)
    found = _search(reader, names)
    if not found:
        table.create_write_transaction([], "append", Schema.from_arrow(SCHEMA), commit_properties=_properties(table, count, None))
        return None
    first, before = min(found), reader.chain_head(partition)[0]
    note = _Note(erasures=count[0], elsewhere=count[1], rows=sum(found.values()), covered=before.rows, before=before.link.hex())
    failures, tables = list[Exception](), _rewritten(reader, first, reader.link(partition, first * SEGMENT_ROWS), names)
    try:
        write_deltalake(
            table,
            pa.RecordBatchReader.from_batches(SCHEMA, _batches(tables, failures)),
            mode="overwrite",
            predicate=f"segment >= {first}",
            commit_properties=_properties(table, count, note),
            writer_properties=layout(),
        )
    except CommitFailedError as error:
        table.update_incremental()
        raise ArchiveMovedError(table.table_uri, reader.position, position_of(table)) from error
    except DeltaError:
        if failures:
            raise failures[0] from None
        raise
    sync_commit(table)
    return note.change(table, partition)


class _Note(msgspec.Struct, frozen=True):
    """Metadata of an erasure's commit.

    Attributes:
        erasures: Number of erasures of this partition that are applied to the rows after the commit.
        rows: Number of changed rows.
        covered: Number of rows that the link covers.
        before: Link before the commit, hexadecimal.
        elsewhere: As `erasures`, of other partitions.
    """

    erasures: int
    rows: int
    covered: int
    before: str
    elsewhere: int = 0

    def change(self, table: DeltaTable, partition: int) -> ArchiveRewrite:
        """Change for the control log, with the link after the commit."""
        after = ArchiveReader(table).link(partition, self.covered).link.hex()
        return ArchiveRewrite(rows=self.rows, covered=self.covered, before=self.before, after=after)


def _noted(table: DeltaTable, partition: int, settled: tuple[int, int]) -> ArchiveRewrite:
    """Change of the newest erasure, which an earlier call committed and the control log does not note.

    The table's log drops the commit's metadata after a day. The link before the erasure and the number of changed rows are then unknown.
    """
    for commit in table.history():
        if (text := commit.get(_NOTE)) is not None:
            note = msgspec.json.decode(text, type=_Note)
            if note.erasures > settled[0] or note.elsewhere > settled[1]:
                return note.change(table, partition)
    head = ArchiveReader(table).chain_head(partition)[0]
    return ArchiveRewrite(rows=0, covered=head.rows, before="", after=head.link.hex())


def _search(reader: ArchiveReader, names: Mapping[str, NameMatcher]) -> dict[int, int]:
    """Segment number -> number of rows with an erased name; only segments with such rows."""
    counts: dict[int, int] = {}
    for number, pools in enumerate(reader.rows_from(0, ("row", "pool"))):
        if not {None, *names}.isdisjoint(pools["pool"].unique().to_pylist()):  # None: refused bytes may name any agent
            table = next(reader.rows_from(pools["row"][0].as_py(), ("row", *_SEARCHED)))
            counts[number] = int(np.count_nonzero(erased(table, names)[1]))
    return {number: count for number, count in counts.items() if count}


def _rewritten(reader: ArchiveReader, first: int, head: ChainHead, names: Mapping[str, NameMatcher]) -> Iterator[pa.Table]:
    """Yield the segments from number `first` on, with tokens and a new chain. head: link before them. Raises `ChainBrokenError`."""
    old = new = head
    for table in reader.rows_from(first * SEGMENT_ROWS):
        old = verify(old, [table])
        rows, _ = erased(table, names)
        new, links = extended(new, rows)
        yield rows.set_column(rows.column_names.index("chain"), SCHEMA.field("chain"), pa.array(links, pa.binary()))


def _batches(tables: Iterator[pa.Table], failures: list[Exception]) -> Iterator[pa.RecordBatch]:
    """Yield all batches for Delta's writer. It iterates on threads that cannot read tables, so other threads read them.

    Raises the error of reading, and adds it to `failures`, because the writer raises only its own error.
    """
    try:
        while (table := start(lambda: next(tables, None), "erasure").result()) is not None:
            yield from table.to_batches()
    except Exception as error:
        failures.append(error)
        raise


def _properties(table: DeltaTable, count: tuple[int, int], note: _Note | None) -> CommitProperties:
    """Properties of an erasure's commit. It sets the position to its present value, so that concurrent appends conflict with it."""
    return CommitProperties(
        custom_metadata=None if note is None else {_NOTE: msgspec.json.encode(note).decode()},
        max_commit_retries=0,
        app_transactions=[Transaction(APP_ID, position_of(table)), *map(Transaction, (ERASURES_ID, ELSEWHERE_ID), count)],
    )
