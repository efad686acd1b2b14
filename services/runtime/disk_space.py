"""Check of free disk space before a start writes anything, so that a start on a full disk leaves no incomplete files."""

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
    """The disk or the quota of a folder has less free space than needed. needed, left: bytes."""

    def __init__(self, folder: Path, needed: int, left: int) -> None:
        super().__init__(
            f"the disk of {folder} is full: {left / MEGABYTE:.1f} MiB are left and {needed // MEGABYTE} MiB are needed to start; "
            "make room, or name another folder (nothing was written, and nothing that was accepted is lost)"
        )


class NoTemporaryFolder(Exception):  # noqa: N818 - names the fact
    """Temporary files cannot be written to any of the folders that Python tries, because of full disks or missing permissions."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"no folder takes temporary files ({why}); make room there, give this user the permission, or set TMPDIR to another folder"
        )


def temporary_folder() -> Path:
    """Folder of temporary files. Raises `NoTemporaryFolder`."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise NoTemporaryFolder(str(error.strerror)) from error


def check_room(wanted: Iterable[tuple[Path, int]]) -> None:
    """Raise `DiskFull` unless the given bytes fit into each folder, all of them together.

    The function allocates the space in temporary files for a moment, because figures of free space do not show quotas and reserved blocks.
    The files have no names, so none remains even after a crash.

    Args:
        wanted: Pairs of a folder and the number of bytes needed in it.
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
    """Free bytes as reported by the file system. A quota may allow less."""
    statistics = os.statvfs(folder)
    return statistics.f_bavail * statistics.f_frsize
