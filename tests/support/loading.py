"""Load a file as a single problem, for tests without slices."""

from pathlib import Path
from typing import Any

from services.imports.files import FileOptions
from services.solve.problems.load import Loaded, load_slices


def load(path: Path, options: FileOptions | None = None, **how: Any) -> Loaded:
    """Load all outcomes of a file as one problem. how: further arguments of `load_slices`."""
    return load_slices(path, options or FileOptions(), **how)[""]
