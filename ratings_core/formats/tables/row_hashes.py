"""Hashes of complete rows of Arrow columns, for ids that are the same at every reading."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ratings_core.arrays.arrow import arena, numbers, valid, whole
from ratings_core.arrays.hashing import hash128, mix64
from ratings_core.kernels.compile import kernel

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_NULL: Final = np.uint64(0x2545F4914F6CDD1D)


def row_hashes(rows: Any) -> NDArray[np.uint64]:
    """Hash of each row, uint64 (n, 2). It covers the texts of all cells in order, except cells with lists and fields.

    Args:
        rows: Arrow record batch.
    """
    hashes = np.zeros((len(rows), 2), np.uint64)
    for column in rows.columns:
        if not pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
            _chain(hashes, *_cells(column))
    return hashes


def _cells(column: Any) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_]]:
    """Hashes of the distinct texts, the index of each cell's text, and the mask of the nulls."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _numbers(column), np.arange(len(column), dtype=np.int64), ~valid(column)
    coded = column if pa.types.is_dictionary(column.type) else None
    values = column if coded is None else coded.dictionary
    is_binary = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type) or pa.types.is_fixed_size_binary(values.type)
    texts = values.cast(pa.binary()).cast(pa.large_binary()) if is_binary else values.cast(pa.large_string())
    if texts.null_count:  # whatever their bytes are, they get the hash of a null
        texts = pa.Array.from_buffers(texts.type, len(texts), [None, *texts.buffers()[1:]], offset=texts.offset)
    packed = arena(texts)
    index = np.arange(len(column)) if coded is None else whole(coded.indices)
    hashes = hash128(packed.bytes, packed.start) if len(texts) else np.zeros((1, 2), np.uint64)
    return hashes, index.astype(np.int64), ~valid(column)


def _numbers(column: Any) -> NDArray[np.uint64]:
    """Hashes of numbers, by their eight bytes."""
    values = numbers(column, 0.0) if pa.types.is_floating(column.type) else whole(column)
    return hash128(values.view(np.uint8), np.arange(0, 8 * len(values) + 1, 8))


@kernel
def _chain(out: NDArray[np.uint64], hashes: NDArray[np.uint64], index: NDArray[np.int64], null: NDArray[np.bool_]) -> None:
    for i in range(len(out)):
        for word in range(2):
            cell = _NULL if null[i] else hashes[index[i], word]
            out[i, word] = mix64(out[i, word] * _STEP + cell)
