"""Output columns of the scanner. Kernels access them by one table with the address and size of each column.

The columns are allocated before the number of outcomes is known. In the functions, `room` is the memory of `ColumnBuffers.table`, and `i`
is the index of an outcome. Every index into a column is checked against the column's end (`ratings_core.kernels.memory`). A value outside
of the column is not written; `put` then sets the table's word `FULL`.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import Memory, byte_at, set_word, word_at

IDS, NAMES, TASKS, POOLS, TAGS = range(5)
"""Kinds of text. A text of tags is the JSON of their object, as it was sent."""
_KINDS: Final = 5
LATER_TIME, LATER_WEIGHT = range(_KINDS, _KINDS + 2)
"""Kinds of numbers that a kernel leaves to Python; their codes follow the kinds of text."""

OUTCOMES, SIDES, NAME_COUNT, TASK_COUNT, POOL_COUNT, TAGS_COUNT, LATER = range(7)
"""Indices of the first words of a table: the number of entries of each type so far."""
COUNTS: Final = 7
FULL: Final = COUNTS
"""Index of the word that is not 0 after a value did not fit into its column."""
_COLUMNS: Final = COUNTS + 1
TEXTS, STARTS, LATER_ROWS = _COLUMNS, _COLUMNS + 2 * _KINDS, _COLUMNS + 4 * _KINDS
SIDE_START, PLACE, AGENT_START, WEIGHT, TIME, TASK_OF, TAGS_OF, POOL, RECORD = range(LATER_ROWS + 2, LATER_ROWS + 20, 2)
"""Indices of the words with the address of a column; the next word is its size. `TEXTS` and `STARTS` are the first of five columns, one for
each kind of text."""


class ColumnBuffers:
    """Columns long enough for all outcomes in records of `size` bytes, and their table. Unused pages of the columns take no memory.

    `columns[TEXTS + 2 * kind]` has the bytes of all texts of a kind, and `columns[STARTS + 2 * kind]` the offset of each text. `WEIGHT` and
    `TIME` are float64. `TAGS_OF` has for each outcome the index of its text of tags, or -1; texts of tags can be equal. `POOL` has for
    each outcome the index of its pool's text; two pool texts can be equal unless they are neighbors.
    `LATER_ROWS` is int64 (k, 4): outcome, kind, begin and end of each value that a kernel leaves to Python; begin and end are offsets in
    the texts of the kind, or for a number in the records. `PLACE` is int64. The other columns are as in `Games`.

    Attributes:
        table: int64: the counts, `FULL`, and the address and size of each column.
        columns: Columns by the index of the word in `table` that has their address.
    """

    def __init__(self, size: int) -> None:
        # Lower bounds of the bytes of JSON for a name, a side and an outcome. The extra entries are for a field that is given twice: it is
        # written before the repetition is detected.
        names, sides, outcomes = size // 4 + 8, size // 16 + 8, size // 64 + 8
        starts = {STARTS + 2 * kind: names if kind == NAMES else outcomes for kind in range(_KINDS)}
        starts |= {SIDE_START: outcomes, AGENT_START: sides}
        lengths = starts | {PLACE: sides, TASK_OF: outcomes, TAGS_OF: outcomes, POOL: outcomes, RECORD: outcomes}
        self.columns: dict[int, NDArray[Any]] = {TEXTS + 2 * kind: np.empty(size + 4, np.uint8) for kind in range(_KINDS)}
        self.columns |= {name: np.empty(length, np.int64) for name, length in lengths.items()}
        self.columns |= {WEIGHT: np.empty(outcomes), TIME: np.empty(outcomes), LATER_ROWS: np.empty((size // 32 + 1, 4), np.int64)}
        for name in starts:
            self.columns[name][0] = 0
        self.table = np.zeros(_COLUMNS + 2 * len(self.columns), np.int64)
        for name, values in self.columns.items():
            self.table[name : name + 2] = values.ctypes.data, values.size


@inlined
def column(room: Memory, name: int) -> Memory:
    """The memory of a column. name: index of the word with its address."""
    return word_at(room, name), word_at(room, name + 1)


@inlined
def get(room: Memory, name: int, k: int) -> int:
    """Word `k` of a column."""
    value: int = word_at(column(room, name), k)
    return value


@inlined
def put(room: Memory, name: int, k: int, value: int) -> None:
    """Write word `k` of a column."""
    if not set_word(column(room, name), k, value):
        set_word(room, FULL, 1)


@inlined
def bits(value: float) -> int:
    """The bits of a double as an int64 word."""
    return int(np.float64(value).view(np.int64))


@kernel
def note(room: Memory, i: int, what: int, begin: int, end: int) -> bool:
    """Leave a value of outcome `i` to Python, see `LATER_ROWS`. Returns whether the value fits into the column."""
    k, rows = word_at(room, LATER), column(room, LATER_ROWS)
    fits = True
    for at, value in enumerate((i, what, begin, end)):
        fits &= set_word(rows, 4 * k + at, value)
    if fits:
        set_word(room, LATER, k + 1)
    return fits


@kernel
def same(room: Memory, kind: int, a: int, b: int) -> bool:
    """Whether texts `a` and `b` of a kind are equal."""
    starts, texts = column(room, STARTS + 2 * kind), column(room, TEXTS + 2 * kind)
    at_a, at_b = word_at(starts, a), word_at(starts, b)
    length = word_at(starts, a + 1) - at_a
    if word_at(starts, b + 1) - at_b != length:
        return False
    for k in range(length):  # noqa: SIM110 - numba compiles a plain loop to faster code
        if byte_at(texts, at_a + k) != byte_at(texts, at_b + k):
            return False
    return True
