"""Kernels that read JSON values from bytes: names of members, texts and numbers. They return `FAIL` for a value that is not plain.

In the functions, `data` is the memory of all records, and `at` is the index of a byte in it, or `FAIL` if the record is not plain. Every
loop stops at the byte `END` behind the record. Bytes outside of `data` are read as `END`.
"""

from typing import Final

import numpy as np

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.memory import Memory, byte_at, set_byte, set_word, word_at
from ratings_core.records.names import MAX_NAME_BYTES
from services.wire.rules import MAX_PLACE, MIN_PLACE
from services.wire.scanning.buffers import PLACE, STARTS, TEXTS, bits, column, note, put

END: Final = b"\0"
"""The byte after each record. No plain record contains it."""
END_BYTE: Final = 0
FAIL: Final = -1
QUOTE, COMMA, OBJECT, OBJECT_END, LIST, LIST_END, ONE = (ord(c) for c in '",{}[]1')

_DIGITS: Final = 18
_EXACT: Final = 1 << 53
_LONGEST_NUMBER: Final = 64
_TENS: Final = 10.0 ** np.arange(_DIGITS + 1)
"""Powers of ten, exact as doubles. The quotient of an integer below 2**53 and such a power is rounded only once, so correctly (Clinger
1990)."""

_TAB, _LINE_FEED, _RETURN, _SPACE = (ord(c) for c in "\t\n\r ")
BACKSLASH, _SLASH, _COLON, _DOT, _MINUS, _PLUS = (ord(c) for c in "\\/:.-+")
_ZERO, _NINE, _E, _U, _A = (ord(c) for c in "09eua")
_LOWER: Final = 0x20
"""Bit that turns an uppercase ASCII letter into a lowercase one."""
_DELETE, _ASCII_END, _TWO_BYTES_END = 0x7F, 0x80, 0x800
_SURROGATE: Final = 0xD800 >> 11


@inlined
def past_spaces(data: Memory, at: int) -> int:
    """Index of the first byte from `at` on that is not JSON white space."""
    if at >= 0:
        byte = byte_at(data, at)
        while byte <= _SPACE and byte in (_SPACE, _LINE_FEED, _RETURN, _TAB):
            at += 1
            byte = byte_at(data, at)
    return at


@inlined
def member(data: Memory, at: int) -> tuple[int, int]:
    """Read the name of an object's member. Returns the index of its value, and the bytes of the name as one number."""
    at = past_spaces(data, at)
    if byte_at(data, at) != QUOTE:
        return FAIL, 0
    at, name = at + 1, 0
    byte = byte_at(data, at)
    while byte != QUOTE:
        if byte < _SPACE or name >> 40:  # longer than any known name
            return FAIL, 0
        name, at = name << 8 | byte, at + 1
        byte = byte_at(data, at)
    at = past_spaces(data, at + 1)
    return (past_spaces(data, at + 1), name) if byte_at(data, at) == _COLON else (FAIL, 0)


@kernel
def text(data: Memory, at: int, room: Memory, kind: int, k: int, i: int) -> int:
    """Copy the text at `at` to the texts of its kind, as text `k`. A text beyond ASCII is left to Python. Returns the index after it."""
    if byte_at(data, at) != QUOTE:
        return FAIL
    starts, texts = column(room, STARTS + 2 * kind), column(room, TEXTS + 2 * kind)
    at, begin, odd, fits = at + 1, word_at(starts, k), False, True
    to = begin
    while True:
        byte = byte_at(data, at)
        if byte == QUOTE:
            break
        if byte < _SPACE or byte == _DELETE:
            return FAIL
        if byte == BACKSLASH:
            at, length = _escaped(data, at + 1, texts, to)
            if at < 0:
                return FAIL
            odd |= length > 1
            to += length
            continue
        odd |= byte >= _ASCII_END
        fits &= set_byte(texts, to, byte)
        at, to = at + 1, to + 1
    if to - begin < 1 or to - begin > MAX_NAME_BYTES or byte_at(texts, begin) == _SPACE or byte_at(texts, to - 1) == _SPACE:
        return FAIL
    fits &= set_word(starts, k + 1, to)
    return at + 1 if fits and (not odd or note(room, i, kind, begin, to)) else FAIL


@kernel
def _escaped(data: Memory, at: int, texts: Memory, to: int) -> tuple[int, int]:
    """Decode an escaped character and write it in UTF-8 to `texts`. at: index after the backslash; to: index in `texts`.

    Returns:
        The index after the escape, and the number of bytes written.
    """
    if byte_at(data, at) in (QUOTE, BACKSLASH, _SLASH):
        return (at + 1, 1) if set_byte(texts, to, byte_at(data, at)) else (FAIL, 0)
    code = _hexadecimal(data, at + 1) if byte_at(data, at) == _U else FAIL
    if code < _SPACE or code == _DELETE or code >> 11 == _SURROGATE:
        return FAIL, 0
    if code < _ASCII_END:
        return (at + 5, 1) if set_byte(texts, to, code) else (FAIL, 0)
    fits = set_byte(texts, to, 0xC0 | code >> 6 if code < _TWO_BYTES_END else 0xE0 | code >> 12)
    if code < _TWO_BYTES_END:
        return (at + 5, 2) if fits & set_byte(texts, to + 1, 0x80 | code & 0x3F) else (FAIL, 0)
    fits &= set_byte(texts, to + 1, 0x80 | code >> 6 & 0x3F)
    return (at + 5, 3) if fits & set_byte(texts, to + 2, 0x80 | code & 0x3F) else (FAIL, 0)


@kernel
def _hexadecimal(data: Memory, at: int) -> int:
    """Value of the four hexadecimal digits at `at`; -1 if one of the bytes is not a hexadecimal digit."""
    code = 0
    for k in range(4):
        byte = byte_at(data, at + k)
        digit = byte - _ZERO if byte <= _NINE else (byte | _LOWER) - _A + 10
        if digit < 0 or digit > 15 or (byte > _NINE and digit < 10):
            return FAIL
        code = code << 4 | digit
    return code


@inlined
def _digits(data: Memory, at: int, value: int) -> tuple[int, int]:
    """Read the digits at `at`. Returns the index after them, and `value` with these digits appended; it can overflow from 19 digits on."""
    byte = byte_at(data, at)
    while _ZERO <= byte <= _NINE:
        value, at = value * 10 + (byte - _ZERO), at + 1
        byte = byte_at(data, at)
    return at, value


@kernel
def place(data: Memory, at: int, room: Memory, side: int) -> int:
    """Read the place of side `side`, an integer other than minus zero. Returns the index after it."""
    negative = byte_at(data, at) == _MINUS
    first = at + negative
    at, value = _digits(data, first, 0)
    if not 1 <= at - first <= _DIGITS or (byte_at(data, first) == _ZERO and (negative or at - first > 1)):
        return FAIL
    value = -value if negative else value
    put(room, PLACE, side, value)
    return at if MIN_PLACE <= value <= MAX_PLACE else FAIL


@kernel
def number(data: Memory, at: int, room: Memory, name: int, low: float, high: float, what: int, i: int) -> int:
    """Read a number from `low` to `high`, other than minus zero, into column `name`. Returns the index after it.

    A number that one division does not round correctly is left to Python as `what`: one with an exponent, with more than 18 digits, or with
    digits that make 2**53 or more.
    """
    begin, negative = at, byte_at(data, at) == _MINUS
    first = at + negative
    at, value = _digits(data, first, 0)
    digits, fraction = at - first, 0
    if digits == 0 or (digits > 1 and byte_at(data, first) == _ZERO):
        return FAIL
    if byte_at(data, at) == _DOT:
        point = at + 1
        at, value = _digits(data, point, value)
        fraction = at - point
        if fraction == 0:
            return FAIL
    if byte_at(data, at) | _LOWER == _E or digits + fraction > _DIGITS or value >= _EXACT:
        at = _past_exponent(data, at)
        return at if at - begin <= _LONGEST_NUMBER and note(room, i, what, begin, at) else FAIL
    if negative and value == 0:
        return FAIL
    number = value / _TENS[fraction]
    number = -number if negative else number
    put(room, name, i, bits(number))
    return at if low <= number <= high else FAIL


@inlined
def _past_exponent(data: Memory, at: int) -> int:
    """Index after the exponent at `at`; `at` if there is no exponent. `FAIL` if its digits are missing."""
    if byte_at(data, at) | _LOWER != _E:
        return at
    first = at + 1 + (byte_at(data, at + 1) in (_PLUS, _MINUS))
    at, _ = _digits(data, first, 0)
    return at if at > first else FAIL
