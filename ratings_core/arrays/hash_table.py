"""Hash map from int64 keys to rows of numbers, for kernels. All tallies use it.

Rows are in order of first appearance: the key, then integer columns, then float columns (the same 8 bytes, read as float64). An update
therefore touches one slot and one cache line. A separate open-addressing table contains int32 row numbers and is at most half full. Rows
grow by a quarter. A larger table is built from the keys after the old one was released. A map of c columns takes at most (1 + c) * 10 + 16
bytes per key, and less than twice that during growth.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import NOTHING, RowLog, Undo, put_back, save
from ratings_core.arrays.hashing import mix64
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel, unlocked

MAX_ROWS: Final = 2**30
"""Largest number of keys in a map. The map has twice as many slots, and their numbers must fit into int32."""
_EMPTY: Final = -1
_FIRST_ROWS: Final = 16
_AHEAD: Final = 16
"""Number of keys whose slots are read before they are filled, so that cache misses overlap."""
WINDOW: Final = 64
"""Largest number of updates in a call of `add_window`."""
_DIGIT_BITS: Final = 11
_DIGIT: Final = np.uint64((1 << _DIGIT_BITS) - 1)
_SIGN: Final = np.uint64(1 << 63)


class HashTable:
    """Map from int64 keys to rows of `integers` int64 and `floats` float64 numbers. The row of a new key is all zeros.

    Kernels work on the arrays: `slots` int32 (length a power of two), `rows` int64 (capacity, 1 + columns), of which the first `size` are
    in use, and `floats`, the same rows as float64. A kernel calls `row_of` only while `size` is below `limit`, and `save` before it changes
    a row. Its caller stores the new size, and calls `reserve` for more room, which replaces the arrays.
    """

    __slots__ = ("_log", "n_floats", "n_integers", "rows", "size", "slots")

    def __init__(self, integers: int, floats: int = 0) -> None:
        self.n_integers, self.n_floats = integers, floats
        self.size = 0
        self.rows: NDArray[np.int64] = np.empty((_FIRST_ROWS, 1 + integers + floats), np.int64)
        self.slots: NDArray[np.int32] = np.full(2 * _FIRST_ROWS, _EMPTY, np.int32)
        self._log: RowLog | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def floats(self) -> NDArray[np.float64]:
        """The rows viewed as float64. Only the last `n_floats` columns contain floats."""
        return self.rows.view(np.float64)

    @property
    def limit(self) -> int:
        """Number of rows that fit without growth."""
        return min(len(self.rows), len(self.slots) // 2)

    @property
    def nbytes(self) -> int:
        """Bytes of allocated memory, including unused capacity."""
        return self.rows.nbytes + self.slots.nbytes

    def reserve(self, more: int) -> None:
        """Make room for `more` new keys. Raises `InputError` for more than `MAX_ROWS` keys in total."""
        needed = self.size + more
        if needed > MAX_ROWS:
            raise InputError("keys", needed, f"must be at most {MAX_ROWS} in one map")
        if needed > len(self.rows):
            self._lengthen(max(needed, len(self.rows) + len(self.rows) // 4))
        if 2 * needed > len(self.slots):
            self._reindex(needed)

    def merge(self, other: "HashTable") -> None:
        """Add every row of `other`, which must have the same columns, to the row of its key. New keys are appended in order."""
        done = 0
        while True:
            with self.undo(lambda: other.size) as undo:
                done, self.size = _merge(
                    self.slots, self.rows, self.floats, self.size, self.limit,
                    other.rows, other.floats, other.size, done, self.n_integers, undo,
                )  # fmt: skip
            if done == other.size:
                return
            self.reserve(1)

    def undo(self, most: Callable[[], int]) -> AbstractContextManager[Undo]:
        """Undo buffer for a kernel that changes at most `most()` rows. The kernel must end within the context."""
        if self._log is not None and not self._log.open:
            self._log = None
        return nullcontext(NOTHING) if self._log is None else self._log.undo(most())

    def frozen(self) -> "FrozenRows":
        """Freeze the current rows, to be read in any thread. Raises `RuntimeError` if the rows are frozen already."""
        if self._log is not None and self._log.open:
            msg = "the rows are frozen already"
            raise RuntimeError(msg)
        self._log = RowLog(self.size, self.rows.shape[1])
        return FrozenRows(self.rows, self.size, self._log)

    def sorted_columns(self) -> NDArray[np.int64]:
        """Canonical copy as columns (1 + columns, n), by ascending key. It does not depend on capacity or the order of updates."""
        columns = np.empty((self.rows.shape[1], self.size), np.int64)
        self.write_sorted(columns, 0)
        return columns

    def write_sorted(self, columns: NDArray[np.int64], at: int) -> None:
        """Write the result of `sorted_columns` to columns[:, at : at + n]."""
        _gather(self.rows, _rising(self.rows, self.size), columns, at)

    @classmethod
    def from_rows(cls, rows: NDArray[np.int64], floats: int = 0) -> "HashTable":
        """The map with these `rows` (n, 1 + columns), whose last `floats` columns are float64. Raises `InputError` for equal keys.

        A writable C-contiguous array is not copied and then belongs to the map.
        """
        keyed = cls(rows.shape[1] - 1 - floats, floats)
        keyed.rows, keyed.size = np.require(rows, np.int64, ["C", "W"]), len(rows)
        if keyed._reindex(max(keyed.size, _FIRST_ROWS)):
            raise InputError("keys", f"{len(rows)} of which some are equal", "must be distinct")
        return keyed

    def _lengthen(self, capacity: int) -> None:
        """Make room for `capacity` rows. The array grows in place, often without a copy, unless another array refers to its memory."""
        shape = capacity, self.rows.shape[1]
        try:
            self.rows.resize(shape)
        except ValueError:  # frozen rows, for example, are still read
            rows = np.empty(shape, np.int64)
            rows[: self.size] = self.rows[: self.size]
            self.rows = rows

    def _reindex(self, needed: int) -> bool:
        """Build a new table for `needed` keys. Returns whether two keys are equal. The old table is released first to save memory."""
        self.slots = np.empty(0, np.int32)
        self.slots = np.empty(1 << (2 * needed - 1).bit_length(), np.int32)
        return bool(_index(self.rows, self.size, self.slots, np.zeros(1, np.int64)))


class FrozenRows(NamedTuple):
    """Snapshot of the first `size` of `rows`. log: undo log of changes since the freeze."""

    rows: NDArray[np.int64]
    size: int
    log: RowLog

    def write_sorted(self, columns: NDArray[np.int64], at: int) -> None:
        """`HashTable.write_sorted` for the frozen rows. It can be called once, because it ends the freeze."""
        _gather(self.rows, _rising(self.rows, self.size), columns, at)  # keys do not change
        put_back(columns, at, at + self.size, self.log.take())


@inlined
def row_of(slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, key: int | np.int64) -> np.int64:
    """Row of `key`, for kernels. A new key gets row `size`, filled with zeros; the caller ensures room and increments the size."""
    mask = np.int64(len(slots) - 1)
    slot = np.int64(mix64(np.uint64(key))) & mask
    while slots[slot] != _EMPTY:
        row = np.int64(slots[slot])
        if rows[row, 0] == key:
            return row
        slot = (slot + 1) & mask
    slots[slot] = size
    rows[size, 0] = key
    rows[size, 1:] = 0
    return np.int64(size)


@kernel
def add_window(slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, window: NDArray[np.int64], count: int, undo: Undo) -> int:
    """Add the first `count` numbers of a window to the rows of their keys. There must be room for new keys. Returns the new size.

    All first slots are read, then all first rows, and only then rows are changed, so that cache misses overlap.
    window: int64 (4, `WINDOW`), with rows for key, column (from 1), number, and scratch.
    """
    mask, frozen = np.int64(len(slots) - 1), len(undo.marks)
    for i in range(count):
        window[3, i] = slots[np.int64(mix64(np.uint64(window[0, i]))) & mask]
    for i in range(count):
        if window[3, i] != _EMPTY and rows[window[3, i], 0] != window[0, i]:
            window[3, i] = _EMPTY
    for i in range(count):
        row = window[3, i]
        if row == _EMPTY:
            row = row_of(slots, rows, size, window[0, i])
            size += row == size
        if row < frozen:  # tested here, because passing arrays to `save` has a cost
            save(undo, rows, row)
        rows[row, window[1, i]] += window[2, i]
    return size


@unlocked
def _index(rows: NDArray[np.int64], size: int, slots: NDArray[np.int32], touched: NDArray[np.int64]) -> bool:
    """Fill `slots` with the first `size` rows. Returns whether two rows have the same key.

    touched: (1,), receives a sum, so that the compiler does not remove the reads ahead.
    """
    mask, equal = np.int64(len(slots) - 1), False
    slots[:] = _EMPTY
    for row in range(size):
        if row % _AHEAD == 0:
            for ahead in range(row, min(row + _AHEAD, size)):
                touched[0] += slots[np.int64(mix64(np.uint64(rows[ahead, 0]))) & mask]
        slot = np.int64(mix64(np.uint64(rows[row, 0]))) & mask
        while slots[slot] != _EMPTY:
            equal = equal or rows[slots[slot], 0] == rows[row, 0]
            slot = (slot + 1) & mask
        slots[slot] = row
    return equal


@kernel
def _merge(
    slots: NDArray[np.int32],
    rows: NDArray[np.int64],
    floats: NDArray[np.float64],
    size: int,
    limit: int,
    other: NDArray[np.int64],
    other_floats: NDArray[np.float64],
    count: int,
    done: int,
    integers: int,
    undo: Undo,
) -> tuple[int, int]:
    """Add the rows of `other` from index `done` until the map is full. Returns the index reached and the new size."""
    for i in range(done, count):
        if size == limit:
            return i, size
        row = row_of(slots, rows, size, other[i, 0])
        size += row == size
        save(undo, rows, row)
        for c in range(1, 1 + integers):
            rows[row, c] += other[i, c]
        for c in range(1 + integers, rows.shape[1]):
            floats[row, c] += other_floats[i, c]
    return count, size


@unlocked
def _gather(rows: NDArray[np.int64], order: NDArray[np.int32], columns: NDArray[np.int64], at: int) -> None:
    for i in range(len(order)):
        for c in range(rows.shape[1]):
            columns[c, at + i] = rows[order[i], c]


@unlocked
def _rising(rows: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Order of the first `size` rows by key, by radix sort from the lowest digit. Digits that are equal in all keys are skipped."""
    keys, order = np.empty(size, np.uint64), np.empty(size, np.int32)
    other_keys, other_order = np.empty(size, np.uint64), np.empty(size, np.int32)
    some, every = np.uint64(0), ~np.uint64(0)
    for i in range(size):
        keys[i], order[i] = np.uint64(rows[i, 0]) ^ _SIGN, i
        some |= keys[i]
        every &= keys[i]
    for shift in range(0, 64, _DIGIT_BITS):
        if ((some ^ every) >> np.uint64(shift)) & _DIGIT:
            _by_digit(keys, order, np.uint64(shift), other_keys, other_order)
            keys, other_keys = other_keys, keys
            order, other_order = other_order, order
    return order


@unlocked
def _by_digit(
    keys: NDArray[np.uint64], order: NDArray[np.int32], shift: np.uint64, to_keys: NDArray[np.uint64], to_order: NDArray[np.int32]
) -> None:
    place = np.zeros((1 << _DIGIT_BITS) + 1, np.int64)
    for i in range(len(keys)):
        place[np.int64((keys[i] >> shift) & _DIGIT) + 1] += 1
    for below in range(1 << _DIGIT_BITS):
        place[below + 1] += place[below]
    for i in range(len(keys)):
        digit = np.int64((keys[i] >> shift) & _DIGIT)
        to_keys[place[digit]], to_order[place[digit]] = keys[i], order[i]
        place[digit] += 1
