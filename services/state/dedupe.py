"""The last ids that a pool counted, so that each outcome counts once (law 3)."""

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
"""Of solves of files. A pool remembers at most 2**26 ids, see `FoldSettings`."""
_FIRST: Final = 64
_S32: Final = np.uint64(32)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_ARRAYS: Final = frozenset({"ids", "bodies"})


class DedupeWindow:
    """Remembers the last `capacity` ids that were new, and the body that each came with.

    Ids are 128-bit hashes. Of a body's 64-bit hash 32 bits are kept, so a conflict is counted as a duplicate once in 2**32; neither
    is applied. Memory at full size: 28 bytes an id, 16 + 4 in the ring and 8 in the table. Small windows grow by doubling.
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
        """Bytes of memory held, room to grow included."""
        return self._ids.nbytes + self._bodies.nbytes + self._table.nbytes

    def admit(self, ids: NDArray[np.uint64], bodies: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """What each id is, in order: NEW, DUPLICATE, or CONFLICT where it is known with another body.

        ids: uint64 (n, 2); bodies: uint64 (n,). New ids are entered at once, so the first of equal ids in one call wins, and
        push out the oldest beyond the capacity; known ids change nothing. How ids are cut into calls makes no difference.
        """
        if ids.shape != (len(ids), 2) or ids.dtype != np.uint64:
            raise InputError("ids", ids, "must be uint64 of shape (n, 2)")
        if bodies.shape != (len(ids),) or bodies.dtype != np.uint64:
            raise InputError("bodies", bodies, f"must be uint64 of shape ({len(ids)},), one an id")
        return self._admit(np.ascontiguousarray(ids), (bodies * _ODD >> _S32).astype(np.uint32))

    def holds(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of `ids` (n, 2) it remembers."""
        found: NDArray[np.bool_] = holds(np.ascontiguousarray(ids), self._ids, self._table, self._layout)
        return found

    @property
    def full(self) -> bool:
        """Whether it may have forgotten ids."""
        return self._size == self.capacity

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy, oldest first: ids uint64 (n, 2), bodies uint32 (n,), the part that is kept of each hash."""
        order = self._oldest, self._size
        return {"ids": _unrolled(self._ids, *order), "bodies": _unrolled(self._bodies, *order)}

    def frozen(self) -> "FrozenWindow":
        """What `arrays` gives now, as `ratings_core.arrays.frozen` says. There can be only one such at a time."""
        if self._frozen is not None and self._frozen.open:
            msg = "the window is frozen already"
            raise RuntimeError(msg)
        self._frozen = FrozenWindow(self._ids, self._bodies, self._oldest, self._size)
        return self._frozen

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], capacity: int = DEFAULT_CAPACITY) -> "DedupeWindow":
        """The window whose `arrays()` these are. Raises `InputError` where they hold more than `capacity` or equal ids."""
        window = cls(capacity)
        if arrays.keys() != _ARRAYS:
            raise InputError("arrays", sorted(arrays), f"must be {sorted(_ARRAYS)}")
        ids, bodies = arrays["ids"], arrays["bodies"]
        if ids.shape != (len(ids), 2) or ids.dtype != np.uint64 or bodies.shape != (len(ids),) or bodies.dtype != np.uint32:
            raise InputError("arrays", {name: (a.dtype, a.shape) for name, a in arrays.items()}, "must be uint64 (n, 2) and uint32 (n,)")
        if len(ids) > capacity:
            raise InputError("arrays['ids']", len(ids), f"must be at most {capacity}, the capacity")
        length = len(window._bodies)
        while length < len(ids):  # the room that growing would have made
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
        """Keep what that many new ids would push out, where it was frozen."""
        if self._frozen is None:
            return
        if not self._frozen.open:
            self._frozen = None
        elif len(self._bodies) == self.capacity:
            self._frozen.save(max(0, new - (self.capacity - self._size)))

    def _resize(self, length: int) -> bool:
        """A longer ring, before the oldest id was ever pushed out, and its table; the old one goes first. Whether the ids are distinct."""
        self._table = table_for(0)
        self._ids = _begun(np.empty((length, 2), np.uint64), self._ids[: self._size])
        self._bodies = _begun(np.empty(length, np.uint32), self._bodies[: self._size])
        self._table = table_for(length)
        distinct, _ = index(self._ids, self._size, self._table, self._layout)
        return bool(distinct)


class FrozenWindow:
    """A window as it was: `size` ids in the order of the ring from `oldest` on, which is the order in which they are pushed out.

    open: whether what is pushed out is still kept.
    """

    def __init__(self, ids: NDArray[np.uint64], bodies: NDArray[np.uint32], oldest: int, size: int) -> None:
        self._rings: Arrays = {"ids": ids, "bodies": bodies}
        self._order = oldest, size
        self._kept: list[Arrays] = []
        self._kept_to = 0
        self._lock, self.open = Lock(), True

    def save(self, most: int) -> None:
        """Keep the next `most` ids: no more than those are about to be pushed out."""
        oldest, size = self._order
        with self._lock:
            end = min(self._kept_to + most, size)
            if not self.open or end == self._kept_to:
                return
            positions = (oldest + np.arange(self._kept_to, end)) % size
            self._kept.append({name: ring[positions] for name, ring in self._rings.items()})
            self._kept_to = end

    def arrays(self) -> Arrays:
        """As `DedupeWindow.arrays`; once, in any thread, which ends the freeze."""
        copies = {name: _unrolled(ring, *self._order) for name, ring in self._rings.items()}
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
        """Nobody will read it."""
        with self._lock:
            self.open = False
        self._rings, self._kept = {}, []


def _begun(ring: NDArray[Any], held: NDArray[Any]) -> NDArray[Any]:
    ring[: len(held)] = held
    return ring


def _unrolled(ring: NDArray[Any], oldest: int, size: int) -> NDArray[Any]:
    return np.concatenate([ring[oldest:size], ring[:oldest]])
