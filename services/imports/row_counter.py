"""How often each text came before, for streams of any length: 36 bytes of memory for each different text, whatever its own length."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.hash_table import HashTable, row_of
from ratings_core.kernels.compile import kernel

_KEY_BYTES = 8


class RowCounter:
    """Counts texts by 64 bits of their hashes.

    Two texts share them once in 2**64 pairs; the second then counts as a repeat of the first, which is wrong, but the same each time.
    """

    def __init__(self) -> None:
        self._counts = HashTable(integers=1)

    def number_of(self, key: int) -> int:
        """1 for a text that comes for the first time, 2 for the second time and so on; `key`: its `key_of`."""
        counts = self._counts
        if counts.size >= counts.limit:
            counts.reserve(1)
        number, counts.size = _counted(counts.slots, counts.rows, counts.size, key)
        return int(number)


def key_of(text: str) -> int:
    """The 64 bits of its hash by which a text is counted."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)


@kernel
def _counted(slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, key: int) -> tuple[int, int]:
    """The count of `key` with this one, and how many keys there are now."""
    row = row_of(slots, rows, size, key)
    rows[row, 1] += 1
    return int(rows[row, 1]), max(size, int(row) + 1)
