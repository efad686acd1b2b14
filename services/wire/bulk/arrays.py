"""Conversion of Arrow arrays to the arrays that folds take, without a Python object for each value.

All results are aligned, writable copies, so they do not refer to the memory of a record or a file.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.coded import Coded
from ratings_core.errors import InputError
from ratings_core.records.outcomes import NO_TASK


def whole(values: pa.Array) -> NDArray[np.int64]:
    """Integers as int64. values: an array without nulls."""
    return np.asarray(values).astype(np.int64)


def numbers(values: pa.Array) -> NDArray[np.float64]:
    """Numbers as float64, each rounded to the nearest double. values: an array without nulls."""
    return np.asarray(values).astype(np.float64)


def arena(texts: pa.Array) -> Arena:
    """Texts as an `Arena`. texts: text array, with or without a dictionary. Raises `InputError` for a null."""
    if texts.null_count:
        raise InputError("column", None, "must have a text in every row of this kind")
    if isinstance(texts, pa.DictionaryArray):
        return coded(texts).arena()
    if not len(texts):
        return Arena(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    start, (_, _, data) = starts(texts).astype(np.int64), texts.buffers()
    return Arena(np.array(np.frombuffer(data or b"", np.uint8)[start[0] : start[-1]]), start - start[0])


def starts(texts: Any) -> NDArray[Any]:
    """Offsets of n texts in their buffer of bytes, (n + 1,): the start of each text, and the end of the last one."""
    if not len(texts):
        return np.zeros(1, np.int32)
    wide = types.is_large_string(texts.type) or types.is_large_binary(texts.type)
    return np.frombuffer(texts.buffers()[1], np.int64 if wide else np.int32, texts.offset + len(texts) + 1)[texts.offset :]


def are_equal(texts: Any) -> bool:
    """Whether all texts are equal and not null. A single comparison of the bytes, shifted by one text, decides it."""
    start, (_, _, data) = starts(texts), texts.buffers()
    length = start[-1] - start[-2] if len(texts) else 0
    if texts.null_count or (np.diff(start) != length).any():
        return False
    held = np.frombuffer(data or b"", np.uint8)[start[0] : start[-1]]
    return bool(np.array_equal(held[length:], held[: len(held) - length]))


def coded(texts: Any) -> Coded:
    """Texts as distinct texts and codes, from the array's dictionary if it has one. Raises `InputError` for a null."""
    texts = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode()
    if texts.null_count:
        raise InputError("column", None, "must have a text in every row of this kind")
    return Coded(arena(texts.dictionary), np.asarray(texts.indices).astype(np.int32))


def tasks(column: pa.Array) -> tuple[Arena, NDArray[np.int64]]:
    """Tasks of the rows that have one, and for each of n rows the index of its task or -1: int64 (n,)."""
    if column.null_count == len(column):
        return arena(column.slice(0, 0)), np.full(len(column), NO_TASK, np.int64)
    named = np.asarray(column.is_valid())
    return arena(column.drop_null()), np.where(named, np.cumsum(named) - 1, NO_TASK).astype(np.int64)
