"""A file as one problem, for tests that do not slice it."""

from pathlib import Path
from typing import Any

from services.imports.files import FileOptions
from services.solve.problems.load import Loaded, load_slices


def load(path: Path, options: FileOptions | None = None, **how: Any) -> Loaded:
    """The problem of a whole file. how: as `load_slices` takes it."""
    return load_slices(path, options, **how)[""]
