"""Merges the small files of appends, and removes files that no snapshot needs.

Compaction changes no row. It may run beside the writer, in any process: an append only adds files, so the two never conflict. Of two
compactions of the same files one fails and changes nothing.
"""

from collections import Counter
from datetime import timedelta
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from services.archive.schema import layout
from services.archive.table import sync_commit, sync_left, table_uri

OPEN_FILES: Final = 64
"""Files of the newest segment, which appends still extend, before they are merged. Older segments are merged as soon as they have two."""
KEEP: Final = timedelta(days=7)
"""How long files are kept that newer snapshots do not hold: readers of older snapshots have so much time to finish."""


def compact(url: str, partition: int, *, open_files: int = OPEN_FILES, keep: timedelta = KEEP) -> int:
    """Merge the files of each segment that has many, and delete files that newer snapshots have not held for `keep`.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        open_files: Merge the newest segment once it has so many files.
        keep: How long readers of older snapshots may take.

    Returns:
        How many segments were merged. One that another process merged first does not count.

    Raises:
        TableNotFoundError: The partition has no table.
        DeltaError: The store failed; no row was changed.

    """
    table = DeltaTable(table_uri(url, partition))
    files = Counter(pa.table(table.get_add_actions(flatten=True))["partition.segment"].to_pylist())
    newest = max(files, default=0)
    merged = sum(_merge(table, segment) for segment, count in files.items() if count >= (open_files if segment == newest else 2))
    table.vacuum(int(keep.total_seconds() // 3600), dry_run=False, enforce_retention_duration=False, full=True)
    sync_left(table)
    return merged


def _merge(table: DeltaTable, segment: int) -> bool:
    try:
        table.optimize.compact(partition_filters=[("segment", "=", str(segment))], writer_properties=layout())
    except CommitFailedError:
        table.update_incremental()
        return False
    sync_commit(table)
    return True
