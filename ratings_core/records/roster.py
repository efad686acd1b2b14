"""Map between names and dense ids in order of first appearance, without a Python object per name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.arena import Arena, pack
from ratings_core.arrays.coded import Coded
from ratings_core.arrays.frozen import Frozen, Still
from ratings_core.arrays.hashing import hash_slice, part_of_word, word_at
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel

UNKNOWN: Final = -1
"""Result of `lookup` for a name that is not in the roster."""
MAX_NAMES: Final = 2**31 - 1
_EMPTY: Final = -1
_AHEAD: Final = 64
_SEED: Final = np.uint64(0)
_ARRAYS: Final = frozenset({"bytes", "start"})


class Roster:
    """Append-only map between names and ids 0, 1, 2, ... in order of first appearance.

    A name is any nonempty UTF-8 text; the rules of names are checked before names reach the roster. Memory per name: its bytes, 8 bytes for
    its position and 8 to 16 bytes for its hash slot, with up to the same amount as unused capacity. While a thread interns names, no other
    thread may use the roster.
    """

    __slots__ = ("_bytes", "_size", "_slots", "_start")

    def __init__(self) -> None:
        self._size = 0
        self._bytes = np.empty(256, np.uint8)
        self._start = np.zeros(17, np.int64)
        self._slots = np.full(32, _EMPTY, np.int32)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of allocated memory, including unused capacity."""
        return self._bytes.nbytes + self._start.nbytes + self._slots.nbytes

    def intern(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Ids of `names` (n,); new names are added in order. Raises `InputError`, without adding a name, if one is empty."""
        return self.intern_packed(pack(names))

    def intern_packed(self, arena: Arena) -> NDArray[np.int32]:
        """`intern` for the names of an arena."""
        _refuse_empty(arena, slice(None))
        data, start = np.ascontiguousarray(arena.bytes), np.ascontiguousarray(arena.start)
        ids, done = np.empty(len(arena), np.int32), 0
        while True:
            done, self._size = _intern(data, start, done, ids, self._bytes, self._start, self._slots, self._size)
            if done == len(ids):
                return ids
            self._grow(int(start[done + 1] - start[done]))

    def intern_coded(self, names: Coded) -> NDArray[np.int32]:
        """`intern` for coded names. Each distinct name is hashed and compared only once per call."""
        used = names.used()
        _refuse_empty(used.texts, used.code)
        return self.intern_packed(used.texts)[used.code]

    def lookup(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Ids of `names` (n,), -1 for unknown names and for the empty text. Does not add names."""
        return self.lookup_packed(pack(names))

    def lookup_packed(self, arena: Arena) -> NDArray[np.int32]:
        """`lookup` for the names of an arena."""
        ids = np.empty(len(arena), np.int32)
        _lookup(np.ascontiguousarray(arena.bytes), np.ascontiguousarray(arena.start), ids, self._bytes, self._start, self._slots)
        return ids

    def lookup_coded(self, names: Coded) -> NDArray[np.int32]:
        """`lookup` for coded names."""
        used = names.used()
        return self.lookup_packed(used.texts)[used.code]

    def count_new(self, names: Coded) -> int:
        """Number of names that `intern_coded(names)` would add. Does not add names. Raises `InputError` if one is empty."""
        new = np.flatnonzero(self.lookup_coded(names) == UNKNOWN)
        if not new.size:
            return 0
        scratch = Roster()
        scratch.intern_coded(names.take(new))
        return len(scratch)

    def name(self, agent: int) -> str:
        """The name with id `agent`. Raises `InputError` for an unknown or negative id."""
        checks.instance("agent", agent, int, np.integer)
        if not 0 <= agent < self._size:
            raise InputError("agent", agent, f"must be an id from 0 to {self._size - 1}")
        return self._bytes[self._start[agent] : self._start[agent + 1]].tobytes().decode()

    def names(self, ids: NDArray[np.int32] | Sequence[int] | None = None) -> list[str]:
        """The names with these `ids`, in the given order; by default all names by id. Raises `InputError` for an unknown id."""
        arena = self._arena()
        if ids is None:
            return arena.names()
        if (chosen := checks.ids("ids", ids)).ndim != 1:
            raise InputError("ids", ids, "must be ids, in one dimension")
        return arena.take(np.asarray(chosen, np.int64)).names()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: bytes uint8 (total,), start int64 (n+1,), with names in order of their ids."""
        arena = self._arena()
        return {"bytes": arena.bytes.copy(), "start": arena.start.copy()}

    def frozen(self) -> Frozen:
        """Freeze the current content of `arrays` (see `ratings_core.arrays.frozen`). No copy is needed, because names are only appended."""
        start = self._start[: self._size + 1]
        return Still({"bytes": self._bytes[: start[-1]], "start": start})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Roster":
        """Restore a roster from the result of `arrays()`. Raises `InputError` for invalid arrays."""
        checks.named_arrays("arrays", arrays, _ARRAYS)
        arena, roster = Arena(np.array(arrays["bytes"]), np.array(arrays["start"])), cls()  # writable copies: same types
        arena.check()
        roster._reserve(len(arena), len(arena.bytes))
        roster.intern_packed(arena)
        if len(roster) != len(arena):
            raise InputError("arrays", f"{len(arena)} names, {len(roster)} distinct", "must hold each name once")
        return roster

    def _arena(self) -> Arena:
        start = self._start[: self._size + 1]
        return Arena(self._bytes[: start[-1]], start)

    def _reserve(self, names: int, length: int) -> None:
        """Allocate an empty roster for this number of names with `length` bytes in total."""
        self._bytes = np.empty(max(256, length), np.uint8)
        self._start = np.zeros(max(17, names + 1), np.int64)
        self._slots = np.full(max(32, 1 << (2 * names).bit_length()), _EMPTY, np.int32)

    def _grow(self, length: int) -> None:
        """Make room for one more name of `length` bytes. A full array grows to at least twice its size."""
        if self._size == MAX_NAMES:
            raise InputError("names", self._size + 1, f"must be at most {MAX_NAMES} distinct names")
        used = int(self._start[self._size])
        if used + length > len(self._bytes):
            self._bytes = _longer(self._bytes, used, max(2 * len(self._bytes), used + length))
        if self._size + 2 > len(self._start):
            self._start = _longer(self._start, self._size + 1, 2 * len(self._start))
        if 2 * (self._size + 1) > len(self._slots):
            self._slots = np.full(2 * len(self._slots), _EMPTY, np.int32)
            _rehash(self._bytes, self._start, self._slots, self._size)


def _refuse_empty(texts: Arena, code: NDArray[np.int32] | slice) -> None:
    """Raises `InputError` with the position of the first empty name."""
    empty = texts.start[1:] == texts.start[:-1]
    if empty.any():
        raise InputError(f"names[{np.argmax(empty[code])}]", "", "must not be empty")


@overload
def _longer(array: NDArray[np.uint8], used: int, length: int) -> NDArray[np.uint8]: ...
@overload
def _longer(array: NDArray[np.int64], used: int, length: int) -> NDArray[np.int64]: ...
def _longer(array: NDArray[Any], used: int, length: int) -> NDArray[Any]:
    longer = np.empty(length, array.dtype)
    longer[:used] = array[:used]
    return longer


@inlined
def _home(data: NDArray[np.uint8], begin: int, end: int, slots: NDArray[np.int32]) -> np.int64:
    """First slot in the search for data[begin:end]."""
    return np.int64(hash_slice(data, begin, end, _SEED)[0]) & np.int64(len(slots) - 1)


@inlined
def _slot_of(
    home: np.int64,
    data: NDArray[np.uint8],
    begin: int,
    end: int,
    held: NDArray[np.uint8],
    held_start: NDArray[np.int64],
    slots: NDArray[np.int32],
) -> np.int64:
    """Slot of data[begin:end], by a search from `home`: the slot with its id, or the empty slot for a new id."""
    mask, slot = np.int64(len(slots) - 1), home
    while slots[slot] != _EMPTY:
        at = held_start[slots[slot]]
        if held_start[slots[slot] + 1] - at == end - begin and _equal(data, begin, held, at, end - begin):
            return slot
        slot = (slot + 1) & mask
    return slot


@inlined
def _equal(data: NDArray[np.uint8], begin: int, held: NDArray[np.uint8], at: int, length: int) -> bool:
    """Whether data[begin : begin + length] equals held[at : at + length]. Compares 8 bytes at a time; the last 8 bytes may overlap."""
    if length < 8:
        return bool(part_of_word(data, begin, begin + length) == part_of_word(held, at, at + length))
    last = length - 8
    for i in range(0, last, 8):
        if word_at(data, begin + i) != word_at(held, at + i):
            return False
    return bool(word_at(data, begin + last) == word_at(held, at + last))


@kernel
def _intern(
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    done: int,
    ids: NDArray[np.int32],
    held: NDArray[np.uint8],
    held_start: NDArray[np.int64],
    slots: NDArray[np.int32],
    size: int,
) -> tuple[int, int]:
    """Intern names from index `done` until a new name does not fit. Returns the index reached and the number of names in the roster."""
    homes, places = np.empty(_AHEAD, np.int64), np.empty(_AHEAD, np.int64)
    for i in range(done, len(ids)):
        ahead = (i - done) % _AHEAD
        if ahead == 0:
            _look_up(data, start, i, min(i + _AHEAD, len(ids)), ids, held, held_start, slots, homes, places)
        if ids[i] != UNKNOWN:
            continue
        slot = _slot_of(homes[ahead], data, start[i], start[i + 1], held, held_start, slots)
        if slots[slot] == _EMPTY:
            length, used = start[i + 1] - start[i], held_start[size]
            if used + length > len(held) or size + 2 > len(held_start) or 2 * (size + 1) > len(slots):
                return i, size
            for k in range(length):
                held[used + k] = data[start[i] + k]
            slots[slot] = size
            size += 1
            held_start[size] = used + length
        ids[i] = slots[slot]
    return len(ids), size


@kernel
def _look_up(
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    begin: int,
    end: int,
    ids: NDArray[np.int32],
    held: NDArray[np.uint8],
    held_start: NDArray[np.int64],
    slots: NDArray[np.int32],
    homes: NDArray[np.int64],
    places: NDArray[np.int64],
) -> None:
    """Write to `ids` the ids of names `begin` to `end` whose id is in the first slot of their search, -1 for the others.

    Each step runs for all names before the next step, so that cache misses overlap. Writes the first slots to `homes`; `places` is scratch.
    """
    for i in range(begin, end):
        homes[i - begin] = _home(data, start[i], start[i + 1], slots)
        ids[i] = slots[homes[i - begin]]
    for i in range(begin, end):
        known = ids[i] != _EMPTY and held_start[ids[i] + 1] - held_start[ids[i]] == start[i + 1] - start[i]
        places[i - begin] = held_start[ids[i]] if known else -1
    for i in range(begin, end):
        if places[i - begin] < 0 or not _equal(data, start[i], held, places[i - begin], start[i + 1] - start[i]):
            ids[i] = UNKNOWN


@kernel
def _lookup(
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    ids: NDArray[np.int32],
    held: NDArray[np.uint8],
    held_start: NDArray[np.int64],
    slots: NDArray[np.int32],
) -> None:
    for i in range(len(ids)):
        ids[i] = slots[_slot_of(_home(data, start[i], start[i + 1], slots), data, start[i], start[i + 1], held, held_start, slots)]


@kernel
def _rehash(held: NDArray[np.uint8], held_start: NDArray[np.int64], slots: NDArray[np.int32], size: int) -> None:
    mask = np.int64(len(slots) - 1)
    for i in range(size):
        slot = _home(held, held_start[i], held_start[i + 1], slots)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = i
