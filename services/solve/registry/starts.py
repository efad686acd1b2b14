"""Where the next solve of a method may start, as text: what its answer knew, kept in the result's file."""

import zlib
from collections.abc import Sequence

import numpy as np

from ratings_core.equilibria.starts import Start, array
from ratings_core.solution import Floats
from services.boards.result import PackedArray, PackedStart


def packed(start: Start) -> PackedStart:
    """`start` as text can hold it."""
    strategies = tuple(tuple(map(str, own)) for own in start.strategies)
    arrays = {}
    for name, values in start.arrays.items():
        little = np.ascontiguousarray(values, np.asarray(values).dtype.newbyteorder("<"))
        arrays[name] = PackedArray(little.dtype.str, little.shape, zlib.compress(little.tobytes(), 1))
    return PackedStart(start.method, strategies, arrays)


def unpacked(start: PackedStart) -> Start | None:
    """What was packed; None where the file was damaged: solving goes on without, as a start only helps."""
    try:
        arrays = {
            name: np.frombuffer(zlib.decompress(one.data), np.dtype(one.dtype)).reshape(one.shape) for name, one in start.arrays.items()
        }
    except (zlib.error, ValueError, TypeError):
        return None
    return Start(start.method, start.strategies, arrays)


def of_names(method: str, values: dict[str, tuple[Sequence[str], Floats]]) -> Start:
    """A start that is a number for each of some names, under the name of each array."""
    return Start(method, tuple(tuple(names) for names, _ in values.values()), {name: numbers for name, (_, numbers) in values.items()})


def by_name(start: Start, side: int, name: str, names: Sequence[str], missing: float) -> Floats:
    """One of its arrays for these names, `missing` for those that it does not know. side: whose names its entries are."""
    known = start.strategies[side]
    before = dict(zip(known, array(start, name, (len(known),)).tolist(), strict=True))
    return np.array([before.get(one, missing) for one in names], np.float64)
