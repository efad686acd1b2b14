"""Search of names without regard to case: exact names, prefixes and substrings in a given order, and the nearest names of a misspelt one.

A search scans one array of bytes, the case-folded names in their order. The scan releases Python's interpreter lock.
"""

import unicodedata
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.arena import Arena
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, unlocked

EXACT: Final = 0
"""Tier of names that equal the query."""
PREFIX: Final = 1
"""Tier of names that begin with the query."""
INNER: Final = 2
"""Tier of names that contain the query elsewhere."""
TIERS: Final = (EXACT, PREFIX, INNER)
_SEPARATOR: Final = 0x0A
"""A line feed, which no name contains. One stands before and after each name."""
_BLOCK: Final = 64
"""Bytes that are tested at once."""
_FOLDED_AT_ONCE: Final = 1 << 16
_SHORT: Final = 4
"""A query of at most this many characters has one edit at most, because two would make another word of it."""
_MOST_EDITS: Final = 2
_MOST_BYTES: Final = 4
"""Most bytes of a character in UTF-8."""
_Position: TypeAlias = int | np.int64


def folded(text: str) -> str:
    """The form in which texts are compared: Unicode's case folding, in normal form NFC before it."""
    return unicodedata.normalize("NFC", text).casefold()


class NameSearch:
    """Names in a fixed order, for searches. Thread-safe, because nothing changes after construction.

    Memory: for each name its folded bytes and 13 bytes more.

    Args:
        names: n different names, without line feeds.
        order: int (n,), the index of each name in `names`, in the order of answers. Answers give places in this order.
    """

    def __init__(self, names: Arena, order: NDArray[np.integer]) -> None:
        if len(order) != len(names):
            raise InputError("order", len(order), f"must be {len(names)}, the number of names")
        parts = [_fold(names.take(np.asarray(order[at : at + _FOLDED_AT_ONCE], np.int64))) for at in range(0, len(order), _FOLDED_AT_ONCE)]
        self._text = np.concatenate([np.full(1, _SEPARATOR, np.uint8), *parts])
        self._ends = _separators(self._text, len(names))
        if len(self._ends) != len(names) + 1 or self._ends[-1] != len(self._text) - 1:
            raise InputError("names", f"{len(names)} names", "must hold no line feeds")
        self._letters, self._is_ascii = _letters(self._text, self._ends), all(part.tobytes().isascii() for part in parts)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._text.nbytes + self._ends.nbytes + self._letters.nbytes

    def find(self, query: str, tier: int, begin: int, count: int) -> list[int]:
        """Places of the first `count` names of one tier at place `begin` or later, ascending.

        Args:
            query: Any text. A text that is empty or has a control character is in no name.
            tier: `EXACT`, `PREFIX` or `INNER`. Each name is in one tier at most.
            begin: First place.
            count: Largest number of places.

        Raises:
            InputError: Another tier, or a number below 0.
        """
        if tier not in TIERS:
            raise InputError("tier", tier, "must be 0, 1 or 2")
        checks.count("begin", begin)
        checks.count("count", count)
        sought = _encoded(query)
        if not len(sought) or not count or begin >= len(self):
            return []
        separator = np.full(1, _SEPARATOR, np.uint8)
        before, after = separator[: tier <= PREFIX], separator[: tier == EXACT]
        pattern = np.concatenate([before, sought, after])
        out = np.empty(min(count, len(self) - begin), np.int64)
        found = _find(self._text, self._ends, pattern, *_tested(len(pattern), tier), tier, begin, out)
        return [int(place) for place in out[:found]]

    def nearest(self, query: str, count: int) -> list[int]:
        """Places of the names within the fewest edits of a query: first those of one edit, then those of two, each in order.

        An edit inserts, removes or replaces a character, or swaps two neighbours (optimal string alignment). Queries of up to 4 characters
        have one edit at most, and an equal name is not listed.

        Args:
            query: Any text.
            count: Largest number of places.
        """
        sought, most = _encoded(query), 1 if len(folded(query)) <= _SHORT else _MOST_EDITS
        if not len(sought) or not checks.count("count", count):
            return []
        out, held = np.empty((_MOST_EDITS, count), np.int64), np.zeros(_MOST_EDITS, np.int64)
        width = 1 if self._is_ascii and bytes(sought).isascii() else _MOST_BYTES
        _nearest(self._text, self._ends, self._letters, sought, most, most * width, out, held)
        return [int(place) for edits in range(_MOST_EDITS) for place in out[edits, : held[edits]]][:count]


def _encoded(query: str) -> NDArray[np.uint8]:
    """The folded query as bytes; empty if no name can contain it."""
    try:
        sought = np.frombuffer(folded(query).encode(), np.uint8)
    except UnicodeEncodeError:  # a lone surrogate
        return np.zeros(0, np.uint8)
    return sought[:0] if (sought == _SEPARATOR).any() else sought


def _fold(names: Arena) -> NDArray[np.uint8]:
    """The folded names, each with a separator after it."""
    ends = names.start[1:] + np.arange(len(names))
    text = np.empty(len(names.bytes) + len(names), np.uint8)
    is_name = np.ones(len(text), np.bool_)
    is_name[ends] = False
    text[ends], text[is_name] = _SEPARATOR, names.bytes
    raw = text.tobytes()
    return np.frombuffer(raw.lower() if raw.isascii() else raw.decode().casefold().encode(), np.uint8)


def _separators(text: NDArray[np.uint8], names: int) -> NDArray[np.int64] | NDArray[np.uint32]:
    """Positions of the separators, in four bytes each if they fit."""
    size = names + 2  # one more, so that a further separator is noticed
    positions: NDArray[np.int64] | NDArray[np.uint32]
    positions = np.empty(size, np.uint32) if len(text) < 1 << 32 else np.empty(size, np.int64)
    return positions[: _fill_separators(text, positions)]


def _tested(size: int, tier: int) -> tuple[int, int]:
    """Two places of a pattern that are tested before the others: its last byte, and one that many names of a series do not have there."""
    return size - 1, (max(0, size - 2), 0, (size - 1) // 2)[tier]


@unlocked
def _fill_separators(text: NDArray[np.uint8], positions: NDArray[np.integer]) -> int:
    count = 0
    for k in range(len(text)):
        if text[k] == _SEPARATOR and count < len(positions):
            positions[count] = k
            count += 1
    return count


@unlocked
def _letters(text: NDArray[np.uint8], ends: NDArray[np.integer]) -> NDArray[np.uint64]:
    """The set of bytes of each name, as 64 bits: bit b is set if a byte is b modulo 64."""
    letters = np.zeros(len(ends) - 1, np.uint64)
    for i in range(len(letters)):
        for k in range(np.int64(ends[i]) + 1, np.int64(ends[i + 1])):
            letters[i] |= np.uint64(1) << np.uint64(text[k] & 63)
    return letters


@inlined
def _is_at(text: NDArray[np.uint8], k: _Position, pattern: NDArray[np.uint8]) -> bool:
    for j in range(len(pattern)):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if text[k + j] != pattern[j]:
            return False
    return True


@inlined
def _place_of(ends: NDArray[np.integer], k: _Position) -> int:
    """Place of the name that has position k, or follows the separator at k."""
    low, high = 0, len(ends) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if np.int64(ends[middle]) <= k:
            low = middle
        else:
            high = middle
    return low


@unlocked
def _find(
    text: NDArray[np.uint8],
    ends: NDArray[np.integer],
    pattern: NDArray[np.uint8],
    one: int,
    other: int,
    tier: int,
    begin: int,
    out: NDArray[np.int64],
) -> int:
    """Write the places of names of a tier to `out`, until it is full. Returns their number.

    Blocks in which no position has both tested bytes are skipped. one, other: their places in `pattern`.
    """
    size, count, k = len(pattern), 0, np.int64(ends[begin])
    first, second = pattern[one], pattern[other]
    last = len(text) - size
    sought = size - (tier <= 1) - (tier == 0)  # length of the query
    while k <= last and count < len(out):
        if k + _BLOCK <= last:
            ones, others, met = text[k + one : k + one + _BLOCK], text[k + other : k + other + _BLOCK], np.uint8(0)
            for j in range(_BLOCK):
                met |= np.uint8(ones[j] == first) & np.uint8(others[j] == second)
            if met == 0:
                k += _BLOCK
                continue
        stop = k + _BLOCK if k + _BLOCK <= last else last + 1
        while k < stop:
            if text[k + one] != pattern[one] or text[k + other] != pattern[other] or not _is_at(text, k, pattern):
                k += 1
                continue
            place = _place_of(ends, k)
            end = np.int64(ends[place + 1])
            starts = k + (tier <= 1) == np.int64(ends[place]) + 1
            complete = starts and end - np.int64(ends[place]) - 1 == sought
            if (tier == 0 and complete) or (tier == 1 and starts and not complete) or (tier == 2 and not starts):
                out[count] = place
                count += 1
                if count == len(out):
                    return count
            k = end  # a name counts once; for `INNER`, its first match decides
    return count


@inlined
def _width(text: NDArray[np.uint8], k: _Position) -> int:
    """Number of bytes of the character at k."""
    lead = text[k]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@inlined
def _same(a: NDArray[np.uint8], i: _Position, b: NDArray[np.uint8], j: _Position, length: _Position) -> bool:
    for k in range(length):  # noqa: SIM110
        if a[i + k] != b[j + k]:
            return False
    return True


@inlined
def _common(a: NDArray[np.uint8], i: _Position, last_a: _Position, b: NDArray[np.uint8], j: _Position, last_b: _Position) -> int:
    """Length in bytes of the common prefix, in complete characters."""
    length = 0
    while i + length < last_a and j + length < last_b and a[i + length] == b[j + length]:
        length += 1
    while length and ((i + length < last_a and a[i + length] & 0xC0 == 0x80) or (j + length < last_b and b[j + length] & 0xC0 == 0x80)):
        length -= 1  # within a character
    return length


@inlined
def _after(
    a: NDArray[np.uint8], i: _Position, last_a: _Position, b: NDArray[np.uint8], j: _Position, last_b: _Position, edit: int
) -> tuple[_Position, _Position]:
    """The positions after an edit of two texts that differ at i and j; -1 if it is impossible.

    edit: 0 replaces a character, 1 removes one from a, 2 removes one from b, 3 swaps two.
    """
    if (edit != 2 and i >= last_a) or (edit != 1 and j >= last_b):
        return -1, -1
    if edit == 0:
        return i + _width(a, i), j + _width(b, j)
    if edit == 1:
        return i + _width(a, i), j
    if edit == 2:
        return i, j + _width(b, j)
    first, second = _width(a, i), _width(b, j)
    total = first + second
    if i + total > last_a or j + total > last_b or not _same(a, i, b, j + second, first) or not _same(a, i + first, b, j, second):
        return -1, -1
    return i + total, j + total


@inlined
def _within_one(a: NDArray[np.uint8], i: _Position, last_a: _Position, b: NDArray[np.uint8], j: _Position, last_b: _Position) -> int:
    """Edits between a[i:last_a] and b[j:last_b]: 0, 1, or 2 for more."""
    length = _common(a, i, last_a, b, j, last_b)
    i, j = i + length, j + length
    if i == last_a and j == last_b:
        return 0
    for edit in range(4):
        x, y = _after(a, i, last_a, b, j, last_b, edit)
        if x >= 0 and last_a - x == last_b - y and _same(a, x, b, y, last_a - x):
            return 1
    return 2


@inlined
def _within(a: NDArray[np.uint8], b: NDArray[np.uint8], begin: _Position, end: _Position, most: int) -> int:
    """Edits between `a` and b[begin:end]; more than `most` (1 or 2) if there are more.

    The first difference is removed by one of the four edits. What they have in common before it needs none.
    """
    fewest = _within_one(a, 0, len(a), b, begin, end)
    if fewest <= 1 or most == 1:
        return fewest
    length = _common(a, 0, len(a), b, begin, end)
    fewest = 3
    for edit in range(4):
        x, y = _after(a, length, len(a), b, begin + length, end, edit)
        if x >= 0:
            fewest = min(fewest, 1 + _within_one(a, x, len(a), b, y, end))
    return fewest


@inlined
def _bits(value: np.uint64) -> int:
    count = 0
    while value:
        value &= value - np.uint64(1)
        count += 1
    return count


@unlocked
def _nearest(
    text: NDArray[np.uint8],
    ends: NDArray[np.integer],
    letters: NDArray[np.uint64],
    query: NDArray[np.uint8],
    most: int,
    changed: int,
    out: NDArray[np.int64],
    held: NDArray[np.int64],
) -> None:
    """Write the first places of names with one edit to out[0], and with two to out[1], and their numbers to `held`.

    most: largest number of edits, 1 or 2. changed: bytes that they can change. So names with another length or other letters are skipped.
    """
    own = np.uint64(0)
    for byte in query:
        own |= np.uint64(1) << np.uint64(byte & 63)
    for i in range(len(letters)):
        begin, end = np.int64(ends[i]) + 1, np.int64(ends[i + 1])
        if abs(end - begin - len(query)) > changed or _bits(own & ~letters[i]) > changed or _bits(letters[i] & ~own) > changed:
            continue
        edits = _within(query, text, begin, end, most)
        if 1 <= edits <= most and held[edits - 1] < out.shape[1]:
            out[edits - 1, held[edits - 1]] = i
            held[edits - 1] += 1
            if edits == 1 and held[0] == out.shape[1]:
                return
