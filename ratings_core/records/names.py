"""Rules for the names of agents and tasks and for outcome ids, with checks of single and of many names.

Names are opaque: they are compared byte by byte and never changed. A text that could look like another name is rejected: a text that is not
in Unicode's NFC form, with white space at an end, with control characters, or with characters that reverse the displayed order. The NFC
check uses the Unicode data of the running Python, which must be the same in all processes of an installation.

There are two checks. `check_name` is for readers of the log. It never changes, because it determines digests. `check_visible_name` is for
new entries. It is stricter and also rejects characters that are not displayed.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.checks import instance, sequence
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel

MAX_NAME_BYTES: Final = 256
FIRST_SIDE: Final = "first-side"
"""Name of the feature that is 1 in every game. It measures the advantage of the first side."""

_SEPARATOR: Final = "\n"
_LINE_END: Final = 0x0A
_SPACE: Final = 0x20
_LAST_PRINTABLE: Final = 0x7E
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
INVISIBLE: Final = (
    # Unicode 15.1, DerivedCoreProperties.txt: Default_Ignorable_Code_Point, with all zero-width and bidi format characters.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Line and paragraph separators and interlinear annotation marks, which programs do not display either.
    "\u2028\u2029\ufff9-\ufffb"
)
"""Characters that programs do not display, as the content of a regular-expression set."""
_INVISIBLE: Final = re.compile(f"[{INVISIBLE}]")


def check_name(name: str, argument: str = "name") -> str:
    """Return `name` if it is a valid name. Raises `InputError` with the violated rule.

    The rules: 1 to 256 bytes of UTF-8, in NFC, no white space at either end, no control characters (U+0000 to U+001F, U+007F to
    U+009F), no characters that override the direction of text (U+202A to U+202E, U+2066 to U+2069).
    """
    if (rule := _broken_rule(name)) is not None:
        raise InputError(argument, name, rule)
    return name


def is_name(name: str) -> bool:
    """Whether `check_name` accepts `name`."""
    return _broken_rule(name) is None


def name_rule(name: str) -> str | None:
    """The rule that a name breaks, as a sentence fragment; None for a valid name."""
    return _broken_rule(name)


def check_visible_name(name: str, argument: str = "name") -> str:
    """Return `name` if it is valid in new entries. Raises `InputError` with the violated rule.

    The rules: those of `check_name`, and no characters that are not displayed (`hidden_character`).
    """
    check_name(name, argument)
    if (character := hidden_character(name)) is not None:
        raise InputError(argument, name, invisible_rule(character))
    return name


def hidden_character(text: str) -> str | None:
    """The first character of `text` that programs do not display, or None.

    These are Unicode's default-ignorable code points (zero-width, variation selectors, bidi marks, soft hyphen, fillers and tags), line
    and paragraph separators, and marks of interlinear annotation.
    """
    match = None if instance("text", text, str).isascii() else _INVISIBLE.search(text)
    return None if match is None else match[0]


def invisible_rule(character: str) -> str:
    """Text of the rule against this hidden character in a name."""
    return f"must hold only characters that are displayed: U+{ord(character):04X} is invisible, and the name would look like another one"


def are_names(names: Sequence[str]) -> bool:
    """Whether all `names` are valid. The check is as fast as a memory copy if all are printable ASCII."""
    if not len(sequence("names", names)):
        return True
    try:
        return _are_plain(names) or all(map(_is_known_name, set(names)))
    except TypeError:  # an element is not a text
        return False


def _are_plain(names: Sequence[str]) -> bool:
    joined = _SEPARATOR.join(names)
    return joined.isascii() and _is_plain(np.frombuffer(joined.encode(), np.uint8), len(names))


@kernel
def _is_plain(data: NDArray[np.uint8], names: int) -> bool:
    """Whether `data` is this number of valid names in printable ASCII, with separators between them."""
    texts = length = 0
    for i in range(len(data) + 1):
        if i < len(data) and data[i] != _LINE_END:
            if data[i] < _SPACE or data[i] > _LAST_PRINTABLE:
                return False
            length += 1
            continue
        if not 1 <= length <= MAX_NAME_BYTES or data[i - 1] == _SPACE or data[i - length] == _SPACE:
            return False
        texts, length = texts + 1, 0
    return texts == names


def are_packed_names(names: Arena) -> bool:
    """`are_names` for an arena of UTF-8 texts. Creates Python objects only if a text is not printable ASCII."""
    if not _have_lengths_of_names(names.start):
        return False
    if not _is_printable(names.bytes):
        return all(map(_is_known_name, set(names.names())))
    return not _has_space_at_an_end(names.bytes, names.start)


@kernel
def _have_lengths_of_names(start: NDArray[np.int64]) -> bool:
    wrong = False
    for i in range(len(start) - 1):
        wrong |= bool(np.uint64(start[i + 1] - start[i] - 1) >= np.uint64(MAX_NAME_BYTES))
    return not wrong


@kernel
def _has_space_at_an_end(data: NDArray[np.uint8], start: NDArray[np.int64]) -> bool:
    """Whether a text starts or ends with a space. No text may be empty."""
    spaces = False
    for i in range(len(start) - 1):
        spaces |= (data[start[i]] == _SPACE) | (data[start[i + 1] - 1] == _SPACE)
    return spaces


@kernel
def _is_printable(data: NDArray[np.uint8]) -> bool:
    """Whether all bytes are printable ASCII."""
    odd = False
    for k in range(len(data)):
        odd |= (data[k] < _SPACE) | (data[k] > _LAST_PRINTABLE)
    return not odd


@lru_cache(maxsize=1 << 16)
def _is_known_name(name: str) -> bool:
    return _broken_rule(name) is None


def _broken_rule(name: object) -> str | None:
    if not isinstance(name, str):
        return "must be text"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "must be text that has a UTF-8 form (no lone surrogates)"
    if not 1 <= size <= MAX_NAME_BYTES:
        return f"must be 1 to {MAX_NAME_BYTES} bytes of UTF-8"
    if name != name.strip():
        return "must not start or end with white space"
    if _CONTROL.search(name):
        return "must hold no control characters"
    if _BIDI.search(name):
        return "must hold no characters that override the direction of text"
    if not unicodedata.is_normalized("NFC", name):
        return "must be in Unicode's normal form NFC"
    return None
