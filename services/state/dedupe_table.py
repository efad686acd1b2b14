"""Hash table of a dedupe window: it maps an id to its position in the window's ring.

The table uses open addressing with linear probing and is at most half full, so it takes 8 bytes an id. An entry has 32 bits: the position,
part of the id's hash, and the distance from the entry's home, the slot where the search for the id starts. A search reads an id from the
ring only if this part of the hash and the distance match. A removal moves later entries back instead of leaving a tombstone; it reads an
id from the ring only if the distance of its entry is too large to be stored.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.hashing import mix64
from ratings_core.kernels.compile import inlined, kernel

NEW: Final = 0
DUPLICATE: Final = 1
CONFLICT: Final = 2

_DISTANCE_BITS: Final = 5
_AHEAD: Final = 64
"""Number of ids whose slots are read ahead together. Overlapping cache misses cost little more time than a single one."""
_WORD: Final = np.int64(2**32 - 1)
_S32: Final = np.uint64(32)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


class Layout(NamedTuple):
    """The bits of an entry: part of the hash, then the distance, then position + 1. An empty slot is 0.

    Attributes:
        capacity: Maximal number of ids in the window.
        position_mask: Mask of the bits of position + 1.
        distance_shift: Number of the bits of position + 1.
        far: Largest value of the distance; it also means every larger distance.
        hash_mask: Mask of the bits of the hash.
    """

    capacity: int
    position_mask: int
    distance_shift: int
    far: int
    hash_mask: int


def layout_for(capacity: int) -> Layout:
    """Layout of the entries for a window of `capacity` ids, at most 2**28."""
    position_bits = capacity.bit_length()
    distance_bits = min(_DISTANCE_BITS, 32 - position_bits)
    used = position_bits + distance_bits
    return Layout(capacity, (1 << position_bits) - 1, position_bits, (1 << distance_bits) - 1, (1 << 32) - (1 << used))


def table_for(ids: int) -> NDArray[np.uint32]:
    """An empty table for `ids` ids: uint32 (2 * ids + 2,)."""
    return np.zeros(2 * ids + 2, np.uint32)


@inlined
def _hash(ids: NDArray[np.uint64], at: int | np.int64) -> np.uint64:
    hashed: np.uint64 = mix64(ids[at, 0] + ids[at, 1] * _ODD)
    return hashed


@inlined
def _home(hashed: np.uint64, slots: NDArray[np.uint32]) -> np.int64:
    """Home of an id: the slot where a search for it starts."""
    return np.int64(((hashed >> _S32) * np.uint64(len(slots))) >> _S32)


@inlined
def _entry(hashed: np.uint64, distance: int | np.int64, position: int, layout: Layout) -> np.int64:
    part = np.int64(hashed & np.uint64(_WORD)) & layout.hash_mask
    return part | min(distance, layout.far) << layout.distance_shift | (position + 1)


@inlined
def _after(slot: np.int64, slots: NDArray[np.uint32]) -> np.int64:
    return slot + 1 if slot + 1 < len(slots) else np.int64(0)


@inlined
def _steps(start: np.int64, end: np.int64, slots: NDArray[np.uint32]) -> np.int64:
    return end - start if end >= start else end - start + len(slots)


@inlined
def _find(
    ids: NDArray[np.uint64], i: int, hashed: np.uint64, ring: NDArray[np.uint64], slots: NDArray[np.uint32], layout: Layout
) -> tuple[np.int64, np.int64, np.int64]:
    """Search the table for `ids[i]`, whose hash is `hashed`.

    Returns:
        The position of the id in the ring, or -1 if it is absent; the slot of its entry, or the empty slot for it; the distance of that
        slot from the id's home.
    """
    slot, distance = _home(hashed, slots), np.int64(0)
    while slots[slot] != 0:
        entry = np.int64(slots[slot])
        at = (entry & layout.position_mask) - 1
        if entry - at == _entry(hashed, distance, 0, layout) and ring[at, 0] == ids[i, 0] and ring[at, 1] == ids[i, 1]:
            return at, slot, distance
        slot, distance = _after(slot, slots), distance + 1
    return np.int64(-1), slot, distance


@inlined
def _remove(ring: NDArray[np.uint64], slots: NDArray[np.uint32], position: int, layout: Layout) -> np.int64:
    """Remove the entry of a position. Later entries that the empty slot would separate from their home are moved back.

    Returns:
        The slot that is empty at the end.
    """
    hole = _home(_hash(ring, position), slots)
    while np.int64(slots[hole]) & layout.position_mask != position + 1:
        hole = _after(hole, slots)
    slot = _after(hole, slots)
    while slots[slot] != 0:
        entry = np.int64(slots[slot])
        distance = entry >> layout.distance_shift & layout.far
        if distance == layout.far:  # the distance is `far` or more, so it is computed from the id in the ring
            distance = _steps(_home(_hash(ring, (entry & layout.position_mask) - 1), slots), slot, slots)
        moved = _steps(hole, slot, slots)
        if distance >= moved:
            kept = entry & (layout.hash_mask | layout.position_mask)
            slots[hole] = kept | min(np.int64(distance - moved), np.int64(layout.far)) << layout.distance_shift
            hole = slot
        slot = _after(slot, slots)
    slots[hole] = 0
    return hole


@inlined
def _read_ahead(ids: NDArray[np.uint64], begin: int, end: int, slots: NDArray[np.uint32]) -> np.int64:
    """Load the home slots of `ids[begin:end]` into the processor's cache. The returned sum keeps the compiler from removing the reads."""
    total = np.int64(0)
    for i in range(begin, end):
        total += np.int64(slots[_home(_hash(ids, i), slots)])
    return total


@kernel
def holds(ids: NDArray[np.uint64], ring: NDArray[np.uint64], slots: NDArray[np.uint32], layout: Layout) -> NDArray[np.bool_]:
    """Which of `ids` (n, 2) are in the ring: bool (n,). The time is linear in n and independent of the size of the ring."""
    held = np.zeros(len(ids), np.bool_)
    for i in range(len(ids)):
        held[i] = _find(ids, i, _hash(ids, i), ring, slots, layout)[0] >= 0
    return held


@kernel
def index(ring: NDArray[np.uint64], size: int, slots: NDArray[np.uint32], layout: Layout) -> tuple[bool, np.int64]:
    """Enter the first `size` ids of a ring into an empty table.

    Returns:
        Whether the ids are distinct; at the first repeated id the function stops. The second number has no meaning.
    """
    total = np.int64(0)
    for position in range(size):
        if position % _AHEAD == 0:
            total += _read_ahead(ring, position, min(position + _AHEAD, size), slots)
        hashed = _hash(ring, position)
        known, slot, distance = _find(ring, position, hashed, ring, slots, layout)
        if known >= 0:
            return False, total
        slots[slot] = _entry(hashed, distance, position, layout)
    return True, total


@kernel
def fold(
    ids: NDArray[np.uint64],
    bodies: NDArray[np.uint32],
    codes: NDArray[np.uint8],
    done: int,
    ring: NDArray[np.uint64],
    ring_bodies: NDArray[np.uint32],
    slots: NDArray[np.uint32],
    size: int,
    oldest: int,
    layout: Layout,
) -> tuple[int, int, int, np.int64]:
    """Admit the ids from index `done` on, see `DedupeWindow.admit`. The verdicts are written into `codes`.

    The function stops before a new id if the ring is full but shorter than the capacity: the caller has to lengthen the ring first.

    Returns:
        The number of ids done, and the new size and oldest position of the ring. The fourth number has no meaning.
    """
    total = np.int64(0)
    for i in range(done, len(ids)):
        if (i - done) % _AHEAD == 0:
            end = min(i + _AHEAD, len(ids))
            total += _read_ahead(ids, i, end, slots)
            if size == len(ring):
                total += _read_ahead(ring, oldest, min(oldest + end - i, size), slots)
        hashed = _hash(ids, i)
        known, slot, distance = _find(ids, i, hashed, ring, slots, layout)
        if known >= 0:
            codes[i] = DUPLICATE if ring_bodies[known] == bodies[i] else CONFLICT
            continue
        position = size
        if size == len(ring_bodies):
            if size < layout.capacity:
                return i, size, oldest, total
            position = oldest
            hole = _remove(ring, slots, position, layout)
            before = _steps(_home(hashed, slots), hole, slots)
            if before < distance:  # the removal emptied a slot nearer to the id's home: a search would end there
                slot, distance = hole, before
            oldest = oldest + 1 if oldest + 1 < layout.capacity else 0
        else:
            size += 1
        codes[i] = NEW
        ring[position, 0], ring[position, 1], ring_bodies[position] = ids[i, 0], ids[i, 1], bodies[i]
        slots[slot] = _entry(hashed, distance, position, layout)
    return len(ids), size, oldest, total
