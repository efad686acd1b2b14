"""Import of optional packages when a function needs them. If a package is missing, the error names the extra to install."""

from importlib import import_module
from typing import Any

from ratings_core.errors import MissingExtraError


def load(module: str, extra: str, purpose: str) -> Any:
    """Import a module that belongs to an extra of the distribution `equirank`.

    Args:
        module: Dotted name, such as ``pyarrow.parquet``.
        extra: Name of the extra that installs it, as in pyproject.toml.
        purpose: The operation that needs it, as the subject of a sentence: ``reading PGN``.

    Returns:
        The module.

    Raises:
        MissingExtraError: Its package is not installed.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra, purpose) from error
