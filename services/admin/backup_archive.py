"""The archive's part of a backup: each table as of one version, which fits the log that is in the same backup.

The log is copied in one snapshot, and the archive goes on meanwhile. The tables are therefore copied afterwards, each at the newest
version that does not reach beyond the log's copy. The log drops only what a version before its copy holds, so the two always meet.
A table that underwent an erasure meanwhile fits no log without its request, and its earlier versions are gone: there is no backup then.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from ratings_core.errors import InputError
from services.admin.log_copy import LogCopy
from services.archive.reader import ArchiveReader
from services.archive.table import elsewhere_of, erasures_of, find_table, log_of, position_of, table_uri

_LOG: Final = "_delta_log"
_LAST: Final = "_last_checkpoint"
_VERSION: Final = re.compile(r"(\d{20})\..*(json|parquet)")


def copy_archive(archive: Path, target: Path, log: LogCopy) -> int:
    """Copy the tables of a local archive.

    Args:
        archive: Folder of the archive.
        target: Folder to make.
        log: The log's copy in the same backup.

    Returns:
        How many rows the copied tables have.

    Raises:
        InputError: The archive does not fit the log: it is of another log, or lacks what the log dropped.
        DeltaError, OSError: The archive cannot be read, or the backup cannot be written.
    """
    return sum(_copy_table(str(archive), target, number, log) for number in log.heads)


def check_not_ahead(url: str, log: LogCopy) -> None:
    """Raise `InputError` where an archive holds what a log does not have: outcomes, whose offsets new ones would get, or erasures."""
    for number, (_, end) in log.heads.items():
        table = find_table(url, number)
        if table is None or log_of(table) != log.identity:
            continue
        _check_erasures(url, table, number, log, "restore an archive of the same time, or set EQUIRANK_ARCHIVE to an empty folder")
        if position_of(table) > end:
            rule = (
                f"must not end after the log, which ends at {end} in partition {number} (the archive at {position_of(table)}): restore an "
                "archive of the same time, or set EQUIRANK_ARCHIVE to an empty folder"
            )
            raise InputError("EQUIRANK_ARCHIVE", url, rule)


def _copy_table(url: str, target: Path, number: int, log: LogCopy) -> int:
    begin, end = log.heads[number]
    newest = find_table(url, number)
    if newest is not None and log_of(newest) != log.identity:
        raise InputError("EQUIRANK_ARCHIVE", url, f"must be the archive of this log ({log.identity}), not of {log_of(newest)}")
    table = None if newest is None else _fitting(newest, begin, end)
    if table is None:
        if begin:
            rule = f"must contain the offsets below {begin} that partition {number} of the log dropped: set it to the archive of this log"
            raise InputError("EQUIRANK_ARCHIVE", url, rule)
        return 0
    _check_erasures(url, table, number, log, "an erasure ran during the backup; back up again")
    made = Path(table_uri(str(target.absolute()), number))
    for name in _files(Path(table_uri(url, number)), table):
        (made / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(Path(table_uri(url, number)) / name, made / name)
    return ArchiveReader(DeltaTable(str(made))).rows


def _check_erasures(url: str, table: DeltaTable, number: int, log: LogCopy, remedy: str) -> None:
    """Raise `InputError` where a table's rows have undergone an erasure that the log does not know: nobody could tell its token."""
    own = log.erasures.get(number, 0)
    found, known = (erasures_of(table), elsewhere_of(table)), (own, sum(log.erasures.values()) - own)
    if found[0] > known[0] or found[1] > known[1]:
        counts = f"partition {number} has {sum(found)}, not {sum(known)}"
        rule = f"must not have erasures that are missing in the log, but {counts}: {remedy}"
        raise InputError("EQUIRANK_ARCHIVE", url, rule)


def _fitting(table: DeltaTable, begin: int, end: int) -> DeltaTable | None:
    """The newest version of a table from which the log's copy goes on; None if no version does."""
    for version in range(table.version(), -1, -1):
        older = DeltaTable(table.table_uri, version=version)
        if position_of(older) < begin:
            return None
        if position_of(older) <= end:
            return older
    return None


def _files(folder: Path, table: DeltaTable) -> Iterator[str]:
    """The files of one version of a table, by their paths in its folder: rows first, then its log up to that version."""
    yield from (unquote(path) for path in pa.table(table.get_add_actions(flatten=True))["path"].to_pylist())
    for path in sorted((folder / _LOG).iterdir()):
        version = _VERSION.fullmatch(path.name)
        if version is not None and int(version[1]) <= table.version():
            yield f"{_LOG}/{path.name}"
    last = folder / _LOG / _LAST  # only speeds up opening: where it names a later version, the copy goes without
    if last.exists() and json.loads(last.read_text(encoding="utf-8"))["version"] <= table.version():
        yield f"{_LOG}/{_LAST}"
