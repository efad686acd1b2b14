"""Names of the arrays of a pool's content: the part, a dot, and the array's name within the part."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays


def named(parts: Mapping[str, Arrays]) -> Arrays:
    """The arrays of all parts by their full names."""
    return {f"{prefix}.{name}": array for prefix, arrays in parts.items() for name, array in arrays.items()}


def part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """The arrays of one part, by their names within it."""
    lead = f"{prefix}."
    return {name.removeprefix(lead): array for name, array in arrays.items() if name.startswith(lead)}
