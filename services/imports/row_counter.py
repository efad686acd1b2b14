"""Counter of equal texts in long streams. It takes 36 bytes of memory for each different text, independent of the text's length."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.hash_table import HashTable, row_of
from ratings_core.kernels.compile import kernel

_KEY_BYTES = 8


class RowCounter:
    """Counts texts by 64 bits of their hashes.

    Two different texts have equal bits with a probability of 2**-64. The second text is then wrongly counted as a repeat of the first, but
    in the same way at every reading.
    """

    def __init__(self) -> None:
        self._counts = HashTable(integers=1)

    def number_of(self, key: int) -> int:
        """Count a text. Returns 1 for its first occurrence, 2 for the second, and so on. key: Result of `key_of` for the text."""
        counts = self._counts
        if counts.size >= counts.limit:
            counts.reserve(1)
        number, counts.size = _counted(counts.slots, counts.rows, counts.size, key)
        return int(number)


def key_of(text: str) -> int:
    """The 64 bits of a text's hash by which it is counted."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)


@kernel
def _counted(slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, key: int) -> tuple[int, int]:
    """Count `key` once more. Returns its new count, and the new number of keys."""
    row = row_of(slots, rows, size, key)
    rows[row, 1] += 1
    return int(rows[row, 1]), max(size, int(row) + 1)
