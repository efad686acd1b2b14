"""Where the next solve of a method may start, as text: what its answer knew, kept in the result's file."""

import zlib

import numpy as np

from ratings_core.equilibria.starts import Start
from services.solve.result import PackedArray, PackedStart


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
