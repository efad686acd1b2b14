"""The release of Equirank that is installed, for results that record what computed them."""

from functools import cache
from importlib.metadata import version


@cache
def release() -> str:
    """Version of the distribution `equirank`, which holds this library. Raises `PackageNotFoundError` if it is not installed."""
    return version("equirank")
