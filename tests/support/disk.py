"""A small disk of a test's own, really mounted, and what fills it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[Path]:
    """A disk of `size` bytes at `folder`, which is made. Skips where nothing may be mounted."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no disk of its own can be mounted here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path, left: int = 0) -> Path:
    """Take all room but about `left` bytes; the file that takes it."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        size = 65536
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
        file.truncate(max(0, file.tell() - left))
    return ballast
