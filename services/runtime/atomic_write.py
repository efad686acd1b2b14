"""Atomic writes of small files: a temporary file in the same folder is written and then renamed."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically: readers see the old content or all of the new one. Of concurrent writers, the last one wins.

    Raises:
        OSError: The write failed. The error names `path`, and the temporary file is removed.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # backups exclude *.tmp
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
