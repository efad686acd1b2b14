"""Create, open and sync a partition's table. Each partition of the outcome log has a table."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError

from services.archive.location import folder_of, table_uri
from services.archive.schema import APP_ID, BEGIN_ID, ELSEWHERE_ID, ERASURES_ID, SCHEMA, TABLE
from services.runtime.atomic_write import sync

_PREFIX: Final = "equirank log "
_LEFT: Final = 8
"""Number of newest commits to sync again. A task syncs its commits; a killed task leaves at most five without a sync, those of an
erasure."""


class OtherLogError(Exception):
    """The table holds outcomes of another log."""

    def __init__(self, uri: str, stored: str, log: str) -> None:
        rule = "set EQUIRANK_ARCHIVE to the archive of this log, or to an empty folder"
        super().__init__(f"the archive {uri} belongs to log {stored}, and this is log {log}; {rule}")


def open_table(url: str, partition: int, log: str) -> DeltaTable:
    """Open the newest snapshot of a partition's table. Creates the table if it does not exist.

    Args:
        url: URL of the archive.
        partition: Number of the partition.
        log: Identity of the outcome log.

    Raises:
        OtherLogError: The table belongs to another log.
        DeltaError: The table cannot be read.

    """
    uri = table_uri(url, partition)
    with suppress(TableNotFoundError):
        return require_log(DeltaTable(uri), log)
    with suppress(DeltaError):  # another process may create it first
        DeltaTable.create(
            uri, Schema.from_arrow(SCHEMA), mode="error", partition_by=["segment"], description=f"{_PREFIX}{log}", configuration=dict(TABLE)
        )
    return require_log(DeltaTable(uri), log)


def find_table(url: str, partition: int) -> DeltaTable | None:
    """Newest snapshot of a partition's table; None without a table. Raises `DeltaError`."""
    with suppress(TableNotFoundError):
        return DeltaTable(table_uri(url, partition))
    return None


def require_log(table: DeltaTable, log: str) -> DeltaTable:
    """Return `table`. Raises `OtherLogError` if its outcomes are not of `log`."""
    stored = log_of(table)
    if stored != log:
        raise OtherLogError(table.table_uri, stored, log)
    return table


def log_of(table: DeltaTable) -> str:
    """Identity of the log of a table's outcomes."""
    return (table.metadata().description or "").removeprefix(_PREFIX)


def position_of(table: DeltaTable) -> int:
    """Position of a snapshot: first offset that is not archived."""
    return table.transaction_version(APP_ID) or 0


def erasures_of(table: DeltaTable) -> tuple[int, int]:
    """Numbers of erasures that are applied to a snapshot's rows, of the partition and of others: the first ones in the control log."""
    return table.transaction_version(ERASURES_ID) or 0, table.transaction_version(ELSEWHERE_ID) or 0


def begin_of(table: DeltaTable) -> int:
    """Begin of a snapshot: it holds all records from this offset to its position. Rows with lower offsets are before a gap."""
    return table.transaction_version(BEGIN_ID) or 0


def sync_commit(table: DeltaTable) -> None:
    """Make the newest commit of a local table durable: its files, its entry in the table's log, and their folders.

    Delta's writer does not sync files. Object stores need no sync. Raises `OSError`.
    """
    if (root := folder_of(table.table_uri)) is not None:
        _sync(root, table.version())


def sync_left(table: DeltaTable) -> None:
    """Make the newest commits of a local table durable. A killed process may have left them without a sync. Raises `OSError`.

    Snapshots include such commits. Call this before a commit on a snapshot, and before files are deleted because of it.
    """
    if (root := folder_of(table.table_uri)) is None:
        return
    for version in range(max(0, table.version() - _LEFT + 1), table.version() + 1):
        with suppress(FileNotFoundError):  # replaced files, or a log entry that was cleaned up: long durable
            _sync(root, version)


def _sync(root: Path, version: int) -> None:
    entry = root / "_delta_log" / f"{version:020d}.json"
    actions = [json.loads(line) for line in entry.read_text(encoding="utf-8").splitlines()]
    files = [root / unquote(action["add"]["path"]) for action in actions if "add" in action]
    above = root.parents[:2]  # the archive's folder and the one that it is in: the first commit may have made both
    sync(dict.fromkeys([*files, *(file.parent for file in files), root, entry, entry.parent, *above]))
