"""Mount a small disk for a test, and fill it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[Path]:
    """Make `folder`, and mount a disk of `size` bytes there (tmpfs). Skips the test without the permission to mount."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no disk of its own can be mounted here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path, left: int = 0) -> Path:
    """Fill a disk except for about `left` bytes. Returns the path of the file that occupies the space."""
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
