"""Dedupe window: the last ids that a pool counted. It makes each outcome count once (law 3)."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from services.state.dedupe_table import CONFLICT, DUPLICATE, NEW, fold, holds, index, layout_for, table_for

__all__ = ["CONFLICT", "DUPLICATE", "NEW", "DedupeWindow"]

DEFAULT_CAPACITY: Final = 4_194_304
MAX_CAPACITY: Final = 1 << 28
"""The largest window, used for solves of files. The window of a pool holds at most 2**26 ids, see `FoldSettings`."""
_FIRST: Final = 64
_S32: Final = np.uint64(32)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_ARRAYS: Final = frozenset({"ids", "bodies"})


class DedupeWindow:
    """Remembers the last `capacity` distinct ids, each with a hash of the body of its outcome.

    Ids are 128-bit hashes. The window keeps 32 bits of the 64-bit hash of a body. So with probability 2**-32 a conflict is counted as a
    duplicate; neither of the two is folded. A full window takes 28 bytes an id: 16 + 4 in the ring and 8 in the table. A small window
    grows by doubling.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        if not 1 <= capacity <= MAX_CAPACITY:
            raise InputError("capacity", capacity, f"must be from 1 to {MAX_CAPACITY}")
        self.capacity = capacity
        self._size = self._oldest = 0
        self._ids = np.empty((0, 2), np.uint64)
        self._bodies = np.empty(0, np.uint32)
        self._layout, self._table = layout_for(capacity), table_for(0)
        self._frozen: FrozenWindow | None = None
        self._resize(min(_FIRST, capacity))

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, reserved capacity included."""
        return self._ids.nbytes + self._bodies.nbytes + self._table.nbytes

    def admit(self, ids: NDArray[np.uint64], bodies: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Classify ids in order, and enter each new id into the window.

        A new id is entered before the next id is classified, so the first of equal ids in one call is NEW. In a full window a new id
        replaces the oldest one. A known id changes nothing. The result does not depend on how the ids are divided into calls.

        Args:
            ids: uint64 (n, 2), 128-bit hashes of ids.
            bodies: uint64 (n,), hashes of bodies.

        Returns:
            uint8 (n,): NEW; DUPLICATE, a known id with the same body; or CONFLICT, a known id with another body.

        Raises:
            InputError: An array has the wrong type or shape.
        """
        if ids.shape != (len(ids), 2) or ids.dtype != np.uint64:
            raise InputError("ids", ids, "must be uint64 of shape (n, 2)")
        if bodies.shape != (len(ids),) or bodies.dtype != np.uint64:
            raise InputError("bodies", bodies, f"must be uint64 of shape ({len(ids)},), one an id")
        return self._admit(np.ascontiguousarray(ids), (bodies * _ODD >> _S32).astype(np.uint32))

    def holds(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of `ids` (n, 2) are in the window: bool (n,)."""
        held: NDArray[np.bool_] = holds(np.ascontiguousarray(ids), self._ids, self._table, self._layout)
        return held

    @property
    def full(self) -> bool:
        """Whether the window holds `capacity` ids. A full window may have dropped older ids."""
        return self._size == self.capacity

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy, oldest id first: ids uint64 (n, 2), and bodies uint32 (n,), 32 bits of the hash of each body."""
        order = self._oldest, self._size
        return {"ids": _unroll(self._ids, *order), "bodies": _unroll(self._bodies, *order)}

    def frozen(self) -> "FrozenWindow":
        """Freeze the result of `arrays` (copy on write, see `ratings_core.arrays.frozen`).

        Raises:
            RuntimeError: The previous frozen window was neither read nor closed. A window has at most one open frozen copy.
        """
        if self._frozen is not None and self._frozen.open:
            msg = "the window is frozen already"
            raise RuntimeError(msg)
        self._frozen = FrozenWindow(self._ids, self._bodies, self._oldest, self._size)
        return self._frozen

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], capacity: int = DEFAULT_CAPACITY) -> "DedupeWindow":
        """Rebuild a window from the result of `arrays`. Raises `InputError` for more than `capacity` ids, equal ids or wrong shapes."""
        window = cls(capacity)
        if arrays.keys() != _ARRAYS:
            raise InputError("arrays", sorted(arrays), f"must be {sorted(_ARRAYS)}")
        ids, bodies = arrays["ids"], arrays["bodies"]
        if ids.shape != (len(ids), 2) or ids.dtype != np.uint64 or bodies.shape != (len(ids),) or bodies.dtype != np.uint32:
            raise InputError("arrays", {name: (a.dtype, a.shape) for name, a in arrays.items()}, "must be uint64 (n, 2) and uint32 (n,)")
        if len(ids) > capacity:
            raise InputError("arrays['ids']", len(ids), f"must be at most {capacity}, the capacity")
        length = len(window._bodies)
        while length < len(ids):  # the length that a window reaches when it grows by doubling
            length = min(2 * length, capacity)
        window._ids, window._bodies, window._size = ids, bodies, len(ids)
        if not window._resize(length):
            raise InputError("arrays['ids']", ids, "must be distinct")
        return window

    def _admit(self, ids: NDArray[np.uint64], bodies: NDArray[np.uint32]) -> NDArray[np.uint8]:
        codes, done = np.empty(len(ids), np.uint8), 0
        while True:
            self._save(len(ids) - done)
            ring = self._ids, self._bodies, self._table, self._size, self._oldest
            done, self._size, self._oldest, _ = fold(ids, bodies, codes, done, *ring, self._layout)
            if done == len(ids):
                return codes
            self._resize(min(2 * len(self._bodies), self.capacity))

    def _save(self, new: int) -> None:
        """Before `new` new ids are entered, copy the ids that they would replace into the open frozen window."""
        if self._frozen is None:
            return
        if not self._frozen.open:
            self._frozen = None
        elif len(self._bodies) == self.capacity:
            self._frozen.save(max(0, new - (self.capacity - self._size)))

    def _resize(self, length: int) -> bool:
        """Lengthen the ring and index it in a new table. Returns whether the ids are distinct.

        Call it only while no id has been replaced: then the ring is in order from position 0. The old table is released before the new
        one is made, to save memory.
        """
        self._table = table_for(0)
        self._ids = _copy_to_start(np.empty((length, 2), np.uint64), self._ids[: self._size])
        self._bodies = _copy_to_start(np.empty(length, np.uint32), self._bodies[: self._size])
        self._table = table_for(length)
        distinct, _ = index(self._ids, self._size, self._table, self._layout)
        return bool(distinct)


class FrozenWindow:
    """A frozen dedupe window: its `size` ids, in the order of the ring from `oldest` on. The window replaces ids in the same order.

    Attributes:
        open: Whether `save` still copies ids that the window is about to replace.
    """

    def __init__(self, ids: NDArray[np.uint64], bodies: NDArray[np.uint32], oldest: int, size: int) -> None:
        self._rings: Arrays = {"ids": ids, "bodies": bodies}
        self._order = oldest, size
        self._kept: list[Arrays] = []
        self._kept_to = 0
        self._lock, self.open = Lock(), True

    def save(self, most: int) -> None:
        """Copy the next `most` ids in order. The window calls it before it replaces at most that many ids."""
        oldest, size = self._order
        with self._lock:
            end = min(self._kept_to + most, size)
            if not self.open or end == self._kept_to:
                return
            positions = (oldest + np.arange(self._kept_to, end)) % size
            self._kept.append({name: ring[positions] for name, ring in self._rings.items()})
            self._kept_to = end

    def arrays(self) -> Arrays:
        """The result of `DedupeWindow.arrays` at the time of the freeze. Callable once, from any thread; it ends the freeze."""
        copies = {name: _unroll(ring, *self._order) for name, ring in self._rings.items()}
        with self._lock:
            self.open = False
        begin = 0
        for kept in self._kept:
            end = begin + len(kept["ids"])
            for name, values in kept.items():
                copies[name][begin:end] = values
            begin = end
        return copies

    def close(self) -> None:
        """End the freeze without reading, and release the arrays."""
        with self._lock:
            self.open = False
        self._rings, self._kept = {}, []


def _copy_to_start(ring: NDArray[Any], held: NDArray[Any]) -> NDArray[Any]:
    ring[: len(held)] = held
    return ring


def _unroll(ring: NDArray[Any], oldest: int, size: int) -> NDArray[Any]:
    return np.concatenate([ring[oldest:size], ring[:oldest]])
