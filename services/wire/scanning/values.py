"""Values of JSON as kernels read them from bytes: names of members, texts, numbers. What is not plain is refused, not judged.

In the functions `at` is the address of a byte of a record, `FAIL` where the record is not plain. No walk passes the byte `END`.
"""

from typing import Final

import numpy as np

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import byte_at, set_byte, set_word, word_at
from ratings_core.records.names import MAX_NAME_BYTES
from services.wire.rules import MAX_PLACE, MIN_PLACE
from services.wire.scanning.buffers import PLACE, STARTS, TEXTS, bits, note, put

END: Final = b"\0"
"""Stands after each record, and is no byte of a plain one."""
FAIL: Final = -1
QUOTE, COMMA, OBJECT, OBJECT_END, LIST, LIST_END, ONE = (ord(c) for c in '",{}[]1')

_DIGITS: Final = 18
_EXACT: Final = 1 << 53
_LONGEST_NUMBER: Final = 64
_TENS: Final = 10.0 ** np.arange(_DIGITS + 1)
"""Powers of ten that doubles hold exactly: a whole number below 2**53 divided by one is rounded once, so correctly (Clinger 1990)."""

_TAB, _LINE_FEED, _RETURN, _SPACE = (ord(c) for c in "\t\n\r ")
_BACKSLASH, _SLASH, _COLON, _DOT, _MINUS, _PLUS = (ord(c) for c in "\\/:.-+")
_ZERO, _NINE, _E, _U, _A = (ord(c) for c in "09eua")
_LOWER: Final = 0x20
"""Makes a capital small."""
_DELETE, _ASCII_END, _TWO_BYTES_END = 0x7F, 0x80, 0x800
_SURROGATE: Final = 0xD800 >> 11


@inlined
def past_spaces(at: int) -> int:
    """The first place from `at` on that is no space of JSON."""
    if at >= 0:
        while byte_at(at) <= _SPACE and byte_at(at) in (_SPACE, _LINE_FEED, _RETURN, _TAB):
            at += 1
    return at


@inlined
def member(at: int) -> tuple[int, int]:
    """Where the value of an object's member begins, and the member's name, its bytes as those of one number."""
    at = past_spaces(at)
    if byte_at(at) != QUOTE:
        return FAIL, 0
    at, name = at + 1, 0
    while byte_at(at) != QUOTE:
        if byte_at(at) < _SPACE or name >> 40:  # longer than any
            return FAIL, 0
        name, at = name << 8 | byte_at(at), at + 1
    at = past_spaces(at + 1)
    return (past_spaces(at + 1), name) if byte_at(at) == _COLON else (FAIL, 0)


@kernel
def text(at: int, room: int, kind: int, k: int, i: int) -> int:
    """Copy the name at `at` to the texts of its kind, as number `k`; the place after it."""
    if byte_at(at) != QUOTE:
        return FAIL
    starts = word_at(room + 8 * (STARTS + kind)) + 8 * k
    texts = word_at(room + 8 * (TEXTS + kind))
    at, begin, odd = at + 1, texts + word_at(starts), False
    to = begin
    while byte_at(at) != QUOTE:
        byte = byte_at(at)
        if byte < _SPACE or byte == _DELETE:
            return FAIL
        if byte == _BACKSLASH:
            at, length = _escaped(at + 1, to)
            if at < 0:
                return FAIL
            odd |= length > 1
            to += length
            continue
        odd |= byte >= _ASCII_END
        set_byte(to, byte)
        at, to = at + 1, to + 1
    if to - begin < 1 or to - begin > MAX_NAME_BYTES or byte_at(begin) == _SPACE or byte_at(to - 1) == _SPACE:
        return FAIL
    set_word(starts + 8, to - texts)
    return at + 1 if not odd or note(room, i, kind, begin - texts, to - texts) else FAIL


@kernel
def _escaped(at: int, to: int) -> tuple[int, int]:
    """Write the character whose escape goes on at `at`, in UTF-8; the place after it, and how many bytes it has."""
    if byte_at(at) in (QUOTE, _BACKSLASH, _SLASH):
        set_byte(to, byte_at(at))
        return at + 1, 1
    code = _hexadecimal(at + 1) if byte_at(at) == _U else FAIL
    if code < _SPACE or code == _DELETE or code >> 11 == _SURROGATE:
        return FAIL, 0
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
    """The number that four digits at `at` make, -1 if one of them is not a digit."""
    code = 0
    for k in range(4):
        byte = byte_at(at + k)
        digit = byte - _ZERO if byte <= _NINE else (byte | _LOWER) - _A + 10
        if digit < 0 or digit > 15 or (byte > _NINE and digit < 10):
            return FAIL
        code = code << 4 | digit
    return code


@inlined
def _digits(at: int, value: int) -> tuple[int, int]:
    """The place after the digits at `at`, and `value` with them behind it: a number that means nothing from 19 digits on."""
    while _ZERO <= byte_at(at) <= _NINE:
        value, at = value * 10 + (byte_at(at) - _ZERO), at + 1
    return at, value


@kernel
def place(at: int, room: int, side: int) -> int:
    """Read the place of side `side`: a whole number, not minus zero. The place after it."""
    negative = byte_at(at) == _MINUS
    first = at + negative
    at, value = _digits(first, 0)
    if not 1 <= at - first <= _DIGITS or (byte_at(first) == _ZERO and (negative or at - first > 1)):
        return FAIL
    value = -value if negative else value
    put(room, PLACE, side, value)
    return at if MIN_PLACE <= value <= MAX_PLACE else FAIL


@kernel
def number(at: int, room: int, base: int, column: int, low: float, high: float, what: int, i: int) -> int:
    """Read a number from `low` to `high`, not minus zero, into a column: rounded correctly, or noted as `what`. The place after it."""
    begin, negative = at, byte_at(at) == _MINUS
    first = at + negative
    at, value = _digits(first, 0)
    digits, fraction = at - first, 0
    if digits == 0 or (digits > 1 and byte_at(first) == _ZERO):
        return FAIL
    if byte_at(at) == _DOT:
        point = at + 1
        at, value = _digits(point, value)
        fraction = at - point
        if fraction == 0:
            return FAIL
    if byte_at(at) | _LOWER == _E or digits + fraction > _DIGITS or value >= _EXACT:
        at = _past_exponent(at)
        return at if at - begin <= _LONGEST_NUMBER and note(room, i, what, begin - base, at - base) else FAIL
    if negative and value == 0:
        return FAIL
    number = value / _TENS[fraction]
    number = -number if negative else number
    put(room, column, i, bits(number))
    return at if low <= number <= high else FAIL


@inlined
def _past_exponent(at: int) -> int:
    """The place after an exponent, or `at` if there is no exponent."""
    if byte_at(at) | _LOWER != _E:
        return at
    first = at + 1 + (byte_at(at + 1) in (_PLUS, _MINUS))
    at, _ = _digits(first, 0)
    return at if at > first else FAIL
