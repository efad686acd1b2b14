"""What may be called an agent, a task or an outcome id: the rules of text that names obey, one at a time and many at once.

Names are opaque: they are compared byte by byte and never rewritten. A text that would look like another one (not in Unicode's
NFC form, spaces at an end, invisible control characters, characters that reverse the order of what is shown) is refused.
Normalization is judged by the Unicode data of the running Python, which all processes of an installation share.

There are two rules. `check_name` decides what the log's readers accept; it never changes, because it decides digests. `check_visible_name`
is stricter: it decides what may newly be written, and refuses characters that are not displayed.
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
"""Name of the feature that is 1 in every game: the advantage of the side that is named first."""

_SEPARATOR: Final = "\n"
_LINE_END: Final = 0x0A
_SPACE: Final = 0x20
_LAST_PRINTABLE: Final = 0x7E
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
INVISIBLE: Final = (
    # Unicode 15.1, DerivedCoreProperties.txt: Default_Ignorable_Code_Point. It holds all zero-width and bidi format characters.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Line and paragraph separator, and interlinear annotation, which programs do not display either.
    "\u2028\u2029\ufff9-\ufffb"
)
"""Characters that programs do not display, as a set of a regular expression."""
_INVISIBLE: Final = re.compile(f"[{INVISIBLE}]")


def check_name(name: str, argument: str = "name") -> str:
    """`name` itself where it is a name; raises `InputError` that names the rule it breaks.

    The rules: 1 to 256 bytes of UTF-8, in NFC, no white space at either end, no control characters (U+0000 to U+001F, U+007F to
    U+009F), no characters that override the direction of text (U+202A to U+202E, U+2066 to U+2069).
    """
    if (rule := _broken_rule(name)) is not None:
        raise InputError(argument, name, rule)
    return name


def is_name(name: str) -> bool:
    """Whether `check_name` accepts `name`."""
    return _broken_rule(name) is None


def check_visible_name(name: str, argument: str = "name") -> str:
    """`name` itself if it may newly be written; raises `InputError` with the rule it breaks.

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
    found = None if instance("text", text, str).isascii() else _INVISIBLE.search(text)
    return None if found is None else found[0]


def invisible_rule(character: str) -> str:
    """The rule that a name with this hidden character breaks, in words."""
    return f"must hold only characters that are displayed: U+{ord(character):04X} is invisible, and the name would look like another one"


def are_names(names: Sequence[str]) -> bool:
    """Whether every one of `names` is a name: at the speed of a memory copy where all are plain (printable ASCII)."""
    if not len(sequence("names", names)):
        return True
    try:
        return _are_plain(names) or all(map(_is_known_name, set(names)))
    except TypeError:  # one is no text
        return False


def _are_plain(names: Sequence[str]) -> bool:
    joined = _SEPARATOR.join(names)
    return joined.isascii() and _is_plain(np.frombuffer(joined.encode(), np.uint8), len(names))


@kernel
def _is_plain(data: NDArray[np.uint8], names: int) -> bool:
    """Whether `data` is that many texts of printable ASCII with separators between, each of a name's length, no space at an end."""
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
    """As `are_names`, of texts in UTF-8. Texts become Python objects only where one is not printable ASCII."""
    if not _have_lengths_of_names(names.start):
        return False
    if not _is_printable(names.bytes):
        return all(map(_is_known_name, set(names.names())))
    return not _has_space_at_an_end(names.bytes, names.start)


@kernel
def _have_lengths_of_names(start: NDArray[np.int64]) -> bool:
    wrong = np.uint8(0)
    for i in range(len(start) - 1):
        wrong |= np.uint8(np.uint64(start[i + 1] - start[i] - 1) >= np.uint64(MAX_NAME_BYTES))
    return bool(wrong == 0)


@kernel
def _has_space_at_an_end(data: NDArray[np.uint8], start: NDArray[np.int64]) -> bool:
    """Whether one of the texts, none of which is empty, starts or ends with a space."""
    spaces = np.uint8(0)
    for i in range(len(start) - 1):
        spaces |= np.uint8(data[start[i]] == _SPACE) | np.uint8(data[start[i + 1] - 1] == _SPACE)
    return bool(spaces != 0)


@kernel
def _is_printable(data: NDArray[np.uint8]) -> bool:
    """Whether all bytes are printable ASCII."""
    odd = np.uint8(0)
    for k in range(len(data)):
        odd |= np.uint8(data[k] < _SPACE) | np.uint8(data[k] > _LAST_PRINTABLE)
    return bool(odd == 0)


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
