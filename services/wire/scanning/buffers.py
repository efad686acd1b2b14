"""Columns that records are read into, before it is known how long they get, and how kernels reach them: by addresses in one table.

In the functions `room` is the address of `ColumnBuffers.table`, `i` the number of an outcome.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import byte_at, set_word, word_at

IDS, NAMES, TASKS, POOLS = range(4)
"""Kinds of text."""
LATER_TIME, LATER_WEIGHT = range(4, 6)
"""What may be noted for later, after the kinds of text."""

OUTCOMES, SIDES, NAME_COUNT, TASK_COUNT, POOL_COUNT, LATER = range(6)
"""The first words of a table: how many of each there are."""
COUNTS: Final = 6
LATER_LIMIT, TEXTS, STARTS, LATER_ROWS = COUNTS, COUNTS + 1, COUNTS + 5, COUNTS + 9
SIDE_START, PLACE, AGENT_START, WEIGHT, TIME, TASK_OF, POOL, RECORD = range(COUNTS + 10, COUNTS + 18)
"""Words of a table that hold the addresses of columns; `TEXTS` and `STARTS` by kind."""


class ColumnBuffers:
    """Columns for what records of `size` bytes may hold, and the table by which `scan` finds them. Memory that is not used costs nothing.

    texts: bytes of each kind of text, one after another; starts: int64, where each begins; weight, time: float64; pool: of each outcome a
    number of its pool's text, of which only neighbours differ; record: of each outcome; later: int64 (k, 4), (outcome, what, begin, end)
    in the texts of its kind or, of numbers, in the records; the rest as in `GameColumns`, but place, which is int64.
    """

    def __init__(self, size: int) -> None:
        # No name, side or outcome takes fewer bytes of JSON; some more are for a field that is given twice, before that is seen.
        names, sides, outcomes = size // 4 + 8, size // 16 + 8, size // 64 + 8
        self.texts = [np.empty(size + 4, np.uint8) for _ in range(4)]
        self.starts = [np.empty(names if kind == NAMES else outcomes, np.int64) for kind in range(4)]
        self.side_start, self.place, self.agent_start = (np.empty(length, np.int64) for length in (outcomes, sides, sides))
        self.task_of, self.pool, self.record = (np.empty(outcomes, np.int64) for _ in range(3))
        self.weight, self.time = np.empty(outcomes), np.empty(outcomes)
        self.later = np.empty((size // 32 + 1, 4), np.int64)
        for start in (*self.starts, self.side_start, self.agent_start):
            start[0] = 0
        columns: list[NDArray[Any]] = [*self.texts, *self.starts, self.later, self.side_start, self.place, self.agent_start]
        columns += [self.weight, self.time, self.task_of, self.pool, self.record]  # in the order of the table's words
        self.table = np.array([*[0] * COUNTS, len(self.later), *(column.ctypes.data for column in columns)], np.int64)


@inlined
def get(room: int, column: int, k: int) -> int:
    """Word `k` of the column whose address stands in word `column` of the table."""
    value: int = word_at(word_at(room + 8 * column) + 8 * k)
    return value


@inlined
def put(room: int, column: int, k: int, value: int) -> None:
    """Write word `k` of the column whose address stands in word `column` of the table."""
    set_word(word_at(room + 8 * column) + 8 * k, value)


@inlined
def bits(value: float) -> int:
    """A double's bits, as a word."""
    return int(np.float64(value).view(np.int64))


@kernel
def note(room: int, i: int, what: int, begin: int, end: int) -> bool:
    """Leave something of outcome `i` to Python; whether there was room for it."""
    k = word_at(room + 8 * LATER)
    if k == word_at(room + 8 * LATER_LIMIT):
        return False
    set_word(room + 8 * LATER, k + 1)
    put(room, LATER_ROWS, 4 * k, i)
    put(room, LATER_ROWS, 4 * k + 1, what)
    put(room, LATER_ROWS, 4 * k + 2, begin)
    put(room, LATER_ROWS, 4 * k + 3, end)
    return True


@kernel
def same(room: int, kind: int, a: int, b: int) -> bool:
    """Whether texts `a` and `b` of a kind are equal."""
    at, other = get(room, STARTS + kind, a), get(room, STARTS + kind, b)
    length = get(room, STARTS + kind, a + 1) - at
    if get(room, STARTS + kind, b + 1) - other != length:
        return False
    texts = word_at(room + 8 * (TEXTS + kind))
    for k in range(length):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if byte_at(texts + at + k) != byte_at(texts + other + k):
            return False
    return True
