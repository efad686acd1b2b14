"""The digest of a state: SHA-256 over named arrays. Equal arrays have equal digests; different arrays have different digests.

Floats are compared by their bits: -0.0 and 0.0 differ, and so do NaNs with different payloads. No value is normalised, because a digest
that tolerates differences cannot prove equality.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError

_PORTABLE: Final = frozenset("biuf")
_WIDEST: Final = 8


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of `arrays` as 64 hex digits, the same on every machine.

    arrays: name to array of booleans, integers or floats of at most 64 bits, of any shape and memory layout. The hash covers, in sorted
    order of the names: name, dtype, shape and values (C order, little-endian). A zero-dimensional array and an array of shape (1,) differ.
    Raises `InputError` for other dtypes, because objects, text and extended floats have no portable bytes.
    """
    state = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        state.update(_header(name, array.dtype, array.shape))
        state.update(_values(array))
    return state.hexdigest()


def _header(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    if dtype.kind not in _PORTABLE or dtype.itemsize > _WIDEST:
        raise InputError(f"arrays[{name!r}]", dtype, "must hold booleans, integers or floats of at most 64 bits")
    fields = (name.encode(), dtype.newbyteorder("<").str.encode(), ",".join(map(str, shape)).encode())
    return b"".join(len(field).to_bytes(8, "little") + field for field in fields)


def _values(array: NDArray[Any]) -> memoryview:
    portable = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return portable.reshape(-1).view(np.uint8).data
