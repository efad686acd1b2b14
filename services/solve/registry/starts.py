"""Starts of solves in the form that result files hold."""

import zlib

import numpy as np

from ratings_core.solution import Start
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
            name: np.frombuffer(zlib.decompress(array.data), np.dtype(array.dtype)).reshape(array.shape)
            for name, array in start.arrays.items()
        }
    except (zlib.error, ValueError, TypeError):
        return None
    return Start(start.method, start.strategies, arrays)
