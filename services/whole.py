"""Small files that are there whole or not at all: written beside, then put in place."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write `path` so that readers see what was there before or all of `content`. Two writers at once do not mix; the last one stands."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # backups leave *.tmp out
    beside.write_bytes(content)
    beside.replace(path)
