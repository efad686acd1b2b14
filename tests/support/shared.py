"""Files of the shared folder with real data: EQUIRANK_SHARED, or `shared` next to the project's folder. Without it, tests are skipped."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("EQUIRANK_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def shared_file(name: str) -> Path:
    """Path of a file in the shared folder. Skips the test if the file is missing."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not in the shared folder {SHARED} (set EQUIRANK_SHARED)")
    return path
