"""Free disk space, checked before anything is written: a start on a full disk leaves nothing half-made."""

import errno
import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

MEGABYTE: Final = 1 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DiskFull(Exception):  # noqa: N818 - names the fact
    """A folder's disk, or its quota, has less room (left) than is needed there, in bytes."""

    def __init__(self, folder: Path, needed: int, left: int) -> None:
        super().__init__(
            f"the disk of {folder} is full: {left / MEGABYTE:.1f} MiB are left and {needed // MEGABYTE} MiB are needed to start; "
            "make room, or name another folder (nothing was written, and nothing that was accepted is lost)"
        )


class NoTemporaryFolder(Exception):  # noqa: N818 - names the fact
    """None of the folders that Python tries takes temporary files: their disk is full, or may not be written."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no folder takes temporary files ({why}); make room there, allow it for this user, or name another by TMPDIR")


def temporary_folder() -> Path:
    """Where temporary files go. Raises `NoTemporaryFolder`."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise NoTemporaryFolder(str(error.strerror)) from error


def check_room(wanted: Iterable[tuple[Path, int]]) -> None:
    """Raise `DiskFull` unless each folder can take so many bytes, all of them at once. Nothing stays, however this process ends.

    The room is really taken for a moment, as quotas and reserved blocks show in no figure.
    """
    with ExitStack() as held:
        for folder, needed in wanted:
            _take(held, folder, needed)


def _take(held: ExitStack, folder: Path, needed: int) -> None:
    try:
        file = tempfile.TemporaryFile(dir=folder, prefix="equirank-room-", buffering=0)  # noqa: SIM115 - the stack closes it
        held.enter_context(file)
        os.posix_fallocate(file.fileno(), 0, needed)
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(folder, needed, _left(folder)) from error
        raise OSError(error.errno, error.strerror, str(folder)) from error


def _left(folder: Path) -> int:
    """Bytes that the file system reports; a quota may leave less."""
    told = os.statvfs(folder)
    return told.f_bavail * told.f_frsize
