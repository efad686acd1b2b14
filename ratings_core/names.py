"""What may be called an agent, a task or an outcome id: the rules of text that names obey, one at a time and many at once.

Names are opaque: they are compared byte by byte and never rewritten. A text that would look like another one (not in Unicode's
NFC form, spaces at an end, invisible control characters, characters that reverse the order of what is shown) is refused.
Normalisation is judged by the Unicode data of the running Python, which all processes of an installation share.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ratings_core.errors import InputError

MAX_NAME_BYTES: Final = 256

_SEPARATOR: Final = "\n"
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")


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


def are_names(names: Sequence[str]) -> bool:
    """Whether every one of `names` is a name: at the speed of a memory copy where all are plain (printable ASCII)."""
    return not names or _are_plain(names) or all(map(_is_known_name, set(names)))


def _are_plain(names: Sequence[str]) -> bool:
    joined = _SEPARATOR.join(names)
    return (
        joined.isascii()
        and joined.count(_SEPARATOR) == len(names) - 1
        and joined.replace(_SEPARATOR, "").isprintable()
        and not _has_bad_end(joined)
        and max(map(len, names)) <= MAX_NAME_BYTES
    )


def _has_bad_end(joined: str) -> bool:
    """Whether one of the names is empty or has a space at an end."""
    framed = f"{_SEPARATOR}{joined}{_SEPARATOR}"
    return "\n\n" in framed or (" " in joined and ("\n " in framed or " \n" in framed))


@lru_cache(maxsize=1 << 16)
def _is_known_name(name: str) -> bool:
    return _broken_rule(name) is None


def _broken_rule(name: str) -> str | None:
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
