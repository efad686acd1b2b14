"""Load a file as a single problem, for tests without slices."""

from pathlib import Path
from typing import Any

from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.front.load import Loaded
from services.solve.problems.load import load_slices


def load(path: Path, options: ReadOptions = PLAIN, **how: Any) -> Loaded:
    """Load all outcomes of a file as one problem. how: further arguments of `load_slices`."""
    return load_slices(path, options, **how)[""]
