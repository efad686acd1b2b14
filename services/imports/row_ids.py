"""Ids of rows: the same file always gives the same ids, and its rows have different ones, because real tables hold equal rows.

An id is a hash of the file's kind, the complete row, and the number of equal rows before it, in 32 hexadecimal digits.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.hash_table import HashTable, row_of
from ratings_core.arrays.hashing import hash128, mix64
from ratings_core.kernels.compile import kernel

DIGITS: Final = 32
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_HEX: Final = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint8).reshape(256, 2)


class RowIds:
    """Makes the ids of one file's rows, in order. Memory grows with 36 bytes for each different row.

    Rows are counted by 64 bits of their hashes. Two different rows have equal bits with a probability of 2**-64. The second one is then
    wrongly counted as a repeat of the first, but in the same way at every reading.

    Args:
        kind: Kind of the file.
    """

    def __init__(self, kind: str) -> None:
        named = pack([kind])
        self._seed = hash128(named.bytes, named.start)[0]
        self._counts = HashTable(integers=1)

    def ids(self, hashes: NDArray[np.uint64]) -> Arena:
        """The ids of the next n rows. hashes: uint64 (n, 2), hash of each complete row."""
        n, counts = len(hashes), self._counts
        counts.reserve(n)
        out = np.empty((n, 2), np.uint64)
        counts.size = _identify(counts.slots, counts.rows, counts.size, np.ascontiguousarray(hashes), self._seed, out)
        digits = _HEX[out.byteswap().view(np.uint8).reshape(n, 16)].reshape(n * DIGITS)
        return Arena(digits, np.arange(0, n * DIGITS + 1, DIGITS))


@kernel
def _identify(
    slots: NDArray[np.int32],
    rows: NDArray[np.int64],
    size: int,
    hashes: NDArray[np.uint64],
    seed: NDArray[np.uint64],
    out: NDArray[np.uint64],
) -> int:
    """Count each row, and hash it with its count. Returns the new number of different rows."""
    for i in range(len(hashes)):
        row = row_of(slots, rows, size, np.int64(hashes[i, 0]))
        rows[row, 1] += 1
        if row == size:
            size += 1
        for word in range(2):
            out[i, word] = mix64(mix64(hashes[i, word] * _STEP + seed[word]) + np.uint64(rows[row, 1]) * _STEP)
    return size
