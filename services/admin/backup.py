"""Backups of an embedded data folder, taken while it runs, and folders made from them.

A backup holds checkpoints that the log reaches beyond: they are copied first, the log last, in one snapshot of SQLite's. What
cannot be read whole any more is left out: everything but the log can be made again from it. What is not as it was copied is refused
before anything is restored. A local archive is copied with the log; one on an object store has the backups of that store. Checkpoints
and results are copied from and to where EQUIRANK_CHECKPOINTS says.
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ratings_core import extras
from ratings_core.errors import InputError
from services.admin import inventory
from services.admin.log_copy import LogCopy, copied, copy_log, outcomes_of, partitions_of
from services.archive.location import folder_of
from services.backends import LOG_FILE
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.runtime.data_folder import DataFolder

_STATE: Final = "state"
_REPLAY: Final = "replay"
_ARCHIVE: Final = "archive"
_PART: Final = ".part"
_LOG_FILES: Final = tuple(LOG_FILE + end for end in ("", "-wal", "-shm", "-journal"))
_OF_STATE: Final = ("checkpoints", "objects", "results")
_LEFT: Final = (*_LOG_FILES, _STATE, _REPLAY)
"""What must not be there before: SQLite would replay another log's journal, and newer checkpoints would take the place of restored ones."""


class BackedUp(NamedTuple):
    """What a backup holds. outcomes: records of the outcome log; checkpoints: partitions that have one; size: bytes of all; archived:
    rows of the archive.
    """

    outcomes: int
    checkpoints: int
    size: int
    archived: int = 0


def back_up(data: Path, target: Path, archive: str | None = None, checkpoints: str | None = None) -> BackedUp:
    """Copy the data folder to `target`, a new folder that is there only once it is whole.

    archive: URL of the archive. checkpoints: URL of checkpoints and results; None: they are in the data folder. Raises `InputError`,
    `LogError`, `OSError`.
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
        found = _copy_state(data, part, checkpoints or (data / _STATE).as_uri())
        _copy_journals(data / _REPLAY, part / _REPLAY)
        copy_log(data / LOG_FILE, part / LOG_FILE)
        outcomes, log = outcomes_of(part / LOG_FILE), copied(part / LOG_FILE)
        _check_own(found, log, checkpoints)
        archived = _copy_archive(part, archive, log)
        inventory.write(part)
        _make_durable(part)
        part.rename(target)
        _sync(target.absolute().parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return BackedUp(outcomes, len(found), _size(target), archived)


def restore(source: Path, data: Path, archive: str | None = None, checkpoints: str | None = None) -> BackedUp:
    """Make a data folder from a backup; one that cannot be made is left empty.

    Args:
        source: Folder of the backup.
        data: Data folder to make.
        archive: URL of the archive: a folder that does not exist or is empty, if the backup holds an archive.
        checkpoints: URL to restore checkpoints and results to, where none may be; None: into the data folder.

    Returns:
        What the backup holds.

    Raises:
        InputError: There is no backup, it is damaged or of a later release, or `data`, the archive or `checkpoints` was used.
        InUse, LogError, OSError: `data` is in use, or cannot be written.
    """
    if not (source / LOG_FILE).exists():
        raise InputError("source", str(source), f"must be a folder that `equirank backup` made ({LOG_FILE} is missing)")
    part = data / (LOG_FILE + _PART)  # made first and renamed last: a restore that was cut off can be done again
    if left := [name for name in _LEFT if (data / name).exists() and (name in _LOG_FILES or not part.exists())]:
        raise InputError("data", str(data), f"must not contain another installation's data ({', '.join(left)}): restore into a new folder")
    held = inventory.check(source)
    tables, elsewhere = _archive_to_make(source, archive), _state_to_make(data, checkpoints)
    outcomes = outcomes_of(source / LOG_FILE)
    folder = DataFolder(data)
    folder.lock()
    try:
        part.touch()
        _clear(data)
        _copy_files(source, data, held)
        part.write_bytes(b"")
        copy_log(source / LOG_FILE, part)
        for made in (part, data / _STATE, data / _REPLAY):  # and nothing that lay here before, as `lost+found` of a disk
            _make_durable(made)
        size, manifests = _size(data), {path.parent for path in (data / _STATE / "checkpoints").glob("p*/*.json")}
        if elsewhere is not None:
            _move_state(data / _STATE, elsewhere)
        if tables is not None:
            _restore_archive(source / _ARCHIVE, tables)
        part.rename(data / LOG_FILE)
        _sync(data)
    except BaseException:
        _clear(data)
        if elsewhere is not None:
            _clear_state(elsewhere)
        if tables is not None:
            shutil.rmtree(tables, ignore_errors=True)
        part.unlink(missing_ok=True)  # last: what is cut off before can be done again
        raise
    finally:
        folder.unlock()
    return BackedUp(outcomes, len(manifests), size)


def _copy_archive(part: Path, archive: str | None, log: LogCopy) -> int:
    """Copy a local archive into a backup that holds its log already; how many rows it has. Raises `InputError`."""
    if archive is None:
        if dropped := [number for number, (begin, _) in log.heads.items() if begin]:
            rule = f"must be set to the archive: the log dropped outcomes of the partitions {dropped}, which only the archive has"
            raise InputError("EQUIRANK_ARCHIVE", None, rule)
        return 0
    extras.load("deltalake", "archive", "backing up the archive")
    from services.admin.backup_archive import copy_archive  # noqa: PLC0415 - needs the extra `archive`

    folder = folder_of(archive)
    return 0 if folder is None else copy_archive(folder, part / _ARCHIVE, log)


def _archive_to_make(source: Path, archive: str | None) -> Path | None:
    """The folder that the archive of a backup is restored to; None where the backup has none. Raises `InputError`."""
    if not (source / _ARCHIVE).exists():
        if archive is not None:
            extras.load("deltalake", "archive", "EQUIRANK_ARCHIVE")
            from services.admin.backup_archive import check_not_ahead  # noqa: PLC0415 - as above

            check_not_ahead(archive, copied(source / LOG_FILE))
        return None
    folder = None if archive is None else folder_of(archive)
    if folder is None or (folder.exists() and any(folder.iterdir())):
        raise InputError("EQUIRANK_ARCHIVE", archive, "must be a new or empty folder, because the backup contains an archive")
    return folder


def _restore_archive(source: Path, folder: Path) -> None:
    """Copy the tables of a backup, which were checked, and wait until they are on disk."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    _make_durable(folder)
    _sync(folder.absolute().parent)


def _state_to_make(data: Path, checkpoints: str | None) -> BlobFiles | None:
    """Where checkpoints and results are restored to; None where that is in the data folder. Raises `InputError` for a place in use."""
    if checkpoints is None or folder_of(checkpoints) == data / _STATE:
        return None
    files = BlobFiles(checkpoints)
    if left := [folder for folder in _OF_STATE if files.tree(folder)]:
        rule = f"must not contain another installation's data ({', '.join(left)}): set it to a new folder or prefix, or remove it"
        raise InputError("EQUIRANK_CHECKPOINTS", checkpoints, rule)
    return files


def _move_state(source: Path, target: BlobFiles) -> None:
    """Move checkpoints and results: objects before the checkpoints that name them, as their names sort."""
    for path in sorted((path for path in source.rglob("*") if path.is_file()), reverse=True):
        target.write(path.relative_to(source).as_posix(), [path.read_bytes()])
    shutil.rmtree(source, ignore_errors=True)


def _clear_state(files: BlobFiles) -> None:
    """Remove what a restore wrote that failed, as far as the store answers."""
    with suppress(OSError):
        for name in [name for folder in _OF_STATE for name in files.tree(folder)]:
            files.remove(name)


def _clear(data: Path) -> None:
    """Remove what a restore makes beside the log."""
    for name in (_STATE, _REPLAY):
        shutil.rmtree(data / name, ignore_errors=True)


def _copy_files(source: Path, data: Path, held: inventory.Inventory | None) -> None:
    """All but the log. held: what was checked; a backup of an earlier release has everything that lies there."""
    here = [path.relative_to(source).as_posix() for name in (_STATE, _REPLAY) for path in (source / name).rglob("*") if path.is_file()]
    for name in here if held is None else [name for name in here if name in held.files]:
        (data / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(source / name, data / name)


def _make_durable(made: Path) -> None:
    """Wait until a file, or a folder's files and names, are on disk; no effect if it does not exist."""
    for path in (*made.rglob("*"), made) if made.exists() else ():
        _sync(path)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _copy_state(data: Path, part: Path, checkpoints: str) -> list[Manifest]:
    """Copy the newest whole checkpoint of each partition, and the results of solves. Returns the manifests."""
    source, copies = CheckpointStore(checkpoints), CheckpointStore((part / _STATE).absolute().as_uri())
    copied: list[Manifest] = []
    for number in range(partitions_of(data / LOG_FILE)):
        found = source.recover(number, [])
        if found is None:
            continue
        manifest, _ = found
        names = dict.fromkeys(entry.object for entry in manifest.entries)
        if all(_copy(name, source.blobs, copies.blobs) for name in names):  # else a newer checkpoint took its place: the log is enough
            copies.write_manifest(manifest)
            copied.append(manifest)
    for name in source.blobs.tree("results"):
        _copy(name, source.blobs, copies.blobs)
    return copied


def _check_own(found: Sequence[Manifest], log: LogCopy, checkpoints: str | None) -> None:
    """Raise `InputError` for checkpoints of another log: an installation that is restored from them would stop."""
    if others := {one.log_identity for one in found} - {log.identity}:
        rule = f"must contain checkpoints of this log ({log.identity}), not of {', '.join(others)}: use the engine's setting"
        raise InputError("EQUIRANK_CHECKPOINTS", checkpoints, rule)


def _copy(name: str, source: BlobFiles, target: BlobFiles) -> bool:
    """Copy a file. Returns False if it was removed since it was listed, because a newer file took its place."""
    try:
        data = source.read(name)
    except FileNotFoundError:
        return False
    target.write(name, [data])
    return True


def _copy_journals(source: Path, target: Path) -> None:
    """What `equirank replay` noted, before the log: it never says more than the log holds."""
    if source.exists():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.tmp"))
