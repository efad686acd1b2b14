"""Games read from the bytes of records into columns, without an object an outcome. What is not plain is left to `services.wire.events`.

A record is plain where it is JSON of games of one pool, each with the fields v, id, pool, time, sides, task and weight at most once, in
any order and spacing, and every value is one that the schema takes for certain. Whatever else there may be (another field, half a
surrogate pair, a rule that is broken, bytes that are no JSON) ends the reading of that record, not with a verdict: the decoder of
`services.wire.events` has the only one. What a kernel cannot decide is noted, for Python to check: texts beyond ASCII, and numbers of
more digits than divide exactly.

In the small functions `at` is the address of a byte of a record, `FAIL` where the record is not plain. `room` is the address of
`ColumnBuffers.table`, `i` the number of the outcome. Every walk stops at `END` or before.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import byte_at, set_word, word_at
from ratings_core.records.outcomes import MAX_SIDES, MAX_WEIGHT, MIN_WEIGHT, NO_TASK
from services.wire.rules import MAX_TIME
from services.wire.scanning.buffers import (
    AGENT_START,
    COUNTS,
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
    TASK_COUNT,
    TASK_OF,
    TASKS,
    TIME,
    WEIGHT,
    bits,
    get,
    put,
    same,
)
from services.wire.scanning.values import (
    COMMA,
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
"""Agents of one outcome, which are compared each with each: more of them are not plain."""


def _word_of(text: str) -> int:
    """Up to 7 characters of ASCII as one number, as `member` reads them."""
    return int.from_bytes(text.encode())


_F_V, _F_ID, _F_POOL, _F_TIME, _F_SIDES, _F_TASK, _F_WEIGHT = map(_word_of, ("v", "id", "pool", "time", "sides", "task", "weight"))
_F_AGENTS, _F_PLACE = map(_word_of, ("agents", "place"))
_NULL: Final = _word_of("null")
_NEEDED, _SIDE_NEEDED = 0b11111, 0b11


@kernel
def scan(data: NDArray[np.uint8], start: NDArray[np.int64], longest: int, table: NDArray[np.int64]) -> None:
    """Read the plain ones of the records data[start[i] : start[i+1] - 1], each of at most `longest` bytes and followed by `END`.

    table: of a `ColumnBuffers` for all of `data`, whose counts then say how much of it is filled.
    """
    before = np.empty(COUNTS, np.int64)
    base, room = int(data.ctypes.data), int(table.ctypes.data)
    for record in range(len(start) - 1):
        begin, end = start[record], start[record + 1] - 1
        before[:] = table[:COUNTS]
        if end - begin > longest or _record(base + begin, room, base, record) != base + end:
            table[:COUNTS] = before


@kernel
def _record(at: int, room: int, base: int, record: int) -> int:
    """Where the record ends, with the spaces after it; another place where it is not plain. base: address of all records."""
    at = past_spaces(at)
    if byte_at(at) != LIST:
        return past_spaces(_outcome(at, room, base, record))
    first = word_at(room + 8 * OUTCOMES)
    while True:
        at = past_spaces(_outcome(past_spaces(at + 1), room, base, record))
        if at < 0 or get(room, POOL, word_at(room) - 1) != get(room, POOL, first):
            return FAIL
        if byte_at(at) == LIST_END:
            return past_spaces(at + 1)
        if byte_at(at) != COMMA:
            return FAIL


@kernel
def _outcome(at: int, room: int, base: int, record: int) -> int:
    """The place after the outcome that begins at `at`, which is then in the columns."""
    if byte_at(at) != OBJECT:
        return FAIL
    i, met = word_at(room + 8 * OUTCOMES), 0
    put(room, WEIGHT, i, bits(1.0))
    put(room, TASK_OF, i, NO_TASK)
    put(room, RECORD, i, record)
    while True:
        at, field = member(at + 1)
        if at < 0:
            return FAIL
        at, bit = _value(at, field, room, base, i)
        at = past_spaces(at)
        if at < 0 or bit == 0 or met & bit:
            return FAIL
        met |= bit
        if byte_at(at) == OBJECT_END:
            set_word(room + 8 * OUTCOMES, i + 1)
            return at + 1 if met & _NEEDED == _NEEDED else FAIL
        if byte_at(at) != COMMA:
            return FAIL


@inlined
def _value(at: int, field: int, room: int, base: int, i: int) -> tuple[int, int]:
    """The place after the value of an outcome's field, and the field's bit; no bit for an unknown field."""
    bit = 0
    if field == _F_V:
        at, bit = at + 1 if byte_at(at) == ONE else FAIL, 1
    elif field == _F_ID:
        at, bit = text(at, room, IDS, i, i), 2
    elif field == _F_POOL:
        at, bit = _pool(at, room, i), 4
    elif field == _F_TIME:
        at, bit = number(at, room, base, TIME, -MAX_TIME, MAX_TIME, LATER_TIME, i), 8
    elif field == _F_SIDES:
        at, bit = _sides(at, room, i), 16
    elif field == _F_TASK:
        at, bit = _task(at, room, i), 32
    elif field == _F_WEIGHT:
        at, bit = number(at, room, base, WEIGHT, MIN_WEIGHT, MAX_WEIGHT, LATER_WEIGHT, i), 64
    return at, bit


@kernel
def _pool(at: int, room: int, i: int) -> int:
    """The outcome's pool, under a new number where it is not that of the outcome before."""
    k, noted = word_at(room + 8 * POOL_COUNT), word_at(room + 8 * LATER)
    at = text(at, room, POOLS, k, i)
    if at < 0 or word_at(room + 8 * LATER) > noted:  # beyond ASCII there is no pool's name
        return FAIL
    known = k > 0 and same(room, POOLS, k - 1, k)
    put(room, POOL, i, k - known)
    set_word(room + 8 * POOL_COUNT, k + 1 - known)
    return at


@kernel
def _task(at: int, room: int, i: int) -> int:
    if byte_at(at) != QUOTE:
        for k in range(4):  # one after another: the record may end at any of them
            if byte_at(at + k) != _NULL >> 8 * (3 - k) & 0xFF:
                return FAIL
        return at + 4
    k = word_at(room + 8 * TASK_COUNT)
    put(room, TASK_OF, i, k)
    set_word(room + 8 * TASK_COUNT, k + 1)
    return text(at, room, TASKS, k, i)


@kernel
def _sides(at: int, room: int, i: int) -> int:
    """The sides of the outcome, with each agent once."""
    if byte_at(at) != LIST:
        return FAIL
    first, first_side = word_at(room + 8 * NAME_COUNT), word_at(room + 8 * SIDES)
    while True:
        at = past_spaces(_side(past_spaces(at + 1), room, i))
        if at < 0 or word_at(room + 8 * NAME_COUNT) - first > _MANY:
            return FAIL
        if byte_at(at) == LIST_END:
            break
        if byte_at(at) != COMMA:
            return FAIL
    sides = word_at(room + 8 * SIDES)
    put(room, SIDE_START, i + 1, sides)
    for a in range(first, word_at(room + 8 * NAME_COUNT)):
        for b in range(first, a):
            if same(room, NAMES, a, b):
                return FAIL
    return at + 1 if 2 <= sides - first_side <= MAX_SIDES else FAIL


@kernel
def _side(at: int, room: int, i: int) -> int:
    if byte_at(at) != OBJECT:
        return FAIL
    side, met = word_at(room + 8 * SIDES), 0
    while True:
        at, field = member(at + 1)
        if at < 0:
            return FAIL
        bit = 0
        if field == _F_AGENTS:
            at, bit = _agents(at, room, i), 1
        elif field == _F_PLACE:
            at, bit = place(at, room, side), 2
        at = past_spaces(at)
        if at < 0 or bit == 0 or met & bit:
            return FAIL
        met |= bit
        if byte_at(at) == OBJECT_END:
            break
        if byte_at(at) != COMMA:
            return FAIL
    set_word(room + 8 * SIDES, side + 1)
    put(room, AGENT_START, side + 1, word_at(room + 8 * NAME_COUNT))
    return at + 1 if met == _SIDE_NEEDED else FAIL


@kernel
def _agents(at: int, room: int, i: int) -> int:
    if byte_at(at) != LIST:
        return FAIL
    while True:
        k = word_at(room + 8 * NAME_COUNT)
        at = past_spaces(text(past_spaces(at + 1), room, NAMES, k, i))
        if at < 0:
            return FAIL
        set_word(room + 8 * NAME_COUNT, k + 1)
        if byte_at(at) == LIST_END:
            return at + 1
        if byte_at(at) != COMMA:
            return FAIL
