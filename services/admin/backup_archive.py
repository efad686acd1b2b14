"""Copy the archive into a backup: each table at a version that fits the log's copy.

The archive grows while the log is copied. Each table is therefore copied after the log, at its newest version that ends within the log's
copy. The log drops only records that the archive holds already, so that version leaves no gap before the log's first record.

An erasure may change a table after the log's copy was made. That copy may lack the erasure's request, and the erasure deletes the files of
earlier versions. The backup is then refused and has to be repeated.
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
from services.archive.location import table_uri
from services.archive.reader import ArchiveReader
from services.archive.table import erasures_of, find_table, log_of, position_of

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
        Number of rows of the copied tables.

    Raises:
        InputError: The archive is of another log, lacks outcomes that the log dropped, has an erasure that the log lacks, or lost files
            to an erasure during the copy.
        DeltaError, OSError: The archive cannot be read, or the backup cannot be written.
    """
    return sum(_copy_table(str(archive), target, number, log) for number in log.heads)


def check_not_ahead(url: str, log: LogCopy) -> None:
    """Raise `InputError` if the archive of a log has outcomes or erasures that the log lacks.

    New outcomes would get the offsets of the outcomes that only the archive has.
    """
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
    try:
        for name in _files(Path(table_uri(url, number)), table):
            (made / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copyfile(Path(table_uri(url, number)) / name, made / name)
    except FileNotFoundError as error:
        rule = f"must have all files of partition {number}: an erasure deleted some during the backup; back up again ({error.filename})"
        raise InputError("EQUIRANK_ARCHIVE", url, rule) from error
    return ArchiveReader(DeltaTable(str(made))).rows


def _check_erasures(url: str, table: DeltaTable, number: int, log: LogCopy, remedy: str) -> None:
    """Raise `InputError` if a table has an erasure that the log lacks.

    Without the request in the control log, folds would use the erased name again, next to the token in these rows.
    """
    own = log.erasures.get(number, 0)
    in_table, known = erasures_of(table), (own, sum(log.erasures.values()) - own)
    if in_table[0] > known[0] or in_table[1] > known[1]:
        counts = f"partition {number} has {sum(in_table)}, not {sum(known)}"
        rule = f"must not have erasures that are missing in the log, but {counts}: {remedy}"
        raise InputError("EQUIRANK_ARCHIVE", url, rule)


def _fitting(table: DeltaTable, begin: int, end: int) -> DeltaTable | None:
    """Newest version of a table whose position is from `begin` to `end`; None if there is no such version.

    begin, end: first offset of the log's copy, and the offset after its last record.
    """
    for version in range(table.version(), -1, -1):
        older = DeltaTable(table.table_uri, version=version)
        if position_of(older) < begin:
            return None
        if position_of(older) <= end:
            return older
    return None


def _files(folder: Path, table: DeltaTable) -> Iterator[str]:
    """Paths of the files of one version of a table, relative to its folder: data files, then the table's log up to that version."""
    yield from (unquote(path) for path in pa.table(table.get_add_actions(flatten=True))["path"].to_pylist())
    for path in sorted((folder / _LOG).iterdir()):
        version = _VERSION.fullmatch(path.name)
        if version is not None and int(version[1]) <= table.version():
            yield f"{_LOG}/{path.name}"
    last = folder / _LOG / _LAST  # optional, it speeds up opening; one of a later version is left out
    if last.exists() and json.loads(last.read_text(encoding="utf-8"))["version"] <= table.version():
        yield f"{_LOG}/{_LAST}"
