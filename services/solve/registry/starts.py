"""Starts of solves in the form that result files hold. A start comes from an answer and saves work in the next solve of the method."""

import zlib
from collections.abc import Sequence

import numpy as np

from ratings_core.equilibria.starts import Start, array
from ratings_core.solution import Floats
from services.boards.result import PackedArray, PackedStart


def packed(start: Start) -> PackedStart:
    """`start` in the form that result files hold: names as strings, arrays compressed."""
    strategies = tuple(tuple(map(str, own)) for own in start.strategies)
    arrays = {}
    for name, values in start.arrays.items():
        little = np.ascontiguousarray(values, np.asarray(values).dtype.newbyteorder("<"))
        arrays[name] = PackedArray(little.dtype.str, little.shape, zlib.compress(little.tobytes(), 1))
    return PackedStart(start.method, strategies, arrays)


def unpacked(start: PackedStart) -> Start | None:
    """The start that was packed; None if the stored arrays are damaged. The solve then runs without a start."""
    try:
        arrays = {
            name: np.frombuffer(zlib.decompress(one.data), np.dtype(one.dtype)).reshape(one.shape) for name, one in start.arrays.items()
        }
    except (zlib.error, ValueError, TypeError):
        return None
    return Start(start.method, start.strategies, arrays)


def of_names(method: str, values: dict[str, tuple[Sequence[str], Floats]]) -> Start:
    """Make a start from named arrays. values: Name of an array -> (names of its entries, its numbers)."""
    return Start(method, tuple(tuple(names) for names, _ in values.values()), {name: numbers for name, (_, numbers) in values.items()})


def nonzero(names: Sequence[str], values: Floats) -> tuple[Sequence[str], Floats]:
    """The named entries other than 0, for `of_names`."""
    kept = np.flatnonzero(values)
    return [names[i] for i in kept.tolist()], values[kept]


def by_name(start: Start, side: int, name: str, names: Sequence[str], missing: float) -> Floats:
    """An array of a start, in the order of `names`.

    Args:
        start: The start.
        side: Index into `start.strategies` of the names of the array's entries.
        name: Name of the array.
        names: Names to look up.
        missing: Value for names that the start does not contain.
    """
    known = start.strategies[side]
    before = dict(zip(known, array(start, name, (len(known),)).tolist(), strict=True))
    return np.array([before.get(one, missing) for one in names], np.float64)
