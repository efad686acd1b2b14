"""Merge the small files of appends, and delete replaced files after a delay.

Compaction changes no row. It may run in parallel with the writer, in any process: an append only adds files, so the two never conflict.
If two compactions merge the same files, one of them fails and changes nothing.
"""

from collections import Counter
from datetime import timedelta
from typing import Final

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from services.archive.location import table_uri
from services.archive.schema import layout
from services.archive.table import sync_commit, sync_left

OPEN_FILES: Final = 64
"""Number of files at which the newest segment is merged, as appends still add files to it. Older segments are merged at two files."""
KEEP: Final = timedelta(days=7)
"""Delay from the replacement of a file to its deletion. Readers of older snapshots have this long to finish."""


def compact(url: str, partition: int, *, open_files: int = OPEN_FILES, keep: timedelta = KEEP) -> int:
    """Merge the files of each segment that has many, and delete files that were replaced more than `keep` ago.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        open_files: Number of files at which the newest segment is merged.
        keep: Time from the replacement of a file to its deletion, rounded down to hours.

    Returns:
        Number of merged segments, without those that another process merged first.

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
