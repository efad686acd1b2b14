"""Games read from the bytes of records into columns, without an object an outcome. What is not plain is left to `services.events`.

A record is plain where it is JSON of games of one pool, each with the fields v, id, pool, time, sides, task and weight at most once, in
any order and spacing, and every value is one that the schema takes for certain. Whatever else there may be (another field, half a
surrogate pair, a rule that is broken, bytes that are no JSON) ends the reading of that record, not with a verdict: the decoder of
`services.events` has the only one. What a kernel cannot decide is noted, for Python to check: texts beyond ASCII, and numbers of
more digits than divide exactly.

In the small functions `at` is the address of a byte of a record, -1 where the record is not plain; `room` that of `Room.table`; `i` the
number of the outcome. Every walk stops at `END` or before.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernel import inlined, kernel
from ratings_core.memory import byte_at, set_byte, set_word, word_at
from ratings_core.names import MAX_NAME_BYTES
from ratings_core.outcomes import MAX_SIDES, MAX_WEIGHT, MIN_WEIGHT, NO_TASK
from services.rules import MAX_PLACE, MAX_TIME, MIN_PLACE

END: Final = b"\0"
"""Stands after each record, and is no byte of a plain one."""

IDS, NAMES, TASKS, POOLS = range(4)
TIME, WEIGHT = range(4, 6)
"""What may be noted for later, after the kinds of text."""

OUTCOMES, SIDES, NAME_COUNT, TASK_COUNT, POOL_COUNT, LATER = range(6)
"""The first words of a table: how many of each there are."""
COUNTS: Final = 6
_LATER_LIMIT, _TEXTS, _STARTS, _LATER_ROWS = COUNTS, COUNTS + 1, COUNTS + 5, COUNTS + 9
_SIDE_START, _PLACE, _AGENT_START, _WEIGHT, _TIME, _TASK_OF, _POOL, _RECORD = range(COUNTS + 10, COUNTS + 18)

_FAIL: Final = -1
_MANY: Final = 64
"""Agents of one outcome, which are compared each with each: more of them are not plain."""
_DIGITS: Final = 18
_EXACT: Final = 1 << 53
_LONGEST_NUMBER: Final = 64
_TENS: Final = 10.0 ** np.arange(_DIGITS + 1)
"""Powers of ten that doubles hold exactly: a whole number below 2**53 divided by one is rounded once, so correctly (Clinger 1990)."""

_TAB, _LINE_FEED, _RETURN, _SPACE = (ord(c) for c in "\t\n\r ")
_QUOTE, _BACKSLASH, _SLASH, _COMMA, _COLON, _DOT, _MINUS, _PLUS = (ord(c) for c in '"\\/,:.-+')
_ZERO, _ONE, _NINE, _OBJECT, _OBJECT_END, _LIST, _LIST_END = (ord(c) for c in "019{}[]")
_E, _U, _A = (ord(c) for c in "eua")
_LOWER: Final = 0x20
"""Makes a capital small."""
_DELETE, _ASCII_END, _TWO_BYTES_END = 0x7F, 0x80, 0x800
_SURROGATE: Final = 0xD800 >> 11


def _word_of(text: str) -> int:
    """Up to 7 characters of ASCII as one number, as `_member` reads them."""
    return int.from_bytes(text.encode())


_F_V, _F_ID, _F_POOL, _F_TIME, _F_SIDES, _F_TASK, _F_WEIGHT = map(_word_of, ("v", "id", "pool", "time", "sides", "task", "weight"))
_F_AGENTS, _F_PLACE = map(_word_of, ("agents", "place"))
_NULL: Final = _word_of("null")
_NEEDED, _SIDE_NEEDED = 0b11111, 0b11


class Room:
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


@kernel
def scan(data: NDArray[np.uint8], start: NDArray[np.int64], longest: int, table: NDArray[np.int64]) -> None:
    """Read the plain ones of the records data[start[i] : start[i+1] - 1], each of at most `longest` bytes and followed by `END`.

    table: of a `Room` for all of `data`, whose counts then say how much of it is filled.
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
    at = _past_spaces(at)
    if byte_at(at) != _LIST:
        return _past_spaces(_outcome(at, room, base, record))
    first = word_at(room + 8 * OUTCOMES)
    while True:
        at = _past_spaces(_outcome(_past_spaces(at + 1), room, base, record))
        if at < 0 or _get(room, _POOL, word_at(room) - 1) != _get(room, _POOL, first):
            return _FAIL
        if byte_at(at) == _LIST_END:
            return _past_spaces(at + 1)
        if byte_at(at) != _COMMA:
            return _FAIL


@kernel
def _outcome(at: int, room: int, base: int, record: int) -> int:
    """The place after the outcome that begins at `at`, which is then in the columns."""
    if byte_at(at) != _OBJECT:
        return _FAIL
    i, met = word_at(room + 8 * OUTCOMES), 0
    _put(room, _WEIGHT, i, _bits(1.0))
    _put(room, _TASK_OF, i, NO_TASK)
    _put(room, _RECORD, i, record)
    while True:
        at, field = _member(at + 1)
        if at < 0:
            return _FAIL
        at, bit = _value(at, field, room, base, i)
        at = _past_spaces(at)
        if at < 0 or bit == 0 or met & bit:
            return _FAIL
        met |= bit
        if byte_at(at) == _OBJECT_END:
            set_word(room + 8 * OUTCOMES, i + 1)
            return at + 1 if met & _NEEDED == _NEEDED else _FAIL
        if byte_at(at) != _COMMA:
            return _FAIL


@inlined
def _value(at: int, field: int, room: int, base: int, i: int) -> tuple[int, int]:
    """The place after the value of an outcome's field, and the field's bit; no bit for what is none."""
    bit = 0
    if field == _F_V:
        at, bit = at + 1 if byte_at(at) == _ONE else _FAIL, 1
    elif field == _F_ID:
        at, bit = _text(at, room, IDS, i, i), 2
    elif field == _F_POOL:
        at, bit = _pool(at, room, i), 4
    elif field == _F_TIME:
        at, bit = _number(at, room, base, _TIME, -MAX_TIME, MAX_TIME, TIME, i), 8
    elif field == _F_SIDES:
        at, bit = _sides(at, room, i), 16
    elif field == _F_TASK:
        at, bit = _task(at, room, i), 32
    elif field == _F_WEIGHT:
        at, bit = _number(at, room, base, _WEIGHT, MIN_WEIGHT, MAX_WEIGHT, WEIGHT, i), 64
    return at, bit


@inlined
def _get(room: int, column: int, k: int) -> int:
    value: int = word_at(word_at(room + 8 * column) + 8 * k)
    return value


@inlined
def _put(room: int, column: int, k: int, value: int) -> None:
    set_word(word_at(room + 8 * column) + 8 * k, value)


@inlined
def _bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


@inlined
def _past_spaces(at: int) -> int:
    if at >= 0:
        while byte_at(at) <= _SPACE and byte_at(at) in (_SPACE, _LINE_FEED, _RETURN, _TAB):
            at += 1
    return at


@inlined
def _member(at: int) -> tuple[int, int]:
    """Where the value of an object's member begins, and the member's name, its bytes as those of one number."""
    at = _past_spaces(at)
    if byte_at(at) != _QUOTE:
        return _FAIL, 0
    at, name = at + 1, 0
    while byte_at(at) != _QUOTE:
        if byte_at(at) < _SPACE or name >> 40:  # longer than any
            return _FAIL, 0
        name, at = name << 8 | byte_at(at), at + 1
    at = _past_spaces(at + 1)
    return (_past_spaces(at + 1), name) if byte_at(at) == _COLON else (_FAIL, 0)


@kernel
def _text(at: int, room: int, kind: int, k: int, i: int) -> int:
    """Copy the name at `at` to the texts of its kind, as number `k`; the place after it."""
    if byte_at(at) != _QUOTE:
        return _FAIL
    starts = word_at(room + 8 * (_STARTS + kind)) + 8 * k
    texts = word_at(room + 8 * (_TEXTS + kind))
    at, begin, odd = at + 1, texts + word_at(starts), False
    to = begin
    while byte_at(at) != _QUOTE:
        byte = byte_at(at)
        if byte < _SPACE or byte == _DELETE:
            return _FAIL
        if byte == _BACKSLASH:
            at, length = _escaped(at + 1, to)
            if at < 0:
                return _FAIL
            odd |= length > 1
            to += length
            continue
        odd |= byte >= _ASCII_END
        set_byte(to, byte)
        at, to = at + 1, to + 1
    if to - begin < 1 or to - begin > MAX_NAME_BYTES or byte_at(begin) == _SPACE or byte_at(to - 1) == _SPACE:
        return _FAIL
    set_word(starts + 8, to - texts)
    return at + 1 if not odd or _note(room, i, kind, begin - texts, to - texts) else _FAIL


@kernel
def _escaped(at: int, to: int) -> tuple[int, int]:
    """Write the character whose escape goes on at `at`, in UTF-8; the place after it, and how many bytes it has."""
    if byte_at(at) in (_QUOTE, _BACKSLASH, _SLASH):
        set_byte(to, byte_at(at))
        return at + 1, 1
    code = _hexadecimal(at + 1) if byte_at(at) == _U else _FAIL
    if code < _SPACE or code == _DELETE or code >> 11 == _SURROGATE:
        return _FAIL, 0
    if code < _ASCII_END:
        set_byte(to, code)
        return at + 5, 1
    set_byte(to, 0xC0 | code >> 6 if code < _TWO_BYTES_END else 0xE0 | code >> 12)
    if code < _TWO_BYTES_END:
        set_byte(to + 1, 0x80 | code & 0x3F)
        return at + 5, 2
    set_byte(to + 1, 0x80 | code >> 6 & 0x3F)
    set_byte(to + 2, 0x80 | code & 0x3F)
    return at + 5, 3


@kernel
def _hexadecimal(at: int) -> int:
    """The number that four digits at `at` make, -1 where one of them is none."""
    code = 0
    for k in range(4):
        byte = byte_at(at + k)
        digit = byte - _ZERO if byte <= _NINE else (byte | _LOWER) - _A + 10
        if digit < 0 or digit > 15 or (byte > _NINE and digit < 10):
            return _FAIL
        code = code << 4 | digit
    return code


@kernel
def _note(room: int, i: int, what: int, begin: int, end: int) -> bool:
    """Leave something of outcome `i` to Python; whether there was room for it."""
    k = word_at(room + 8 * LATER)
    if k == word_at(room + 8 * _LATER_LIMIT):
        return False
    set_word(room + 8 * LATER, k + 1)
    _put(room, _LATER_ROWS, 4 * k, i)
    _put(room, _LATER_ROWS, 4 * k + 1, what)
    _put(room, _LATER_ROWS, 4 * k + 2, begin)
    _put(room, _LATER_ROWS, 4 * k + 3, end)
    return True


@kernel
def _pool(at: int, room: int, i: int) -> int:
    """The outcome's pool, under a new number where it is not that of the outcome before."""
    k, noted = word_at(room + 8 * POOL_COUNT), word_at(room + 8 * LATER)
    at = _text(at, room, POOLS, k, i)
    if at < 0 or word_at(room + 8 * LATER) > noted:  # beyond ASCII there is no pool's name
        return _FAIL
    known = k > 0 and _same(room, POOLS, k - 1, k)
    _put(room, _POOL, i, k - known)
    set_word(room + 8 * POOL_COUNT, k + 1 - known)
    return at


@kernel
def _task(at: int, room: int, i: int) -> int:
    if byte_at(at) != _QUOTE:
        for k in range(4):  # one after another: the record may end at any of them
            if byte_at(at + k) != _NULL >> 8 * (3 - k) & 0xFF:
                return _FAIL
        return at + 4
    k = word_at(room + 8 * TASK_COUNT)
    _put(room, _TASK_OF, i, k)
    set_word(room + 8 * TASK_COUNT, k + 1)
    return _text(at, room, TASKS, k, i)


@kernel
def _sides(at: int, room: int, i: int) -> int:
    """The sides of the outcome, with each agent once."""
    if byte_at(at) != _LIST:
        return _FAIL
    first, first_side = word_at(room + 8 * NAME_COUNT), word_at(room + 8 * SIDES)
    while True:
        at = _past_spaces(_side(_past_spaces(at + 1), room, i))
        if at < 0 or word_at(room + 8 * NAME_COUNT) - first > _MANY:
            return _FAIL
        if byte_at(at) == _LIST_END:
            break
        if byte_at(at) != _COMMA:
            return _FAIL
    sides = word_at(room + 8 * SIDES)
    _put(room, _SIDE_START, i + 1, sides)
    for a in range(first, word_at(room + 8 * NAME_COUNT)):
        for b in range(first, a):
            if _same(room, NAMES, a, b):
                return _FAIL
    return at + 1 if 2 <= sides - first_side <= MAX_SIDES else _FAIL


@kernel
def _side(at: int, room: int, i: int) -> int:
    if byte_at(at) != _OBJECT:
        return _FAIL
    side, met = word_at(room + 8 * SIDES), 0
    while True:
        at, field = _member(at + 1)
        if at < 0:
            return _FAIL
        bit = 0
        if field == _F_AGENTS:
            at, bit = _agents(at, room, i), 1
        elif field == _F_PLACE:
            at, bit = _place(at, room, side), 2
        at = _past_spaces(at)
        if at < 0 or bit == 0 or met & bit:
            return _FAIL
        met |= bit
        if byte_at(at) == _OBJECT_END:
            break
        if byte_at(at) != _COMMA:
            return _FAIL
    set_word(room + 8 * SIDES, side + 1)
    _put(room, _AGENT_START, side + 1, word_at(room + 8 * NAME_COUNT))
    return at + 1 if met == _SIDE_NEEDED else _FAIL


@kernel
def _agents(at: int, room: int, i: int) -> int:
    if byte_at(at) != _LIST:
        return _FAIL
    while True:
        k = word_at(room + 8 * NAME_COUNT)
        at = _past_spaces(_text(_past_spaces(at + 1), room, NAMES, k, i))
        if at < 0:
            return _FAIL
        set_word(room + 8 * NAME_COUNT, k + 1)
        if byte_at(at) == _LIST_END:
            return at + 1
        if byte_at(at) != _COMMA:
            return _FAIL


@kernel
def _same(room: int, kind: int, a: int, b: int) -> bool:
    """Whether texts `a` and `b` of a kind are equal."""
    at, other = _get(room, _STARTS + kind, a), _get(room, _STARTS + kind, b)
    length = _get(room, _STARTS + kind, a + 1) - at
    if _get(room, _STARTS + kind, b + 1) - other != length:
        return False
    texts = word_at(room + 8 * (_TEXTS + kind))
    for k in range(length):  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if byte_at(texts + at + k) != byte_at(texts + other + k):
            return False
    return True


@inlined
def _digits(at: int, value: int) -> tuple[int, int]:
    """The place after the digits at `at`, and `value` with them behind it: a number that means nothing from 19 digits on."""
    while _ZERO <= byte_at(at) <= _NINE:
        value, at = value * 10 + (byte_at(at) - _ZERO), at + 1
    return at, value


@kernel
def _place(at: int, room: int, side: int) -> int:
    """A whole number, not minus zero."""
    negative = byte_at(at) == _MINUS
    first = at + negative
    at, value = _digits(first, 0)
    if not 1 <= at - first <= _DIGITS or (byte_at(first) == _ZERO and (negative or at - first > 1)):
        return _FAIL
    value = -value if negative else value
    _put(room, _PLACE, side, value)
    return at if MIN_PLACE <= value <= MAX_PLACE else _FAIL


@kernel
def _number(at: int, room: int, base: int, column: int, low: float, high: float, what: int, i: int) -> int:
    """A number from `low` to `high`, not minus zero: rounded correctly, or noted."""
    begin, negative = at, byte_at(at) == _MINUS
    first = at + negative
    at, value = _digits(first, 0)
    digits, fraction = at - first, 0
    if digits == 0 or (digits > 1 and byte_at(first) == _ZERO):
        return _FAIL
    if byte_at(at) == _DOT:
        point = at + 1
        at, value = _digits(point, value)
        fraction = at - point
        if fraction == 0:
            return _FAIL
    if byte_at(at) | _LOWER == _E or digits + fraction > _DIGITS or value >= _EXACT:
        at = _past_exponent(at)
        return at if at - begin <= _LONGEST_NUMBER and _note(room, i, what, begin - base, at - base) else _FAIL
    if negative and value == 0:
        return _FAIL
    number = value / _TENS[fraction]
    number = -number if negative else number
    _put(room, column, i, _bits(number))
    return at if low <= number <= high else _FAIL


@inlined
def _past_exponent(at: int) -> int:
    """The place after an exponent, or `at` where there is none."""
    if byte_at(at) | _LOWER != _E:
        return at
    first = at + 1 + (byte_at(at + 1) in (_PLUS, _MINUS))
    at, _ = _digits(first, 0)
    return at if at > first else _FAIL
