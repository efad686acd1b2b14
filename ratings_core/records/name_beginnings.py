"""Names that equal or begin with a query, or of which a beginning is one edit from it, such as `ZephyrHawk` for `zephir`.

Names are kept sorted by their bytes, so those with one beginning are one range of them, which a binary search finds. A query has few texts
that are one edit from it and begin a name: they are found one after another, by the characters that names have at the place of the edit.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.kernels.compile import inlined, unlocked

SEPARATOR: Final = 0x0A
"""A line feed, which no name contains. One stands before and after each name. It is below all bytes of names."""
_KEY_BYTES: Final = 8
_Position: TypeAlias = int | np.int64


class NameBeginnings:
    """Sorted names. Thread-safe, because nothing changes after construction. Memory: 4 bytes for each name.

    Args:
        text: Bytes of n names in UTF-8, with a separator before and after each. Names have no control characters.
        ends: Positions of the separators, int (n + 1,).
    """

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.integer]) -> None:
        self._text, self._ends, self._sorted = text, ends, _sorted(text, ends)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, without those of the names."""
        return self._sorted.nbytes

    def of(self, query: NDArray[np.uint8], begin: int, count: int, *, equal: bool) -> list[int]:
        """Places of the first `count` names that begin with the query and are longer, ascending.

        Args:
            query: Bytes of a text in UTF-8 that is not empty and has no separator.
            begin: First place.
            count: Largest number of places.
            equal: Names that equal the query instead.
        """
        out = np.empty(checks.count("count", count), np.int64)
        if not count:
            return []
        held = _begin(self._text, self._ends, self._sorted, np.append(query, np.uint8(SEPARATOR)), equal, begin, out)
        return [int(place) for place in out[:held]]

    def near(self, query: NDArray[np.uint8], count: int) -> list[int]:
        """Places of the first `count` names that begin with a text one edit from the query, and not with the query, ascending.

        An edit inserts, removes or replaces a character, or swaps two neighbours.

        Args:
            query: Bytes of a text in UTF-8 that is not empty and has no separator.
            count: Largest number of places.
        """
        out = np.empty(checks.count("count", count), np.int64)
        return [int(place) for place in out[: _near(self._text, self._ends, self._sorted, query.copy(), out)]] if count else []


def _sorted(text: NDArray[np.uint8], ends: NDArray[np.integer]) -> NDArray[np.int32]:
    """Places of the names by rising bytes: int32 (n,). Names with equal bytes are in any order.

    They are sorted by their first 8 bytes, then those that agree in these by the next 8, and so on.
    """
    order = np.arange(len(ends) - 1, dtype=np.int32)
    tied, group, depth = np.arange(len(order)), np.zeros(len(order), np.int64), 0
    while len(tied):
        keys = np.empty(len(tied), np.uint64)
        _fill_keys(text, ends, order[tied], depth, keys)
        by_key = np.lexsort((keys, group)) if depth else np.argsort(keys)
        order[tied], keys = order[tied][by_key], keys[by_key]
        differs = np.concatenate([[True], (keys[1:] != keys[:-1]) | (group[1:] != group[:-1])])
        alone = differs & np.concatenate([differs[1:], [True]])
        left = np.flatnonzero(~alone & (keys & np.uint64(0xFF) != 0))  # otherwise the names ended, and are equal
        tied, group, depth = tied[left], np.cumsum(differs)[left], depth + _KEY_BYTES
    return order


@unlocked
def _fill_keys(text: NDArray[np.uint8], ends: NDArray[np.integer], places: NDArray[np.int32], depth: int, keys: NDArray[np.uint64]) -> None:
    """Write 8 bytes of each name, from its byte `depth` on, as a number that rises with them. Bytes after its end are 0."""
    for i in range(len(places)):
        begin, end, key = np.int64(ends[places[i]]) + 1 + depth, np.int64(ends[places[i] + 1]), np.uint64(0)
        for k in range(begin, begin + _KEY_BYTES):
            key = key << np.uint64(8) | (np.uint64(text[k]) if k < end else np.uint64(0))
        keys[i] = key


@inlined
def _width(text: NDArray[np.uint8], k: _Position) -> int:
    """Number of bytes of the character at k."""
    lead = text[k]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@inlined
def _first(
    text: NDArray[np.uint8], ends: NDArray[np.integer], order: NDArray[np.int32], low: _Position, high: _Position, depth: _Position,
    piece: NDArray[np.uint8], after: bool,
) -> _Position:  # fmt: skip
    """The first of the sorted names low to high whose bytes from `depth` on are not below a piece; with `after`, of those above it.

    Names that begin with the piece there are not above it. All names have `depth` bytes at least, and agree in these.
    """
    while low < high:
        middle = (low + high) >> 1
        k, sign = np.int64(ends[order[middle]]) + 1 + depth, 0
        for j in range(len(piece)):
            if text[k + j] != piece[j]:  # at the latest at the separator after the name
                sign = -1 if text[k + j] < piece[j] else 1
                break
        if sign < 0 or (after and sign == 0):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _range(
    text: NDArray[np.uint8], ends: NDArray[np.integer], order: NDArray[np.int32], low: _Position, high: _Position, depth: _Position,
    piece: NDArray[np.uint8],
) -> tuple[_Position, _Position]:  # fmt: skip
    """The range of the sorted names low to high whose bytes from `depth` on begin with a piece."""
    first = _first(text, ends, order, low, high, depth, piece, False)
    return first, _first(text, ends, order, first, high, depth, piece, True)


@inlined
def _lowest(places: NDArray[np.int32], least: int, out: NDArray[np.int64]) -> int:
    """Write the lowest of different places that are at least `least` to `out`, ascending, until it is full. Returns their number.

    `out` is a heap with the largest place first, so that a long range costs one comparison a place and few changes.
    """
    count = 0
    for place in places:
        if place < least or (count == len(out) and place >= out[0]):
            continue
        if count < len(out):
            at = count
            count += 1
            while at and out[(at - 1) >> 1] < place:
                out[at] = out[(at - 1) >> 1]
                at = (at - 1) >> 1
        else:
            at, child = 0, 1
            while child < count:
                if child + 1 < count and out[child + 1] > out[child]:
                    child += 1
                if out[child] <= place:
                    break
                out[at] = out[child]
                at, child = child, 2 * child + 1
        out[at] = place
    out[:count].sort()
    return count


@unlocked
def _begin(
    text: NDArray[np.uint8], ends: NDArray[np.integer], order: NDArray[np.int32], query: NDArray[np.uint8], equal: bool, least: int,
    out: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the first places of `NameBeginnings.of` to `out`. Returns their number. query: with a separator at its end."""
    low, high = _range(text, ends, order, 0, len(order), 0, query[: len(query) - 1])
    longer = _first(text, ends, order, low, high, 0, query, True)  # names that equal the query come first: the separator is below all bytes
    return _lowest(order[low:longer] if equal else order[longer:high], least, out)


@inlined
def _take(
    order: NDArray[np.int32], found: tuple[_Position, _Position], exact: tuple[_Position, _Position], out: NDArray[np.int64], count: int
) -> int:
    """Keep the lowest places of a range in `out`, ascending, without those of the range `exact`. Returns their number."""
    for i in range(found[0], found[1]):
        place = order[i]
        if (exact[0] <= i < exact[1]) or (count == len(out) and place >= out[count - 1]):
            continue
        at = count
        while at and out[at - 1] > place:
            at -= 1
        if at and out[at - 1] == place:
            continue
        count = min(count + 1, len(out))
        for j in range(count - 1, at, -1):
            out[j] = out[j - 1]
        out[at] = place
    return count


@inlined
def _without(
    text: NDArray[np.uint8], ends: NDArray[np.integer], order: NDArray[np.int32], low: _Position, high: _Position,
    query: NDArray[np.uint8], k: _Position, exact: tuple[_Position, _Position], out: NDArray[np.int64], count: int,
) -> int:  # fmt: skip
    """Take the names low to high, which have the query's first k bytes, that go on without its next character or with two swapped."""
    after = k + _width(query, k)
    count = _take(order, _range(text, ends, order, low, high, k, query[after:]), exact, out, count)
    if after < len(query):
        second = after + _width(query, after)
        start, stop = _range(text, ends, order, low, high, k, query[after:second])
        start, stop = _range(text, ends, order, start, stop, k + second - after, query[k:after])
        count = _take(order, _range(text, ends, order, start, stop, second, query[second:]), exact, out, count)
    return count


@unlocked
def _near(
    text: NDArray[np.uint8], ends: NDArray[np.integer], order: NDArray[np.int32], query: NDArray[np.uint8], out: NDArray[np.int64]
) -> int:
    """Write the first places of `NameBeginnings.near` to `out`. Returns their number."""
    exact = _range(text, ends, order, 0, len(order), 0, query)
    low: _Position = np.int64(0)
    high: _Position = np.int64(len(order))
    k, count = 0, 0
    while k < len(query) and low < high:
        count = _without(text, ends, order, low, high, query, k, exact, out, count)
        after, at = k + _width(query, k), low
        while at < high:  # the next character of these names, one after another
            begin = np.int64(ends[order[at]]) + 1 + k
            if text[begin] == SEPARATOR:
                at += 1
                continue
            depth = k + _width(text, begin)
            stop = _first(text, ends, order, at, high, k, text[begin : begin + depth - k], True)
            count = _take(order, _range(text, ends, order, at, stop, depth, query[k:]), exact, out, count)
            count = _take(order, _range(text, ends, order, at, stop, depth, query[after:]), exact, out, count)
            at = stop
        low, high = _range(text, ends, order, low, high, k, query[k:after])
        k = after
    return count
