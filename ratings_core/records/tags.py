"""Tags of an outcome: a few short texts by key, such as language=English, by which outcomes are divided into slices.

A set of tags has one canonical text: the JSON object with sorted keys and without spaces. So equal sets have equal bytes.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.names import name_rule
from ratings_core.records.tag_keys import MAX_TAG_BYTES, TAG_KEY

MAX_TAGS: Final = 8
"""Largest number of tags of an outcome."""
_KEY: Final = re.compile(TAG_KEY)
_KEPT_BYTES: Final = 1 << 11
"""Longest JSON text whose canonical text is kept. Spaces and invalid texts can make a text as long as a record, and many of these would
fill the memory; the canonical text itself has at most some 1,400 bytes."""
_decoder: msgspec.json.Decoder[dict[str, str]] = msgspec.json.Decoder(dict[str, str])


class BrokenTag(NamedTuple):
    """The rule that a set of tags breaks. key: the key of the tag; None for a rule on the complete set."""

    key: str | None
    rule: str


def key_rule(key: str) -> str | None:
    """The rule that the key of a tag breaks; None for a valid key."""
    return None if _KEY.fullmatch(key) else "must have a key of 1 to 32 lowercase letters, digits, _ and -, with a letter first"


def value_rule(value: object) -> str | None:
    """The rule that the value of a tag breaks; None for a valid value. The rules are those of names, with at most 64 bytes."""
    if not isinstance(value, str):
        return "must be text"
    if (rule := name_rule(value)) is None and len(value.encode()) <= MAX_TAG_BYTES:
        return None
    return rule if value and rule is not None and "bytes" not in rule else f"must be 1 to {MAX_TAG_BYTES} bytes of UTF-8"


def broken_tag(tags: object) -> BrokenTag | None:
    """The first rule that a set of tags breaks; None for a valid set, which can be empty."""
    if not isinstance(tags, Mapping):
        return BrokenTag(None, "must be an object of texts by key")
    for key, value in tags.items():
        if (rule := key_rule(key)) is not None or (rule := value_rule(value)) is not None:
            return BrokenTag(key, rule)
    if len(tags) > MAX_TAGS:
        return BrokenTag(None, f"must hold at most {MAX_TAGS} tags, not {len(tags)}")
    return None


def canonical_tags(tags: Mapping[str, str]) -> str:
    """The canonical text of a valid set of tags; empty for an empty set."""
    return msgspec.json.encode(dict(tags), order="sorted").decode() if tags else ""


def canonical_text(text: bytes) -> str | None:
    """The canonical text of the tags in a JSON text; None for invalid JSON and broken rules. If a key repeats, its last value counts."""
    return _kept_text(text) if len(text) <= _KEPT_BYTES else _canonical_text(text)


def _canonical_text(text: bytes) -> str | None:
    try:
        tags = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return canonical_tags(tags) if broken_tag(tags) is None else None


_kept_text: Final = lru_cache(maxsize=1 << 14)(_canonical_text)


@lru_cache(maxsize=1 << 14)
def _parsed(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_decoder.decode(text).items()) if text else ()


def tags_of(text: str) -> dict[str, str]:
    """The tags of a canonical text. Raises `InputError` for another text."""
    try:
        return dict(_parsed(text))
    except msgspec.DecodeError as error:
        raise InputError("tags", text, "must be the JSON of tags") from error


def tag_of(text: str, key: str) -> str | None:
    """The value of a tag in a canonical text; None without this tag."""
    return dict[str, Any](_parsed(text)).get(key)
