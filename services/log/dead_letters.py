"""Dead letters: index entries of what could not be folded, keyed by (generation, partition, offset, item).

Delivered at least once (a refold writes them again); readers deduplicate by the key.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeAlias

import msgspec

from ratings_core.errors import InputError
from services.log.protocol import Record, Topic
from services.wire.bulk.recognition import STREAM_START

EXCERPT_BYTES: Final = 4096
_AT_ONCE: Final = 1000
_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)
_CUT_KEY: Final = re.compile(r'"(?:[^"\\]|\\.)*?(?:…|\\u2026)"')
"""A member of a path whose name was too long for it (`services.wire.rules.member_path`)."""
_Position: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 2)]


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """One refused record (item -1) or item. path, rule: the field and what it breaks; excerpt: the first 4 KiB of what was refused."""

    generation: _Position
    partition: _Position
    offset: _Position
    item: Annotated[int, msgspec.Meta(ge=-1, lt=2**31)]
    reason: str
    path: str
    rule: str
    pool: str | None
    excerpt: str

    def edited(self, change: Callable[[bytes], bytes]) -> "DeadLetter":
        """The entry with `change` made to all that repeats what was sent: the path names a score by its agent.

        What was cut off may end with half of a name, which `change` does not know. So a cut excerpt ends with its last quote, the excerpt
        of an Arrow stream with the mark of one, and a cut key of the path is left out.
        """
        path, excerpt = (change(text.encode()).decode() for text in (_CUT_KEY.sub('"…"', self.path), self.excerpt))
        if len(self.excerpt.encode()) >= EXCERPT_BYTES:
            excerpt = _to_last_quote(excerpt)
        if excerpt.startswith(_STREAM):
            excerpt = _STREAM
        return msgspec.structs.replace(self, path=path, excerpt=excerpt)

    @property
    def key(self) -> str:
        """What makes two deliveries of this entry one."""
        return f"{self.generation}/{self.partition}/{self.offset}/{self.item}"


def excerpt(value: bytes) -> str:
    """The first 4 KiB of a record, or of one item, as text; undecodable bytes are shown as escapes."""
    return value[:EXCERPT_BYTES].decode("utf-8", "backslashreplace")


_STREAM: Final = excerpt(STREAM_START)
_decoder: Final = msgspec.json.Decoder(DeadLetter)


def decode(record: Record) -> DeadLetter:
    """The entry that a record of the topic holds. Raises `InputError` for a damaged one."""
    try:
        return _decoder.decode(record.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"dead letter at offset {record.offset}", record.value, f"must be an entry of this version ({error})") from error


def write(topic: Topic, letters: Sequence[DeadLetter]) -> None:
    """Append the entries, some at a time; returns when all are durable."""
    for start in range(0, len(letters), _AT_ONCE):
        part = letters[start : start + _AT_ONCE]
        topic.append(0, [(letter.key.encode(), msgspec.json.encode(letter)) for letter in part])


def _to_last_quote(text: str) -> str:
    ends = [found.end() for found in _QUOTE.finditer(text) if found[0] == '"']
    return text[: ends[-1]] if ends else text
