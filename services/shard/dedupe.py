"""The last ids that a pool applied, so that each outcome counts once (law 3)."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.frozen import Arrays
from ratings_core.hashing import mix64

NEW: Final = 0
DUPLICATE: Final = 1
CONFLICT: Final = 2
DEFAULT_CAPACITY: Final = 4_194_304
MAX_CAPACITY: Final = 1 << 28
_FIRST: Final = 64
_DISTANCE_BITS: Final = 5
_AHEAD: Final = 64
_WORD: Final = np.int64(2**32 - 1)
_S32: Final = np.uint64(32)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_ARRAYS: Final = frozenset({"ids", "bodies"})


class _Layout(NamedTuple):
    """What the 32 bits of a table entry mean: part of the id's hash, distance from its home slot, position in the ring + 1.

    An empty slot is 0. far: the largest distance, which stands for itself and all beyond.
    """

    capacity: int
    position_mask: int
    distance_shift: int
    far: int
    hash_mask: int

    @classmethod
    def of(cls, capacity: int) -> "_Layout":
        position_bits = capacity.bit_length()
        distance_bits = min(_DISTANCE_BITS, 32 - position_bits)
        used = position_bits + distance_bits
        return cls(capacity, (1 << position_bits) - 1, position_bits, (1 << distance_bits) - 1, (1 << 32) - (1 << used))


class DedupeWindow:
    """Remembers the last `capacity` ids that were new, and the body that each came with.

    ids are 128-bit hashes, taken as equal when their bits are. Of a body's 64-bit hash 32 bits are kept: a conflict passes for
    a duplicate once in 2**32, and neither is applied. Memory an id at full size: 16 + 4 in a ring, 6 in an open-addressing table
    filled to at most 2/3; small windows grow by doubling. Table entries carry enough of an id's hash and of their distance from
    home that a probe reads an id only where it is likely the one, and that removal, which shifts entries back and leaves no
    marks, reads next to none.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        if not 1 <= capacity <= MAX_CAPACITY:
            raise InputError("capacity", capacity, f"must be from 1 to {MAX_CAPACITY}")
        self.capacity = capacity
        self._layout = _Layout.of(capacity)
        self._size = self._oldest = 0
        self._ids = np.empty((0, 2), np.uint64)
        self._bodies = np.empty(0, np.uint32)
        self._slots = np.empty(0, np.uint32)
        self._frozen: FrozenWindow | None = None
        self._resize(min(_FIRST, capacity))

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, room to grow included."""
        return self._ids.nbytes + self._bodies.nbytes + self._slots.nbytes

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
        """Which of `ids` (n, 2) it remembers. Goes through all that it holds."""
        held = self._ids[: self._size]
        held = held[np.isin(held[:, 0], ids[:, 0])]
        return np.array([bool((held == one).all(axis=1).any()) for one in ids], np.bool_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy, oldest first: ids uint64 (n, 2), bodies uint32 (n,), the part that is kept of each hash."""
        order = self._oldest, self._size
        return {"ids": _unrolled(self._ids, *order), "bodies": _unrolled(self._bodies, *order)}

    def frozen(self) -> "FrozenWindow":
        """What `arrays` gives now, as `ratings_core.frozen` says. There can be only one such at a time."""
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
        window._reserve(len(ids))
        if window._admit(np.array(ids), np.array(bodies)).any():
            raise InputError("arrays['ids']", ids, "must be distinct")
        return window

    def _admit(self, ids: NDArray[np.uint64], bodies: NDArray[np.uint32]) -> NDArray[np.uint8]:
        codes, touched = np.empty(len(ids), np.uint8), np.zeros(1, np.int64)
        done = 0
        while True:
            self._save(len(ids) - done)
            done, self._size, self._oldest = _fold(
                ids, bodies, codes, done, self._ids, self._bodies, self._slots, self._size, self._oldest, self._layout, touched
            )
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

    def _reserve(self, ids: int) -> None:
        """Make room for so many, in an empty window, at once what growing would make of it."""
        length = len(self._bodies)
        while length < ids:
            length = min(2 * length, self.capacity)
        self._resize(length)

    def _resize(self, length: int) -> None:
        """A longer ring, before the oldest id was ever pushed out, and its table; the old table goes first."""
        self._slots = np.empty(0, np.uint32)
        ids, self._ids = self._ids, np.empty((length, 2), np.uint64)
        self._ids[: self._size] = ids[: self._size]
        del ids
        bodies, self._bodies = self._bodies, np.empty(length, np.uint32)
        self._bodies[: self._size] = bodies[: self._size]
        self._slots = np.zeros(length + length // 2 + 2, np.uint32)
        _index(self._ids, self._slots, self._size, self._layout)


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


def _unrolled(ring: NDArray[Any], oldest: int, size: int) -> NDArray[Any]:
    return np.concatenate([ring[oldest:size], ring[:oldest]])


@njit(cache=True)  # type: ignore[untyped-decorator]
def _hash(ids: NDArray[np.uint64], at: int) -> np.uint64:
    hashed: np.uint64 = mix64(ids[at, 0] + ids[at, 1] * _ODD)
    return hashed


@njit(cache=True)  # type: ignore[untyped-decorator]
def _home(hashed: np.uint64, slots: NDArray[np.uint32]) -> np.int64:
    return np.int64(((hashed >> _S32) * np.uint64(len(slots))) >> _S32)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _entry(hashed: np.uint64, distance: int, position: int, layout: _Layout) -> np.int64:
    part = np.int64(hashed & np.uint64(_WORD)) & layout.hash_mask
    return part | min(distance, layout.far) << layout.distance_shift | (position + 1)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _after(slot: np.int64, slots: NDArray[np.uint32]) -> np.int64:
    return slot + 1 if slot + 1 < len(slots) else np.int64(0)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _steps(start: np.int64, end: np.int64, slots: NDArray[np.uint32]) -> np.int64:
    return end - start if end >= start else end - start + len(slots)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _find(
    ids: NDArray[np.uint64], i: int, hashed: np.uint64, ring: NDArray[np.uint64], slots: NDArray[np.uint32], layout: _Layout
) -> tuple[np.int64, np.int64, int]:
    """Position in the ring of id i, or -1; the slot where it is or would go; how far that is from its home."""
    slot, distance = _home(hashed, slots), 0
    while slots[slot] != 0:
        entry = np.int64(slots[slot])
        at = (entry & layout.position_mask) - 1
        if entry - at == _entry(hashed, distance, 0, layout) and ring[at, 0] == ids[i, 0] and ring[at, 1] == ids[i, 1]:
            return at, slot, distance
        slot, distance = _after(slot, slots), distance + 1
    return np.int64(-1), slot, distance


@njit(cache=True)  # type: ignore[untyped-decorator]
def _remove(ring: NDArray[np.uint64], slots: NDArray[np.uint32], position: int, layout: _Layout) -> None:
    """Empty the slot of a position, then shift back each entry that the hole cut off from its home."""
    hole = _home(_hash(ring, position), slots)
    while np.int64(slots[hole]) & layout.position_mask != position + 1:
        hole = _after(hole, slots)
    slot = _after(hole, slots)
    while slots[slot] != 0:
        entry = np.int64(slots[slot])
        distance = entry >> layout.distance_shift & layout.far
        if distance == layout.far:  # or farther
            distance = _steps(_home(_hash(ring, (entry & layout.position_mask) - 1), slots), slot, slots)
        moved = _steps(hole, slot, slots)
        if distance >= moved:
            kept = entry & (layout.hash_mask | layout.position_mask)
            slots[hole] = kept | min(distance - moved, layout.far) << layout.distance_shift
            hole = slot
        slot = _after(slot, slots)
    slots[hole] = 0


@njit(cache=True)  # type: ignore[untyped-decorator]
def _index(ring: NDArray[np.uint64], slots: NDArray[np.uint32], size: int, layout: _Layout) -> None:
    for position in range(size):
        hashed, distance = _hash(ring, position), 0
        slot = _home(hashed, slots)
        while slots[slot] != 0:
            slot, distance = _after(slot, slots), distance + 1
        slots[slot] = _entry(hashed, distance, position, layout)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _touch(
    ids: NDArray[np.uint64], begin: int, end: int, ring: NDArray[np.uint64], slots: NDArray[np.uint32], size: int, oldest: int
) -> np.int64:
    """Reads the slots that the next ids, and those they may push out, will need: misses of the cache that overlap cost one."""
    total = np.int64(0)
    for i in range(begin, end):
        total += np.int64(slots[_home(_hash(ids, i), slots)])
    for position in range(oldest, min(oldest + end - begin, size) if size == len(ring) else oldest):
        total += np.int64(slots[_home(_hash(ring, position), slots)])
    return total


@njit(cache=True)  # type: ignore[untyped-decorator]
def _fold(
    ids: NDArray[np.uint64],
    bodies: NDArray[np.uint32],
    codes: NDArray[np.uint8],
    done: int,
    ring: NDArray[np.uint64],
    ring_bodies: NDArray[np.uint32],
    slots: NDArray[np.uint32],
    size: int,
    oldest: int,
    layout: _Layout,
    touched: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Ids from `done` on; stops before a new one when a ring that may still grow is full. Ids done, size and oldest.

    touched (1,) takes the sum that keeps the early reads of `_touch` from being optimised away.
    """
    for i in range(done, len(ids)):
        if (i - done) % _AHEAD == 0:
            touched[0] += _touch(ids, i, min(i + _AHEAD, len(ids)), ring, slots, size, oldest)
        hashed = _hash(ids, i)
        known, slot, distance = _find(ids, i, hashed, ring, slots, layout)
        if known >= 0:
            codes[i] = DUPLICATE if ring_bodies[known] == bodies[i] else CONFLICT
            continue
        position = size
        if size == len(ring_bodies):
            if size < layout.capacity:
                return i, size, oldest
            position = oldest
            _remove(ring, slots, position, layout)
            _, slot, distance = _find(ids, i, hashed, ring, slots, layout)  # removal may have moved the end of its run
            oldest = oldest + 1 if oldest + 1 < layout.capacity else 0
        else:
            size += 1
        codes[i] = NEW
        ring[position, 0], ring[position, 1], ring_bodies[position] = ids[i, 0], ids[i, 1], bodies[i]
        slots[slot] = _entry(hashed, distance, position, layout)
    return len(ids), size, oldest
