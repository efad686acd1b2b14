"""Replace erased names in a partition's table, in one commit that conflicts with every concurrent append and compaction.

Only segments with an erased name are rewritten.

The commit uses the archive's application id, so a writer with an older snapshot fails in its own commit. The table stores the number of
erasures applied to its rows, and `writer.py` refuses to append if its own list of erasures is shorter. A killed erasure leaves the table
unchanged, and the next call starts again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from services.archive.erased_rows import erased
from services.archive.reader import ArchiveReader
from services.archive.schema import APP_ID, ELSEWHERE_ID, ERASURES_ID, SCHEMA, layout
from services.archive.table import erasures_of, find_table, position_of, require_log, sync_commit, sync_left
from services.archive.writer import ArchiveMovedError
from services.control.erasures import ErasureRequest, NameMatcher, matchers
from services.runtime.deadlines import start

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
) -> int:
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
        Number of rows that this call changed.

    Raises:
        ArchiveMovedError: Another commit came first. Nothing was changed; call again.
        OtherLogError, ArchiveDamagedError, DeltaError, OSError: The table cannot be read or written.
    """
    table = find_table(url, partition)
    if table is None or not (requests or elsewhere):
        return 0
    done, wanted = erasures_of(require_log(table, log)), (len(requests), len(elsewhere))
    left = [*requests[done[0] :], *elsewhere[done[1] :]]
    if not left and wanted == settled:
        return 0
    sync_left(table)
    changed = _replace(table, matchers(left), (max(done[0], wanted[0]), max(done[1], wanted[1]))) if left else 0
    _delete_replaced(table)
    return changed


def _delete_replaced(table: DeltaTable) -> None:
    """Delete all files outside of the snapshot: replaced files in the table's log at once, and files without an entry by their age.

    A file without an entry in the table's log may belong to an append before its commit, so it is deleted after `_UNNAMED_HOURS`.
    """
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    table.vacuum(_UNNAMED_HOURS, dry_run=False, enforce_retention_duration=False, full=True)
    sync_left(table)


def _replace(table: DeltaTable, names: Mapping[str, NameMatcher], count: tuple[int, int]) -> int:
    """Replace names in one commit. Returns the number of changed rows.

    count: numbers of erasures, of this partition and of others, that are applied to the rows after the commit.
    """
    reader = ArchiveReader(table)
    changed_rows = _search(reader, names)
    if not changed_rows:
        table.create_write_transaction([], "append", table.schema(), commit_properties=_properties(table, count))
        return 0
    failures, tables = list[Exception](), (erased(reader.segment(number), names)[0] for number in changed_rows)
    try:
        write_deltalake(
            table,
            pa.RecordBatchReader.from_batches(SCHEMA, _batches(tables, failures)),
            mode="overwrite",
            schema_mode="merge",  # tables of earlier releases have a column that the rows lack
            predicate=f"segment IN ({', '.join(map(str, changed_rows))})",
            commit_properties=_properties(table, count),
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
    return sum(changed_rows.values())


def _search(reader: ArchiveReader, names: Mapping[str, NameMatcher]) -> dict[int, int]:
    """Segment number -> number of rows with an erased name; only segments with such rows."""
    counts: dict[int, int] = {}
    for number in range(reader.segments):
        pools = reader.segment(number, ("pool",))["pool"].unique().to_pylist()
        if not {None, *names}.isdisjoint(pools):  # None: refused bytes may name any agent
            counts[number] = int(np.count_nonzero(erased(reader.segment(number, _SEARCHED), names)[1]))
    return {number: count for number, count in counts.items() if count}


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


def _properties(table: DeltaTable, count: tuple[int, int]) -> CommitProperties:
    """Properties of an erasure's commit. It sets the position to its present value, so that concurrent appends conflict with it."""
    return CommitProperties(
        max_commit_retries=0,
        app_transactions=[Transaction(APP_ID, position_of(table)), *map(Transaction, (ERASURES_ID, ELSEWHERE_ID), count)],
    )
