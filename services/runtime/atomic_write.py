"""Small files that are there whole or not at all: written beside, then put in place."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write `path` so that readers see what was there before or all of `content`. Two writers at once do not mix; the last one stands.

    Raises `OSError` that names `path`, and leaves nothing beside it.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # backups leave *.tmp out
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
