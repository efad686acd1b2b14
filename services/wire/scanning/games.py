"""Kernels that read plain games from the bytes of records into columns. The decoder of `services.wire.events` reads all other records.

A record is plain if it is JSON with games of one pool, each with the fields v, id, pool, time, sides, task, weight and tags at most once,
in any order and spacing, and if every value is certainly valid. At anything else (another field, half a surrogate pair, a broken rule,
invalid JSON) the kernels stop reading the record. They give no verdict on it: only the decoder of `services.wire.events` refuses outcomes.
Values that a kernel cannot check are left to Python: texts beyond ASCII, tags, and numbers that one division of doubles does not round
correctly.

In the small functions, `data` is the memory of all records, and `at` is the index of a byte in it, or `FAIL` if the record is not plain.
`room` is the memory of `ColumnBuffers.table`, and `i` is the index of the outcome. Every loop stops at `END` or before, and every index is
checked against the end of its array.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.columns.tags import NO_TAGS
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import Memory, byte_at, set_byte, set_word, word_at
from ratings_core.records.outcomes import MAX_SIDES, MAX_TIME, MAX_WEIGHT, MIN_WEIGHT, NO_TASK
from services.wire.scanning.buffers import (
    AGENT_START,
    COUNTS,
    FULL,
    IDS,
    LATER,
    LATER_TIME,
    LATER_WEIGHT,
    NAME_COUNT,
    NAMES,
    OUTCOMES,
    POOL,
    POOL_COUNT,
    POOLS,
    RECORD,
    SIDE_START,
    SIDES,
    STARTS,
    TAGS,
    TAGS_COUNT,
    TAGS_OF,
    TASK_COUNT,
    TASK_OF,
    TASKS,
    TEXTS,
    TIME,
    WEIGHT,
    bits,
    column,
    get,
    put,
    same,
)
from services.wire.scanning.values import (
    BACKSLASH,
    COMMA,
    END_BYTE,
    FAIL,
    LIST,
    LIST_END,
    OBJECT,
    OBJECT_END,
    ONE,
    QUOTE,
    member,
    number,
    past_spaces,
    place,
    text,
)

_MANY: Final = 64
"""Maximal number of agents in a plain outcome. All pairs of agents are compared, so the time is quadratic in their number."""


def _word_of(text: str) -> int:
    """The bytes of an ASCII text of up to 7 characters as one number, as `member` reads them."""
    return int.from_bytes(text.encode())


_F_V, _F_ID, _F_POOL, _F_TIME, _F_SIDES, _F_TASK, _F_WEIGHT, _F_TAGS = map(
    _word_of, ("v", "id", "pool", "time", "sides", "task", "weight", "tags")
)
_F_AGENTS, _F_PLACE = map(_word_of, ("agents", "place"))
_NULL: Final = _word_of("null")
_NEEDED, _SIDE_NEEDED = 0b11111, 0b11


@kernel
def scan(data: NDArray[np.uint8], start: NDArray[np.int64], longest: int, table: NDArray[np.int64]) -> None:
    """Read the plain records into columns. A record that is not plain leaves the counts of the table unchanged.

    Args:
        data: The bytes of all records; each record is followed by `END`.
        start: int64 (n+1,); record i is data[start[i] : start[i+1] - 1].
        longest: Maximal length of a record in bytes.
        table: `ColumnBuffers.table`, for columns that are long enough for `data`. Its counts give the lengths of the results.
    """
    before = np.empty(COUNTS, np.int64)
    records, room = (int(data.ctypes.data), len(data)), (int(table.ctypes.data), len(table))
    for record in range(len(start) - 1):
        begin, end = start[record], start[record + 1] - 1
        before[:], table[FULL] = table[:COUNTS], 0
        if end - begin > longest or _record(records, begin, room, record) != end or table[FULL]:
            table[:COUNTS] = before


@kernel
def _record(data: Memory, at: int, room: Memory, record: int) -> int:
    """Read one record. Returns the index after the record and the spaces behind it; another value if the record is not plain."""
    at = past_spaces(data, at)
    if byte_at(data, at) != LIST:
        return past_spaces(data, _outcome(data, at, room, record))
    first = word_at(room, OUTCOMES)
    while True:
        at = past_spaces(data, _outcome(data, past_spaces(data, at + 1), room, record))
        if at < 0 or get(room, POOL, word_at(room, OUTCOMES) - 1) != get(room, POOL, first):
            return FAIL
        if byte_at(data, at) == LIST_END:
            return past_spaces(data, at + 1)
        if byte_at(data, at) != COMMA:
            return FAIL


@kernel
def _outcome(data: Memory, at: int, room: Memory, record: int) -> int:
    """Read the outcome at `at` into the columns. Returns the index after it."""
    if byte_at(data, at) != OBJECT:
        return FAIL
    i, met = word_at(room, OUTCOMES), 0
    put(room, WEIGHT, i, bits(1.0))
    put(room, TASK_OF, i, NO_TASK)
    put(room, TAGS_OF, i, NO_TAGS)
    put(room, RECORD, i, record)
    while True:
        at, field = member(data, at + 1)
        if at < 0:
            return FAIL
        at, bit = _value(data, at, field, room, i)
        at = past_spaces(data, at)
        if at < 0 or bit == 0 or met & bit:
            return FAIL
        met |= bit
        if byte_at(data, at) == OBJECT_END:
            set_word(room, OUTCOMES, i + 1)
            return at + 1 if met & _NEEDED == _NEEDED else FAIL
        if byte_at(data, at) != COMMA:
            return FAIL


@inlined
def _value(data: Memory, at: int, field: int, room: Memory, i: int) -> tuple[int, int]:
    """Read the value of a field. Returns the index after it and the bit of the field, which is 0 for an unknown field."""
    bit = 0
    if field == _F_V:
        at, bit = at + 1 if byte_at(data, at) == ONE else FAIL, 1
    elif field == _F_ID:
        at, bit = text(data, at, room, IDS, i, i), 2
    elif field == _F_POOL:
        at, bit = _pool(data, at, room, i), 4
    elif field == _F_TIME:
        at, bit = number(data, at, room, TIME, -MAX_TIME, MAX_TIME, LATER_TIME, i), 8
    elif field == _F_SIDES:
        at, bit = _sides(data, at, room, i), 16
    elif field == _F_TASK:
        at, bit = _task(data, at, room, i), 32
    elif field == _F_WEIGHT:
        at, bit = number(data, at, room, WEIGHT, MIN_WEIGHT, MAX_WEIGHT, LATER_WEIGHT, i), 64
    elif field == _F_TAGS:
        at, bit = _tags(data, at, room, i), 128
    return at, bit


@kernel
def _pool(data: Memory, at: int, room: Memory, i: int) -> int:
    """Read the pool of the outcome. A pool other than that of the outcome before gets a new index. Returns the index after the text."""
    k, noted = word_at(room, POOL_COUNT), word_at(room, LATER)
    at = text(data, at, room, POOLS, k, i)
    if at < 0 or word_at(room, LATER) > noted:  # a text beyond ASCII is not a pool name
        return FAIL
    known = k > 0 and same(room, POOLS, k - 1, k)
    put(room, POOL, i, k - known)
    set_word(room, POOL_COUNT, k + 1 - known)
    return at


@kernel
def _task(data: Memory, at: int, room: Memory, i: int) -> int:
    if byte_at(data, at) != QUOTE:
        for k in range(4):  # byte by byte, because the record can end at each of them
            if byte_at(data, at + k) != _NULL >> 8 * (3 - k) & 0xFF:
                return FAIL
        return at + 4
    k = word_at(room, TASK_COUNT)
    put(room, TASK_OF, i, k)
    set_word(room, TASK_COUNT, k + 1)
    return text(data, at, room, TASKS, k, i)


@kernel
def _tags(data: Memory, at: int, room: Memory, i: int) -> int:
    """Copy the text of the tags, up to the first closing brace outside of strings. Python reads each distinct text.

    Returns:
        The index after the text.
    """
    if byte_at(data, at) != OBJECT:
        return FAIL
    k = word_at(room, TAGS_COUNT)
    starts, texts = column(room, STARTS + 2 * TAGS), column(room, TEXTS + 2 * TAGS)
    to, in_string, fits = word_at(starts, k), False, True
    while True:
        byte = byte_at(data, at)
        if byte == BACKSLASH:
            fits &= set_byte(texts, to, byte)
            at, to = at + 1, to + 1
            byte = byte_at(data, at)  # the escaped character ends no string
            in_string ^= byte == QUOTE
        if byte == END_BYTE:
            return FAIL
        fits &= set_byte(texts, to, byte)
        at, to = at + 1, to + 1
        in_string ^= byte == QUOTE
        if byte == OBJECT_END and not in_string:
            break
    if not fits or not set_word(starts, k + 1, to):
        return FAIL
    is_known = k > 0 and same(room, TAGS, k - 1, k)
    put(room, TAGS_OF, i, k - is_known)
    set_word(room, TAGS_COUNT, k + 1 - is_known)
    return at


@kernel
def _sides(data: Memory, at: int, room: Memory, i: int) -> int:
    """Read the sides of the outcome and check that no agent occurs twice. Returns the index after them."""
    if byte_at(data, at) != LIST:
        return FAIL
    first, first_side = word_at(room, NAME_COUNT), word_at(room, SIDES)
    while True:
        at = past_spaces(data, _side(data, past_spaces(data, at + 1), room, i))
        if at < 0 or word_at(room, NAME_COUNT) - first > _MANY:
            return FAIL
        if byte_at(data, at) == LIST_END:
            break
        if byte_at(data, at) != COMMA:
            return FAIL
    sides = word_at(room, SIDES)
    put(room, SIDE_START, i + 1, sides)
    for a in range(first, word_at(room, NAME_COUNT)):
        for b in range(first, a):
            if same(room, NAMES, a, b):
                return FAIL
    return at + 1 if 2 <= sides - first_side <= MAX_SIDES else FAIL


@kernel
def _side(data: Memory, at: int, room: Memory, i: int) -> int:
    if byte_at(data, at) != OBJECT:
        return FAIL
    side, met = word_at(room, SIDES), 0
    while True:
        at, field = member(data, at + 1)
        if at < 0:
            return FAIL
        bit = 0
        if field == _F_AGENTS:
            at, bit = _agents(data, at, room, i), 1
        elif field == _F_PLACE:
            at, bit = place(data, at, room, side), 2
        at = past_spaces(data, at)
        if at < 0 or bit == 0 or met & bit:
            return FAIL
        met |= bit
        if byte_at(data, at) == OBJECT_END:
            break
        if byte_at(data, at) != COMMA:
            return FAIL
    set_word(room, SIDES, side + 1)
    put(room, AGENT_START, side + 1, word_at(room, NAME_COUNT))
    return at + 1 if met == _SIDE_NEEDED else FAIL


@kernel
def _agents(data: Memory, at: int, room: Memory, i: int) -> int:
    if byte_at(data, at) != LIST:
        return FAIL
    while True:
        k = word_at(room, NAME_COUNT)
        at = past_spaces(data, text(data, past_spaces(data, at + 1), room, NAMES, k, i))
        if at < 0:
            return FAIL
        set_word(room, NAME_COUNT, k + 1)
        if byte_at(data, at) == LIST_END:
            return at + 1
        if byte_at(data, at) != COMMA:
            return FAIL
