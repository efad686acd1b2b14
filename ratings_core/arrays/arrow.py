"""Conversion of Arrow arrays to the arrays that folds take, without a Python object for each value.

All results are aligned, writable copies, so they do not refer to the memory of a record or a file. Values are read from the buffers of an
array: pyarrow's own conversions from and to Python and NumPy import pandas wherever it is installed, which takes most of a second.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.errors import InputError

_NO_TASK: Final = -1
"""Index of the task of a row without one, as in `Games.task_of`."""


_FIXED: Final[dict[pa.DataType, type[np.generic]]] = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint8(): np.uint8,
    pa.uint16(): np.uint16,
    pa.uint32(): np.uint32,
    pa.uint64(): np.uint64,
    pa.float16(): np.float16,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
}
_ARROW: Final = {np.dtype(kind): held for held, kind in _FIXED.items()}


def whole(values: pa.Array, null: int = 0) -> NDArray[np.int64]:
    """Integers as int64. null: the number for a null."""
    return _filled(values, np.int64, null)


def numbers(values: pa.Array, null: float = np.nan) -> NDArray[np.float64]:
    """Numbers as float64, each rounded to the nearest double. null: the number for a null."""
    return _filled(values, np.float64, null)


def valid(values: pa.Array) -> NDArray[np.bool_]:
    """Mask of the values that are not null, bool (n,). values: an array with a bitmap of nulls, or without nulls."""
    return _bitmap(values) if values.null_count else np.ones(len(values), np.bool_)


def _filled(values: pa.Array, kind: type[np.generic], null: float) -> NDArray[Any]:
    held = _FIXED[values.type]
    size = np.dtype(held).itemsize
    buffer = values.buffers()[1]
    converted = np.frombuffer(buffer, held, len(values), size * values.offset).astype(kind) if len(values) else np.zeros(0, kind)
    if values.null_count:
        converted[~valid(values)] = null
    return converted


def _bitmap(values: pa.Array) -> NDArray[np.bool_]:
    held = values.buffers()[0]
    if held is None:  # the type of columns that have only nulls
        return np.zeros(len(values), np.bool_)
    return np.unpackbits(np.frombuffer(held, np.uint8), bitorder="little", count=values.offset + len(values))[values.offset :].astype(
        np.bool_
    )


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


def arrow_texts(texts: Arena) -> pa.Array:
    """An `Arena` as an Arrow array of large strings, without a copy. The texts must be UTF-8."""
    return pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(np.ascontiguousarray(texts.start)), pa.py_buffer(np.ascontiguousarray(texts.bytes))
    )


def arrow_numbers(values: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an Arrow array of the same type, without a copy.

    Args:
        values: (n,), of a NumPy type of integers or floats.
        valid: bool (n,), mask of the values that are not null; None for all.
    """
    held = np.ascontiguousarray(values)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(_ARROW[held.dtype], len(held), [bitmap, pa.py_buffer(held)])


def arrow_cells(cells: Sequence[str | None] | Sequence[float | None]) -> pa.Array:
    """Texts or finite and infinite numbers as an Arrow array of large strings or doubles, with a null for each None."""
    held = np.array([cell is not None for cell in cells], np.bool_)
    if isinstance(next((cell for cell in cells if cell is not None), None), str):
        kind, buffers = pa.large_string(), arrow_texts(pack([cell or "" for cell in cells])).buffers()[1:]  # type: ignore[misc]
    else:
        kind, buffers = pa.float64(), [pa.py_buffer(np.array([np.nan if cell is None else cell for cell in cells], np.float64))]
    bitmap = None if held.all() else pa.py_buffer(np.packbits(held, bitorder="little"))
    return pa.Array.from_buffers(kind, len(cells), [bitmap, *buffers])


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
    return Coded(arena(texts.dictionary), whole(texts.indices).astype(np.int32))


def tasks(column: pa.Array) -> tuple[Arena, NDArray[np.int64]]:
    """Tasks of the rows that have one, and for each of n rows the index of its task or -1: int64 (n,)."""
    if column.null_count == len(column):
        return arena(column.slice(0, 0)), np.full(len(column), _NO_TASK, np.int64)
    named = valid(column)
    return arena(column.drop_null()), np.where(named, np.cumsum(named) - 1, _NO_TASK).astype(np.int64)
