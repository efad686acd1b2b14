"""Parts of a pool's content, and the names of their arrays: the part, a dot, and the array's name within the part."""

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays, Frozen


class LargePart(Protocol):
    """A part that can be frozen without a copy (copy on write)."""

    def arrays(self) -> Arrays:
        """Canonical copy."""

    def frozen(self) -> Frozen:
        """The present result of `arrays`, frozen."""


def named(parts: Mapping[str, Arrays]) -> Arrays:
    """The arrays of all parts by their full names."""
    return {f"{prefix}.{name}": array for prefix, arrays in parts.items() for name, array in arrays.items()}


def parts_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Arrays]:
    """The arrays of all parts by prefix, up to the first dot of a name. Arrays without a dot in their name are left out."""
    found: dict[str, Arrays] = {}
    for name, array in arrays.items():
        prefix, dot, within = name.partition(".")
        if dot:
            found.setdefault(prefix, {})[within] = array
    return found


def part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """The arrays of one part, by their names within it."""
    lead = f"{prefix}."
    return {name.removeprefix(lead): array for name, array in arrays.items() if name.startswith(lead)}
