"""The hash map under all tallies: int64 keys to rows of numbers, for kernels.

Rows stand in order of first appearance, key first, then integer columns, then float columns (the same 8 bytes, read as
float64), so that one update touches one slot and one cache line. Beside them stands an open-addressing table of int32 row
numbers, filled to at most one half. Rows grow by a quarter and the table is dropped before a larger one is built from the
keys, so a map of c columns takes at most (1 + c) * 10 + 16 bytes a key, and under twice that while it grows.
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
"""Most keys a map can hold: twice as many slots must have an int32 number."""
_EMPTY: Final = -1
_FIRST_ROWS: Final = 16
_AHEAD: Final = 16
"""Keys whose slots are read before they are filled: misses of the cache that overlap cost one."""
WINDOW: Final = 64
"""Numbers that `add_window` adds at a time."""
_DIGIT_BITS: Final = 11
_DIGIT: Final = np.uint64((1 << _DIGIT_BITS) - 1)
_SIGN: Final = np.uint64(1 << 63)


class HashTable:
    """Map from int64 keys to rows of `integers` int64 and `floats` float64 numbers, all zero when a key is first seen.

    Kernels work on the arrays: `slots` int32 (a power of two), `rows` int64 (capacity, 1 + columns), of which the first `size`
    are in use, and `floats`, the same rows as float64. They call `row_of` while `size` is below `limit`, `save` before they change a
    row, write the new size back, and call `reserve` when they need more room, after which the arrays are others.
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
        """The rows read as float64: only the last `n_floats` columns mean anything."""
        return self.rows.view(np.float64)

    @property
    def limit(self) -> int:
        """Rows that fit without growing."""
        return min(len(self.rows), len(self.slots) // 2)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, room to grow included."""
        return self.rows.nbytes + self.slots.nbytes

    def reserve(self, more: int) -> None:
        """Make room for `more` new keys. Raises `InputError` beyond `MAX_ROWS` keys."""
        needed = self.size + more
        if needed > MAX_ROWS:
            raise InputError("keys", needed, f"must be at most {MAX_ROWS} in one map")
        if needed > len(self.rows):
            rows = np.empty((max(needed, len(self.rows) + len(self.rows) // 4), self.rows.shape[1]), np.int64)
            rows[: self.size] = self.rows[: self.size]
            self.rows = rows
        if 2 * needed > len(self.slots):
            self._reindex(needed)

    def merge(self, other: "HashTable") -> None:
        """Add every row of `other`, which has the same columns, to the row of its key here; new keys in their order there."""
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
        """What a kernel needs that changes at most `most()` rows; it has to end within the context."""
        if self._log is not None and not self._log.open:
            self._log = None
        return nullcontext(NOTHING) if self._log is None else self._log.undo(most())

    def frozen(self) -> "FrozenRows":
        """The rows as they are now, to be written in any thread. There can be only one such at a time."""
        if self._log is not None and self._log.open:
            msg = "the rows are frozen already"
            raise RuntimeError(msg)
        self._log = RowLog(self.size, self.rows.shape[1])
        return FrozenRows(self.rows, self.size, self._log)

    def sorted_columns(self) -> NDArray[np.int64]:
        """Columns (1 + columns, n), keys rising: a copy that does not depend on capacity or order of arrival."""
        columns = np.empty((self.rows.shape[1], self.size), np.int64)
        self.write_sorted(columns, 0)
        return columns

    def write_sorted(self, columns: NDArray[np.int64], at: int) -> None:
        """Write what `sorted_columns` returns to columns[:, at : at + n]."""
        _gather(self.rows, _rising(self.rows, self.size), columns, at)

    @classmethod
    def from_rows(cls, rows: NDArray[np.int64], floats: int = 0) -> "HashTable":
        """The map that holds `rows` (n, 1 + columns), the last `floats` columns being float64. Raises `InputError` on equal keys.

        Where they are in order (C) and may be written to they are not copied: they belong to the map then.
        """
        keyed = cls(rows.shape[1] - 1 - floats, floats)
        keyed.rows, keyed.size = np.require(rows, np.int64, ["C", "W"]), len(rows)
        if keyed._reindex(max(keyed.size, _FIRST_ROWS)):
            raise InputError("keys", f"{len(rows)} of which some are equal", "must be distinct")
        return keyed

    def _reindex(self, needed: int) -> bool:
        """A new table for `needed` keys; whether two keys were equal. The old one goes first: both are never held."""
        self.slots = np.empty(0, np.int32)
        self.slots = np.empty(1 << (2 * needed - 1).bit_length(), np.int32)
        return bool(_index(self.rows, self.size, self.slots, np.zeros(1, np.int64)))


class FrozenRows(NamedTuple):
    """The first `size` of `rows` as they were; log: what was changed since."""

    rows: NDArray[np.int64]
    size: int
    log: RowLog

    def write_sorted(self, columns: NDArray[np.int64], at: int) -> None:
        """As `HashTable.write_sorted`; once, as it ends the freeze."""
        _gather(self.rows, _rising(self.rows, self.size), columns, at)  # keys do not change
        put_back(columns, at, at + self.size, self.log.take())


@inlined
def row_of(slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, key: int | np.int64) -> np.int64:
    """Row of `key`; a new key takes row `size`, zeroed, and the caller, who made sure of room, counts it. For kernels."""
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
    """Add the first `count` numbers of a window to the rows of their keys, for which there must be room. The new size.

    All first slots are read before all first rows, and these before the rows change: misses of the cache that overlap cost one.
    window: int64 (4, `WINDOW`): key, column from 1, number, and scratch.
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
        if row < frozen:  # asked here, because passing arrays counts references
            save(undo, rows, row)
        rows[row, window[1, i]] += window[2, i]
    return size


@unlocked
def _index(rows: NDArray[np.int64], size: int, slots: NDArray[np.int32], touched: NDArray[np.int64]) -> bool:
    """Fill empty `slots` with the first `size` rows; whether two had the same key.

    touched (1,) takes a sum that keeps the early reads from being optimised away.
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
    """Rows of `other` from `done` on, while there is room. Rows done and the new size."""
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
    """Order of the first `size` rows by key: radix sort, lowest digit first, past digits that all keys share."""
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
