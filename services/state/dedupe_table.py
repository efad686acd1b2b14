"""Where in the ring of a dedupe window an id stands: a table of 4 bytes an id, for kernels.

It is made of buckets of 18 slots, a line of the cache each. An id goes to the emptier one of two buckets that its hash names, which
leaves hardly any id without room where 16 of 18 slots are used (Azar et al., "Balanced allocations", 1994). Where both are full it
goes to the next bucket after the first that has room, and those it passes count it, as F14 does: a search ends at a bucket that nobody
passed, and a removal takes the counts back. So nothing is ever moved, and searches stay short however many ids were pushed out.
A slot holds 6 bits of the id's hash and its position of 22 bits; one search for a new id in two reads another one in vain.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.hashing import mix64
from ratings_core.kernels.compile import inlined, kernel

NEW: Final = 0
DUPLICATE: Final = 1
CONFLICT: Final = 2

_LINE: Final = 64
_SLOTS: Final = 18
_IDS: Final = 16
"""By bucket, where the window is full: 64 bytes for 16 ids."""
_NARROW: Final = 1 << 22
_AHEAD: Final = 64
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_NUMBERS: Final = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 18, 20, 32, 56, 63, 108)
_0, _1, _2, _3, _4, _7, _8, _9, _15, _16, _18, _20, _32, _56, _63, _108 = map(np.uint64, _NUMBERS)
_BYTE: Final = np.uint64(0xFF)
_LOW: Final = np.uint64(0xFFFF)
_HALF: Final = np.uint64(0xFFFFFFFF)
_ONES: Final = np.uint64(0x0101010101010101)
_TOPS: Final = np.uint64(0x8080808080808080)
_TWO: Final = np.uint64(0x8080)
_HASHES: Final = np.uint64(0xFCFCFCFCFCFCFCFC)
_PLACES: Final = np.uint64(0x0001020304050607)
_PASS: Final = np.uint64(1 << 56)
"""A bucket is 8 words: by slot a byte of 6 bits of hash, never 0 where it is used, and the 2 lowest of the position; by slot the next 16
of the position; by slot the next 4; and a byte that counts who passed, 255 for that many or more, from then on.
"""


def aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros that begin where a line of the cache does."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + _LINE, np.uint8)
    begin = -room.ctypes.data % _LINE
    zeros: NDArray[Any] = room[begin : begin + size].view(dtype).reshape(shape)
    return zeros


def table_for(ids: int) -> NDArray[np.uint64]:
    """An empty table, uint64 (8 * buckets,), with room for so many ids."""
    return aligned((8 * (ids // _IDS + 1),), np.uint64)


def high_for(ids: int, capacity: int) -> NDArray[np.uint8]:
    """What such a table needs besides in windows of more than 4,194,304 ids: a byte a slot, for the highest bits of groups."""
    return np.zeros(_SLOTS * len(table_for(ids)) // 8 if capacity > _NARROW else 0, np.uint8)


@inlined
def _hash(ids: NDArray[np.uint64], at: int) -> np.uint64:
    hashed: np.uint64 = mix64(ids[at, 0] + ids[at, 1] * _ODD)
    return hashed


@inlined
def _home(hashed: np.uint64, table: NDArray[np.uint64]) -> np.uint64:
    """The first word of an id's bucket."""
    return (hashed >> _32) * np.uint64(len(table) >> 3) >> _32 << _3


@inlined
def _other(hashed: np.uint64, table: NDArray[np.uint64]) -> np.uint64:
    """The first word of its other bucket."""
    return (hashed & _HALF) * np.uint64(len(table) >> 3) >> _32 << _3


@inlined
def _after(bucket: np.uint64, table: NDArray[np.uint64]) -> np.uint64:
    return bucket + _8 if bucket + _8 < np.uint64(len(table)) else _0


@inlined
def _tag(hashed: np.uint64) -> np.uint64:
    tag: np.uint64 = max(hashed & _63, _1) << _2
    return tag


@inlined
def _held(hashed: np.uint64, position: int) -> np.uint64:
    """What a slot holds beside the group."""
    return _tag(hashed) | np.uint64(position & 3)


@inlined
def _marks(zeros: np.uint64, word: np.uint64) -> np.uint64:
    """The top bit of each byte of a word that is zero, and a slot: the first is right, later ones may be wrong."""
    return (zeros - _ONES) & ~zeros & (_TWO if word == _2 else _TOPS)


@inlined
def _free(table: NDArray[np.uint64], bucket: np.uint64) -> np.uint64:
    """How many slots are."""
    free = _0
    for word in (_0, _1, _2):
        held = table[bucket + word]
        marks = ~((held & ~_TOPS) + ~_TOPS | held) & (_TWO if word == _2 else _TOPS)
        free += (marks >> _7) * _ONES >> _56
    return free


@inlined
def _first(marks: np.uint64, word: np.uint64) -> np.uint64:
    """Slot of the first mark."""
    slot: np.uint64 = (((marks & (~marks + _1)) >> _7) * _PLACES >> _56) + (word << _3)
    return slot


@inlined
def _group(table: NDArray[np.uint64], high: NDArray[np.uint8], bucket: np.uint64, slot: np.uint64) -> np.uint64:
    low = table[bucket + (_9 + slot >> _2)] >> ((_9 + slot & _3) << _4) & _LOW
    group = low | (table[bucket + (_108 + slot >> _4)] >> ((_108 + slot & _15) << _2) & _15) << _16
    whole: np.uint64 = group | np.uint64(high[(bucket >> _3) * _18 + slot]) << _20 if len(high) else group
    return whole


@inlined
def _change(
    table: NDArray[np.uint64], high: NDArray[np.uint8], bucket: np.uint64, slot: np.uint64, held: np.uint64, group: np.uint64
) -> None:
    """Take these bits from a slot that has them, or give them to one that is free."""
    table[bucket + (slot >> _3)] ^= held << ((slot & _7) << _3)
    table[bucket + (_9 + slot >> _2)] ^= (group & _LOW) << ((_9 + slot & _3) << _4)
    table[bucket + (_108 + slot >> _4)] ^= (group >> _16 & _15) << ((_108 + slot & _15) << _2)
    if len(high):
        high[(bucket >> _3) * _18 + slot] ^= np.uint8(group >> _20)


@inlined
def _passed(table: NDArray[np.uint64], bucket: np.uint64) -> np.uint64:
    passed: np.uint64 = table[bucket + _7] >> _56
    return passed


@inlined
def _position(table: NDArray[np.uint64], high: NDArray[np.uint8], bucket: np.uint64, slot: np.uint64) -> np.int64:
    held = table[bucket + (slot >> _3)] >> ((slot & _7) << _3)
    return np.int64(_group(table, high, bucket, slot) << _2 | held & _3)


@inlined
def _find_in(
    ids: NDArray[np.uint64],
    i: int,
    hashed: np.uint64,
    ring: NDArray[np.uint64],
    table: NDArray[np.uint64],
    high: NDArray[np.uint8],
    bucket: np.uint64,
) -> np.int64:
    for word in (_0, _1, _2):
        marks = _marks((table[bucket + word] ^ _tag(hashed) * _ONES) & _HASHES, word)
        while marks:
            at = _position(table, high, bucket, _first(marks, word))
            if ring[at, 0] == ids[i, 0] and ring[at, 1] == ids[i, 1]:
                return at
            marks &= marks - _1
    return np.int64(-1)


@inlined
def _find(
    ids: NDArray[np.uint64], i: int, hashed: np.uint64, ring: NDArray[np.uint64], table: NDArray[np.uint64], high: NDArray[np.uint8]
) -> np.int64:
    """Position in the ring of id i, or -1."""
    bucket = _home(hashed, table)
    at = _find_in(ids, i, hashed, ring, table, high, bucket)
    if at < 0:
        at = _find_in(ids, i, hashed, ring, table, high, _other(hashed, table))
    while at < 0 and _passed(table, bucket):
        bucket = _after(bucket, table)
        if bucket == _home(hashed, table):
            break
        at = _find_in(ids, i, hashed, ring, table, high, bucket)
    return at


@inlined
def _insert_in(hashed: np.uint64, position: int, table: NDArray[np.uint64], high: NDArray[np.uint8], bucket: np.uint64) -> bool:
    for word in (_0, _1, _2):
        marks = _marks(table[bucket + word], word)
        if marks:
            _change(table, high, bucket, _first(marks, word), _held(hashed, position), np.uint64(position >> 2))
            return True
    return False


@inlined
def _insert(hashed: np.uint64, position: int, table: NDArray[np.uint64], high: NDArray[np.uint8]) -> None:
    """Into the emptier one of its two buckets, so that hardly ever both are full."""
    bucket, other = _home(hashed, table), _other(hashed, table)
    if _insert_in(hashed, position, table, high, other if _free(table, other) > _free(table, bucket) else bucket):
        return
    _insert_beyond(hashed, position, table, high)


@inlined
def _insert_beyond(hashed: np.uint64, position: int, table: NDArray[np.uint64], high: NDArray[np.uint8]) -> None:
    """Where both buckets are full. There always is a free slot: the table has more of them than the ring has positions."""
    bucket = _home(hashed, table)
    while True:
        if _passed(table, bucket) < _BYTE:
            table[bucket + _7] += _PASS
        bucket = _after(bucket, table)
        if _insert_in(hashed, position, table, high, bucket):
            return


@inlined
def _remove_in(hashed: np.uint64, position: int, table: NDArray[np.uint64], high: NDArray[np.uint8], bucket: np.uint64) -> bool:
    held, group = _held(hashed, position), np.uint64(position >> 2)
    for word in (_0, _1, _2):
        marks = _marks(table[bucket + word] ^ held * _ONES, word)
        while marks:
            slot = _first(marks, word)
            if _group(table, high, bucket, slot) == group and table[bucket + word] >> ((slot & _7) << _3) & _BYTE == held:
                _change(table, high, bucket, slot, held, group)
                return True
            marks &= marks - _1
    return False


@inlined
def _remove(hashed: np.uint64, position: int, table: NDArray[np.uint64], high: NDArray[np.uint8]) -> None:
    bucket = _home(hashed, table)
    if _remove_in(hashed, position, table, high, bucket):
        return
    if _remove_in(hashed, position, table, high, _other(hashed, table)):
        return
    while True:
        if _passed(table, bucket) < _BYTE:
            table[bucket + _7] -= _PASS
        bucket = _after(bucket, table)
        if _remove_in(hashed, position, table, high, bucket):
            return


@inlined
def _touch(ids: NDArray[np.uint64], begin: int, end: int, table: NDArray[np.uint64]) -> np.uint64:
    """Reads what the next ids will need: misses of the cache that overlap cost one."""
    total = _0
    for i in range(begin, end):
        hashed = _hash(ids, i)
        total += table[_home(hashed, table)] + table[_other(hashed, table)]
    return total


@inlined
def _enter(ring: NDArray[np.uint64], position: int, table: NDArray[np.uint64], high: NDArray[np.uint8]) -> bool:
    """Into the first bucket while that has room: whether the id was not there yet. Nothing must have been removed so far."""
    hashed = _hash(ring, position)
    bucket, tag = _home(hashed, table), _tag(hashed)
    for word in (_0, _1, _2):
        marks = _marks((table[bucket + word] ^ tag * _ONES) & _HASHES, word)
        while marks:
            at = _position(table, high, bucket, _first(marks, word))
            if at < position and ring[at, 0] == ring[position, 0] and ring[at, 1] == ring[position, 1]:
                return False
            marks &= marks - _1
        marks = _marks(table[bucket + word], word)
        if marks:
            _change(table, high, bucket, _first(marks, word), _held(hashed, position), np.uint64(position >> 2))
            return True
    if _find(ring, position, hashed, ring, table, high) >= 0:
        return False
    if not _insert_in(hashed, position, table, high, _other(hashed, table)):
        _insert_beyond(hashed, position, table, high)
    return True


@kernel
def index(ring: NDArray[np.uint64], size: int, table: NDArray[np.uint64], high: NDArray[np.uint8]) -> tuple[bool, np.uint64]:
    """Enter the first `size` ids of a ring into an empty table: whether they are distinct, and a sum that means nothing.

    An id goes elsewhere only when its first bucket is full, and then that stays so: equal ids need not be looked for elsewhere before.
    """
    touched = _0
    for position in range(size):
        if position % _AHEAD == 0:
            for next_ in range(position, min(position + _AHEAD, size)):
                touched += table[_home(_hash(ring, next_), table)]
        if not _enter(ring, position, table, high):
            return False, touched
    return True, touched


@kernel
def fold(
    ids: NDArray[np.uint64],
    bodies: NDArray[np.uint32],
    codes: NDArray[np.uint8],
    done: int,
    ring: NDArray[np.uint64],
    ring_bodies: NDArray[np.uint32],
    table: NDArray[np.uint64],
    high: NDArray[np.uint8],
    size: int,
    oldest: int,
    capacity: int,
    touched: NDArray[np.uint64],
) -> tuple[int, int, int]:
    """Ids from `done` on; stops before a new one when a ring that may still grow is full. Ids done, size and oldest.

    touched (1,) takes the sum that keeps early reads from being optimised away.
    """
    for i in range(done, len(ids)):
        if (i - done) % _AHEAD == 0:
            end = min(i + _AHEAD, len(ids))
            touched[0] += _touch(ids, i, end, table)
            if size == len(ring_bodies):
                touched[0] += _touch(ring, oldest, min(oldest + end - i, size), table)
        hashed = _hash(ids, i)
        known = _find(ids, i, hashed, ring, table, high)
        if known >= 0:
            codes[i] = DUPLICATE if ring_bodies[known] == bodies[i] else CONFLICT
            continue
        position = size
        if size == len(ring_bodies):
            if size < capacity:
                return i, size, oldest
            position = oldest
            _remove(_hash(ring, position), position, table, high)
            oldest = oldest + 1 if oldest + 1 < capacity else 0
        else:
            size += 1
        codes[i] = NEW
        ring[position, 0], ring[position, 1], ring_bodies[position] = ids[i, 0], ids[i, 1], bodies[i]
        _insert(hashed, position, table, high)
    return len(ids), size, oldest
