"""Dead letters: index entries of what could not be folded, keyed by (generation, partition, offset, item).

Delivered at least once (a refold writes them again); readers deduplicate by the key.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from services.log.protocol import Topic

EXCERPT_BYTES: Final = 4096
_AT_ONCE: Final = 1000


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """One refused record (item -1) or item. path, rule: the field and what it breaks; excerpt: the first 4 KiB of what was refused."""

    generation: int
    partition: int
    offset: int
    item: int
    reason: str
    path: str
    rule: str
    pool: str | None
    excerpt: str

    def edited(self, change: Callable[[bytes], bytes]) -> "DeadLetter":
        """The entry with `change` made to all that repeats what was sent: the path names a score by its agent."""
        path, excerpt = (change(text.encode()).decode() for text in (self.path, self.excerpt))
        return msgspec.structs.replace(self, path=path, excerpt=excerpt)

    @property
    def key(self) -> str:
        """What makes two deliveries of this entry one."""
        return f"{self.generation}/{self.partition}/{self.offset}/{self.item}"


def excerpt(value: bytes) -> str:
    """The first 4 KiB of a record, or of one item, as text; undecodable bytes are shown as escapes."""
    return value[:EXCERPT_BYTES].decode("utf-8", "backslashreplace")


def write(topic: Topic, letters: Sequence[DeadLetter]) -> None:
    """Append the entries, some at a time; returns when all are durable."""
    for start in range(0, len(letters), _AT_ONCE):
        part = letters[start : start + _AT_ONCE]
        topic.append(0, [(letter.key.encode(), msgspec.json.encode(letter)) for letter in part])
