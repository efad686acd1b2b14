"""Arrow arrays as the arrays that folds take, without a Python object for each value.

All results are copies: aligned, writable, and no part of a record or a file.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.coded import Coded
from ratings_core.errors import InputError
from ratings_core.records.outcomes import NO_TASK


def whole(values: pa.Array) -> NDArray[np.int64]:
    """Whole numbers without nulls."""
    return np.asarray(values).astype(np.int64)


def numbers(values: pa.Array) -> NDArray[np.float64]:
    """Numbers without nulls, each rounded to the nearest double."""
    return np.asarray(values).astype(np.float64)


def arena(texts: pa.Array) -> Arena:
    """Texts, also of a dictionary, one after another. Raises `InputError` where one is null."""
    if texts.null_count:
        raise InputError("column", None, "must have a text in every row of this kind")
    if isinstance(texts, pa.DictionaryArray):
        return coded(texts).arena()
    if not len(texts):
        return Arena(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    large = texts.cast(pa.large_string())
    _, starts, data = large.buffers()
    start = np.array(np.frombuffer(starts, np.int64)[large.offset : large.offset + len(large) + 1])
    return Arena(np.array(np.frombuffer(data or b"", np.uint8)[start[0] : start[-1]]), start - start[0])


def coded(texts: Any) -> Coded:
    """Texts as the numbers that a dictionary gives them. Raises `InputError` where one is null."""
    texts = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode()
    if texts.null_count:
        raise InputError("column", None, "must have a text in every row of this kind")
    return Coded(arena(texts.dictionary), np.asarray(texts.indices).astype(np.int32))


def tasks(column: pa.Array) -> tuple[Arena, NDArray[np.int64]]:
    """The tasks that rows name, and for each row its index in them or -1."""
    named = np.asarray(column.is_valid())
    return arena(column.drop_null()), np.where(named, np.cumsum(named) - 1, NO_TASK).astype(np.int64)
