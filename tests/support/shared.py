"""The shared folder with real data: EQUIRANK_SHARED, or ../shared beside the project. Tests that need it skip loudly without."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("EQUIRANK_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def shared_file(name: str) -> Path:
    """A file of the shared folder; skips the test where it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not in the shared folder {SHARED} (set EQUIRANK_SHARED)")
    return path
