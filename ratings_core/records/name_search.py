"""Search of names without regard to case: exact names, prefixes and substrings in a given order, and the nearest names of a misspelt one.

Exact names and prefixes are ranges of the sorted names. A search for a substring scans one array of bytes, the case-folded names in their
order. All searches release Python's interpreter lock.
"""

import unicodedata
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.arena import Arena
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, unlocked
from ratings_core.records.name_beginnings import SEPARATOR as _SEPARATOR
from ratings_core.records.name_beginnings import NameBeginnings

EXACT: Final = 0
"""Tier of names that equal the query."""
PREFIX: Final = 1
"""Tier of names that begin with the query."""
INNER: Final = 2
"""Tier of names that contain the query elsewhere."""
TIERS: Final = (EXACT, PREFIX, INNER)
_BLOCK: Final = 64
"""Bytes that are tested at once."""
_FOLDED_AT_ONCE: Final = 1 << 16
_SHORT: Final = 4
"""A query of at most this many characters has one edit at most, because two would make another word of it. A query of fewer characters is
compared with complete names only, because most beginnings of names are one edit from it."""
_MOST_EDITS: Final = 2
_MOST_BYTES: Final = 4
"""Most bytes of a character in UTF-8."""
_Position: TypeAlias = int | np.int64


def folded(text: str) -> str:
    """The form in which texts are compared: Unicode's case folding, in normal form NFC before it."""
    return unicodedata.normalize("NFC", text).casefold()


class NameSearch:
    """Names in a fixed order, for searches. Thread-safe, because nothing changes after construction.

    Memory: for each name its folded bytes and 17 bytes more.

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
        self._letters, self._frequency = np.zeros(len(names), np.uint64), np.zeros(256, np.int64)
        _summarize(self._text, self._ends, self._letters, self._frequency)
        self._beginnings = NameBeginnings(self._text, self._ends)
        self._is_ascii = not self._frequency[128:].any()

    def __len__(self) -> int:
        return len(self._ends) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._text.nbytes + self._ends.nbytes + self._letters.nbytes + self._beginnings.nbytes

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
        count = min(count, len(self) - begin)
        if tier != INNER:
            return self._beginnings.of(sought, begin, count, equal=tier == EXACT)
        out = np.empty(count, np.int64)
        return [int(place) for place in out[: _find(self._text, self._ends, sought, self._tested(sought), begin, out)]]

    def nearest(self, query: str, count: int) -> list[int]:
        """Places of the names that are nearest to a query, each once and in order within its kind.

        First are names with one edit, then those of which a beginning has one edit, then names with two. An edit inserts, removes or
        replaces a character, or swaps two neighbours (optimal string alignment). Queries of up to 4 characters have one edit at most, and
        those of fewer than 4 are compared with complete names only. A name that equals the query is not listed, and of one that begins
        with it the beginning is not compared.

        Args:
            query: Any text.
            count: Largest number of places.
        """
        sought, length = _encoded(query), len(folded(query))
        most = 1 if length <= _SHORT else _MOST_EDITS
        if not len(sought) or not checks.count("count", count):
            return []
        out, held = np.empty((_MOST_EDITS, count), np.int64), np.zeros(_MOST_EDITS, np.int64)
        width = 1 if self._is_ascii and bytes(sought).isascii() else _MOST_BYTES
        _nearest(self._text, self._ends, self._letters, sought, most, most * width, out, held)
        one, two = (out[edits, : held[edits]].tolist() for edits in range(_MOST_EDITS))
        begin = self._beginnings.near(sought, 2 * count) if length >= _SHORT and len(one) < count else []
        return list(dict.fromkeys([*one, *begin, *two]))[:count]

    def _tested(self, pattern: NDArray[np.uint8]) -> tuple[int, int, int]:
        """Three places of a pattern that are tested before the others: of its bytes those that names have least often.

        So few positions of a text have all three, even in names of which most bytes are digits.
        """
        rarest = np.argsort(self._frequency[pattern], kind="stable")
        return int(rarest[0]), int(rarest[:2][-1]), int(rarest[:3][-1])


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


@unlocked
def _fill_separators(text: NDArray[np.uint8], positions: NDArray[np.integer]) -> int:
    count = 0
    for k in range(len(text)):
        if text[k] == _SEPARATOR and count < len(positions):
            positions[count] = k
            count += 1
    return count


@inlined
def _letters_of(text: NDArray[np.uint8], begin: _Position, end: _Position) -> np.uint64:
    """The set of characters of a text, as 64 bits: each character sets one bit."""
    letters, bit = np.uint64(0), np.uint64(0)
    for k in range(begin, end):
        bit = np.uint64(text[k]) if text[k] & 0xC0 != 0x80 else bit * np.uint64(31) + np.uint64(text[k])
        if k + 1 == end or text[k + 1] & 0xC0 != 0x80:
            letters |= np.uint64(1) << (bit & np.uint64(63))
    return letters


@unlocked
def _summarize(text: NDArray[np.uint8], ends: NDArray[np.integer], letters: NDArray[np.uint64], frequency: NDArray[np.int64]) -> None:
    """Write the letters of each name, and how often the names have each byte."""
    for byte in text:
        frequency[byte] += 1
    for i in range(len(letters)):
        letters[i] = _letters_of(text, np.int64(ends[i]) + 1, np.int64(ends[i + 1]))


@inlined
def _is_at(text: NDArray[np.uint8], k: _Position, pattern: NDArray[np.uint8]) -> bool:
    for j in range(len(pattern)):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if text[k + j] != pattern[j]:
            return False
    return True


@inlined
def _place_of(ends: NDArray[np.integer], k: _Position) -> int:
    """Place of the name that has position k."""
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
    tested: tuple[int, int, int],
    begin: int,
    out: NDArray[np.int64],
) -> int:
    """Write the places of names that contain the pattern, and do not begin with it, to `out`, until it is full. Returns their number.

    Blocks in which no position has the three tested bytes are skipped. tested: their places in `pattern`.
    """
    size, count, k = len(pattern), 0, np.int64(ends[begin])
    one, two, three = tested
    first, second, third = pattern[one], pattern[two], pattern[three]
    last = len(text) - size
    while k <= last and count < len(out):
        if k + _BLOCK <= last:
            a, b, c = text[k + one : k + one + _BLOCK], text[k + two : k + two + _BLOCK], text[k + three : k + three + _BLOCK]
            met = False
            for j in range(_BLOCK):
                met |= (a[j] == first) & (b[j] == second) & (c[j] == third)  # booleans: as numbers, they would be widened to 64 bits
            if not met:
                k += _BLOCK
                continue
        stop = k + _BLOCK if k + _BLOCK <= last else last + 1
        while k < stop:
            if text[k + one] != first or text[k + two] != second or not _is_at(text, k, pattern):
                k += 1
                continue
            if text[k - 1] == _SEPARATOR:  # this name begins with the pattern
                k += size
                while text[k] != _SEPARATOR:
                    k += 1
                continue
            place = _place_of(ends, k)
            out[count] = place
            count += 1
            if count == len(out):
                return count
            k = np.int64(ends[place + 1])  # a name counts once, and its first match decides
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
    """Number of bits that are set, counted in pairs, then in groups of four and of eight."""
    value = value - (value >> np.uint64(1) & np.uint64(0x5555555555555555))
    value = (value & np.uint64(0x3333333333333333)) + (value >> np.uint64(2) & np.uint64(0x3333333333333333))
    value = (value + (value >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(value * np.uint64(0x0101010101010101) >> np.uint64(56))


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

    most: largest number of edits, 1 or 2. changed: bytes by which they can change the length. Names with other letters are skipped first.
    """
    own = _letters_of(query, 0, len(query))
    for i in range(len(letters)):
        begin, end = np.int64(ends[i]) + 1, np.int64(ends[i + 1])
        if _bits(own & ~letters[i]) > most or _bits(letters[i] & ~own) > most or abs(end - begin - len(query)) > changed:
            continue
        edits = _within(query, text, begin, end, most)
        if 1 <= edits <= most and held[edits - 1] < out.shape[1]:
            out[edits - 1, held[edits - 1]] = i
            held[edits - 1] += 1
            if edits == 1 and held[0] == out.shape[1]:
                return
