"""Back up the data folder of an embedded installation while it runs, and restore such backups.

Checkpoints are copied before the log, so every checkpoint in a backup ends within the log's copy. The log is copied in one SQLite
snapshot. A checkpoint or result that is removed during the copy is left out, because both can be computed again from the log. Before a
restore writes any file, it compares the backup with its inventory, and refuses a damaged backup.

A local archive is copied after the log. An archive on an object store is not copied: use the backups of that store. Checkpoints and
results are read from, and restored to, the URL in EQUIRANK_CHECKPOINTS.
"""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ratings_core import extras
from ratings_core.errors import InputError
from services.admin import inventory
from services.admin.log_copy import LogCopy, copy_log, outcomes_of, partitions_of, read_copy
from services.archive.location import folder_of
from services.backends import LOG_FILE
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.runtime.atomic_write import sync
from services.runtime.data_folder import DataFolder
from services.runtime.settings import no_tables_in

_STATE: Final = "state"
_REPLAY: Final = "replay"
_ARCHIVE: Final = "archive"
_PART: Final = ".part"
_LOG_FILES: Final = tuple(LOG_FILE + end for end in ("", "-wal", "-shm", "-journal"))
_OF_STATE: Final = ("checkpoints", "objects", "history", "results", "seasons")
_LEFT: Final = (*_LOG_FILES, _STATE, _REPLAY)
"""Names that a restore refuses in the data folder. SQLite would replay another log's journal, and shards would start from checkpoints
that are newer than the restored ones."""


class BackedUp(NamedTuple):
    """Contents of a backup.

    Attributes:
        outcomes: Records of the outcome log.
        checkpoints: Partitions with a checkpoint.
        size: Size of all files in bytes; 0 in the result of a restore.
        archived: Rows of the archive; 0 in the result of a restore.
        left_out: Reason why the archive of this machine is missing in the backup; None if it is there, and without an archive.
    """

    outcomes: int
    checkpoints: int
    size: int = 0
    archived: int = 0
    left_out: str | None = None


def back_up(
    data: Path, target: Path, archive: str | None = None, checkpoints: str | None = None, *, archive_is_copy: bool = False
) -> BackedUp:
    """Copy a data folder to the new folder `target`.

    The copy is made under a temporary name and renamed when it is complete. A failed backup removes its files.

    Args:
        data: Data folder of `equirank up`.
        target: Folder of the backup; it must not exist.
        archive: URL of the archive; None without an archive.
        checkpoints: URL of checkpoints and results; None if they are in the data folder.
        archive_is_copy: The log keeps every record of the archive. An archive that cannot be copied is then left out.

    Returns:
        Contents of the backup.

    Raises:
        InputError: `data` is no data folder, `target` exists, or checkpoints or archive do not fit the log.
        LogError: The log cannot be read.
        OSError: A file cannot be read or written.
    """
    if not (data / LOG_FILE).exists():
        raise InputError("data", str(data), f"must be a data folder of `equirank up` ({LOG_FILE} is missing)")
    if target.exists():
        raise InputError("target", str(target), "must not exist yet")
    part = target.with_name(target.name + _PART)
    if part.exists():
        raise InputError(
            "target", str(part), "must not exist: another backup is running, or an interrupted one left it; in this case remove it"
        )
    part.mkdir(parents=True, mode=0o700)
    try:
        manifests = _copy_state(data, part, checkpoints or (data / _STATE).as_uri())
        _copy_journals(data / _REPLAY, part / _REPLAY)
        copy_log(data / LOG_FILE, part / LOG_FILE)
        outcomes, log = outcomes_of(part / LOG_FILE), read_copy(part / LOG_FILE)
        _check_own(manifests, log, checkpoints)
        archived, left_out = _copy_archive(part, archive, log, archive_is_copy=archive_is_copy)
        inventory.write(part)
        _make_durable(part)
        part.rename(target)
        sync([target.absolute().parent])
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return BackedUp(outcomes, len(manifests), _size(target), archived, left_out)


def restore(source: Path, data: Path, archive: str | None = None, checkpoints: str | None = None) -> BackedUp:
    """Make a data folder from a backup. A failed restore removes what it wrote.

    Args:
        source: Folder of the backup.
        data: Data folder to make.
        archive: URL of the archive. If the backup holds an archive, it must name a folder that is new or empty.
        checkpoints: URL to restore checkpoints and results to, without any at present; None restores them into the data folder.

    Returns:
        Outcomes and checkpoints of the restored folder.

    Raises:
        InputError: `source` is no backup, is damaged or was made by a later release, or `data`, the archive or `checkpoints` holds
            files of an installation.
        InUse: Another process uses `data`.
        LogError, OSError: The log or a file cannot be read or written.
    """
    if not (source / LOG_FILE).exists():
        raise InputError("source", str(source), f"must be a folder that `equirank backup` made ({LOG_FILE} is missing)")
    part = data / (LOG_FILE + _PART)  # made first, renamed last: while it exists, a restore may be repeated
    if left := [name for name in _LEFT if (data / name).exists() and (name in _LOG_FILES or not part.exists())]:
        raise InputError("data", str(data), f"must not contain another installation's data ({', '.join(left)}): restore into a new folder")
    held = inventory.check(source)
    tables, state = _archive_to_make(source, data, archive), _state_to_make(data, checkpoints)
    outcomes = outcomes_of(source / LOG_FILE)
    folder = DataFolder(data)
    folder.lock()
    try:
        part.touch()
        _clear(data)
        _copy_files(source / _REPLAY, BlobFiles((data / _REPLAY).absolute().as_uri()), held)
        part.write_bytes(b"")
        copy_log(source / LOG_FILE, part)
        _copy_files(source / _STATE, state, held)
        for made in (part, data / _STATE, data / _REPLAY):  # only what the restore made: `data` may hold `lost+found`
            _make_durable(made)
        manifests = {name.rpartition("/")[0] for name in state.tree("checkpoints") if name.endswith(".json")}
        if tables is not None:
            _restore_archive(source / _ARCHIVE, tables)
        part.rename(data / LOG_FILE)
        sync([data])
    except BaseException:
        _clear_state(state)
        _clear(data)
        if tables is not None:
            shutil.rmtree(tables, ignore_errors=True)
        part.unlink(missing_ok=True)  # last: while it exists, a restore may be repeated
        raise
    finally:
        folder.unlock()
    return BackedUp(outcomes, len(manifests))


def _copy_archive(part: Path, archive: str | None, log: LogCopy, *, archive_is_copy: bool) -> tuple[int, str | None]:
    """Copy a local archive into a backup, after the log. Returns its number of rows, and `BackedUp.left_out`.

    Raises `InputError` if the archive does not fit the log, or if it is not set and the log dropped outcomes.
    """
    dropped = _dropped(log)
    if archive is None:
        if dropped:
            rule = f"must be set to the archive: the log dropped outcomes of the partitions {dropped}, which only the archive has"
            raise InputError("EQUIRANK_ARCHIVE", None, rule)
        return 0, None
    try:
        extras.load("deltalake", "archive", "backing up the archive")
        from services.admin.backup_archive import copy_archive  # noqa: PLC0415 - needs the extra `archive`

        folder = folder_of(archive)
        return (0 if folder is None else copy_archive(folder, _for_tables(part / _ARCHIVE), log)), None
    except Exception as error:  # whatever fails, a backup of a log with all outcomes is complete without the copy
        if dropped or not archive_is_copy:
            raise
        shutil.rmtree(part / _ARCHIVE, ignore_errors=True)
        return 0, str(error).partition("\n")[0]


def _for_tables(folder: Path) -> Path:
    """Return the folder. Raises `InputError` if tables cannot be in its path."""
    if (part := no_tables_in(str(folder))) is not None:
        raise InputError("target", str(folder.parent), f"must not contain {part}, because an archive's tables cannot be in such a path")
    return folder


def _dropped(log: LogCopy) -> list[int]:
    """Partitions of which a log dropped outcomes. Only an archive has these."""
    return [number for number, (begin, _) in log.heads.items() if begin]


def _archive_to_make(source: Path, data: Path, archive: str | None) -> Path | None:
    """Folder to restore the archive of a backup to; None if the backup holds no archive, or if it is off and the log has all outcomes.

    Raises `InputError` if the folder is in use, or if the backup holds no archive and the existing one reaches beyond the restored log.
    The folder in the data folder may have files of the backup, which a killed restore left.
    """
    if not (source / _ARCHIVE).exists():
        if archive is not None:
            extras.load("deltalake", "archive", "EQUIRANK_ARCHIVE")
            from services.admin.backup_archive import check_not_ahead  # noqa: PLC0415 - as above

            check_not_ahead(archive, read_copy(source / LOG_FILE))
        return None
    if archive is None and not _dropped(read_copy(source / LOG_FILE)):
        return None
    folder = None if archive is None else folder_of(archive)
    left = set[Path]() if folder is None or not folder.exists() else set(folder.iterdir())
    if folder == data / _ARCHIVE and (data / (LOG_FILE + _PART)).exists() and _files_in(folder) <= _files_in(source / _ARCHIVE):
        left.clear()
    if folder is None or left:
        raise InputError("EQUIRANK_ARCHIVE", archive, "must be a new or empty folder, because the backup contains an archive")
    return folder


def _files_in(folder: Path) -> set[Path]:
    """Paths of all files of a folder, relative to it."""
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def _restore_archive(source: Path, folder: Path) -> None:
    """Copy the verified tables of a backup, and wait until they are on disk."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    _make_durable(folder)
    sync([folder.absolute().parent])


def _state_to_make(data: Path, checkpoints: str | None) -> BlobFiles:
    """Files to restore checkpoints and results to. Raises `InputError` if they hold such files already, outside of the data folder."""
    if checkpoints is None or folder_of(checkpoints) == data / _STATE:
        return BlobFiles((data / _STATE).absolute().as_uri())
    files = BlobFiles(checkpoints)
    if left := [folder for folder in _OF_STATE if files.tree(folder)]:
        rule = f"must not contain another installation's data ({', '.join(left)}): set it to a new folder or prefix, or remove it"
        raise InputError("EQUIRANK_CHECKPOINTS", checkpoints, rule)
    return files


def _clear_state(files: BlobFiles) -> None:
    """Remove the files of a failed restore. If the store fails, the rest of them stays."""
    with suppress(OSError):
        for name in [name for folder in _OF_STATE for name in files.tree(folder)]:
            files.remove(name)


def _clear(data: Path) -> None:
    """Remove the state and the replay journals that a restore made."""
    for name in (_STATE, _REPLAY):
        shutil.rmtree(data / name, ignore_errors=True)


def _copy_files(source: Path, target: BlobFiles, held: inventory.Inventory | None) -> None:
    """Copy a folder of a backup. In descending order of paths, objects come before the manifests that name them.

    Files are mapped into memory, because those of large pools can exceed it. held: copy only the files of this inventory; None copies all.
    """
    files = BlobFiles(source.absolute().as_uri())
    for path in sorted(source.rglob("*"), reverse=True):
        if path.is_file() and (held is None or path.relative_to(source.parent).as_posix() in held.files):
            name = path.relative_to(source).as_posix()
            target.write(name, [files.map(name)])


def _make_durable(made: Path) -> None:
    """Wait until a file, or a folder with its files and their names, is on disk. A missing path has no effect."""
    sync((*made.rglob("*"), made) if made.exists() else ())


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _copy_state(data: Path, part: Path, checkpoints: str) -> list[Manifest]:
    """Copy the newest complete checkpoint of each partition, files of history, results of solves, and files of ended seasons.

    Returns the copied manifests.
    """
    source, copies = CheckpointStore(checkpoints), CheckpointStore((part / _STATE).absolute().as_uri())
    copied: list[Manifest] = []
    for number in range(partitions_of(data / LOG_FILE)):
        checkpoint = source.recover(number, [])
        if checkpoint is None:
            continue
        manifest, _ = checkpoint
        names = dict.fromkeys(entry.object for entry in manifest.entries)
        if all(_copy(name, source.blobs, copies.blobs) for name in names):  # else a newer one replaced it; the log is enough
            copies.write_manifest(manifest)
            copied.append(manifest)
    for name in (*source.blobs.tree("history"), *source.blobs.tree("results")):
        _copy(name, source.blobs, copies.blobs)
    while not all(_copy(name, source.blobs, copies.blobs) for name in source.blobs.tree("seasons")):
        pass  # an erasure replaced a file, whose new form is listed now: no log may hold what a season's file holds
    return copied


def _check_own(manifests: Sequence[Manifest], log: LogCopy, checkpoints: str | None) -> None:
    """Raise `InputError` for checkpoints of another log, because shards refuse to start from them."""
    if others := {manifest.log_identity for manifest in manifests} - {log.identity}:
        rule = f"must contain checkpoints of this log ({log.identity}), not of {', '.join(others)}: use the engine's setting"
        raise InputError("EQUIRANK_CHECKPOINTS", checkpoints, rule)


def _copy(name: str, source: BlobFiles, target: BlobFiles) -> bool:
    """Copy a file. Returns False if the file no longer exists: newer checkpoints and results replace older ones."""
    try:
        data = source.read(name)
    except FileNotFoundError:
        return False
    target.write(name, [data])
    return True


def _copy_journals(source: Path, target: Path) -> None:
    """Copy the journals of `equirank replay`. They are copied before the log, so the log's copy holds every record that they note."""
    if source.exists():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.tmp"))
