"""Columns that records are read into, before it is known how long they get, and how kernels reach them: by one table of their places.

In the functions `room` is the memory of `ColumnBuffers.table`, `i` the number of an outcome. Every index into a column is checked against
the column's end (`ratings_core.kernels.memory`); what does not fit is not written, and the table's word `FULL` says so.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import Memory, byte_at, set_word, word_at

IDS, NAMES, TASKS, POOLS = range(4)
"""Kinds of text."""
LATER_TIME, LATER_WEIGHT = range(4, 6)
"""What may be noted for later, after the kinds of text."""

OUTCOMES, SIDES, NAME_COUNT, TASK_COUNT, POOL_COUNT, LATER = range(6)
"""The first words of a table: how many of each there are."""
COUNTS: Final = 6
FULL: Final = COUNTS
"""The word that is not 0 after something did not fit."""
_COLUMNS: Final = COUNTS + 1
TEXTS, STARTS, LATER_ROWS = _COLUMNS, _COLUMNS + 2 * 4, _COLUMNS + 2 * 8
SIDE_START, PLACE, AGENT_START, WEIGHT, TIME, TASK_OF, POOL, RECORD = range(_COLUMNS + 2 * 9, _COLUMNS + 2 * 17, 2)
"""Words of a table that hold a column's address, each before its size; `TEXTS` and `STARTS` have one for each kind."""


class ColumnBuffers:
    """Columns for what records of `size` bytes may hold, and the table by which `scan` finds them. Memory that is not used costs nothing.

    table: int64, counts, `FULL`, and each column's address and size. columns: by the word of the table that holds their address. The
    columns of a kind of text are `TEXTS + 2 * kind`, its bytes one after another, and `STARTS + 2 * kind`, where each text begins.
    `WEIGHT` and `TIME` are float64; `POOL` has for each outcome a number of its pool's text, of which only neighbours differ; `LATER_ROWS`
    is int64 (k, 4): (outcome, what, begin, end) in the texts of its kind or, of numbers, in the records. The rest is as in `GameColumns`,
    but `PLACE`, which is int64.
    """

    def __init__(self, size: int) -> None:
        # No name, side or outcome takes fewer bytes of JSON; some more are for a field that is given twice, before that is seen.
        names, sides, outcomes = size // 4 + 8, size // 16 + 8, size // 64 + 8
        starts = {STARTS + 2 * kind: names if kind == NAMES else outcomes for kind in range(4)} | {SIDE_START: outcomes, AGENT_START: sides}
        lengths = starts | {PLACE: sides, TASK_OF: outcomes, POOL: outcomes, RECORD: outcomes}
        self.columns: dict[int, NDArray[Any]] = {TEXTS + 2 * kind: np.empty(size + 4, np.uint8) for kind in range(4)}
        self.columns |= {name: np.empty(length, np.int64) for name, length in lengths.items()}
        self.columns |= {WEIGHT: np.empty(outcomes), TIME: np.empty(outcomes), LATER_ROWS: np.empty((size // 32 + 1, 4), np.int64)}
        for name in starts:
            self.columns[name][0] = 0
        self.table = np.zeros(_COLUMNS + 2 * len(self.columns), np.int64)
        for name, values in self.columns.items():
            self.table[name : name + 2] = values.ctypes.data, values.size


@inlined
def column(room: Memory, name: int) -> Memory:
    """The memory of a column. name: the word that holds its address."""
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
    """A double's bits, as a word."""
    return int(np.float64(value).view(np.int64))


@kernel
def note(room: Memory, i: int, what: int, begin: int, end: int) -> bool:
    """Leave something of outcome `i` to Python; whether there was room for it."""
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
    at, other = word_at(starts, a), word_at(starts, b)
    length = word_at(starts, a + 1) - at
    if word_at(starts, b + 1) - other != length:
        return False
    for k in range(length):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if byte_at(texts, at + k) != byte_at(texts, other + k):
            return False
    return True
