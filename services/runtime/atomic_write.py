"""Atomic writes of small files, and waiting until files are on disk.

`write_atomically` does not wait, because what it writes can be made again after a power failure.
"""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically: readers see the old content or all of the new one. Of concurrent writers, the last one wins.

    Raises:
        OSError: The write failed. The error names `path`, and the temporary file is removed.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # backups exclude *.tmp
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def sync(paths: Iterable[Path]) -> None:
    """Wait until the contents of files, and the names in folders, are on disk. Raises `OSError`.

    Folders that this process may not read are left out, because they cannot be opened, and those of a file system that cannot sync folders.
    """
    for path in paths:
        if path.is_dir() and not os.access(path, os.R_OK):
            continue
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        except OSError as error:
            if error.errno != errno.EINVAL or not path.is_dir():
                raise
        finally:
            os.close(number)
