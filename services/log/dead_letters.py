"""Dead letters: entries for refused records and outcomes, with the key (generation, partition, offset, item).

A dead letter is delivered at least once, because folding a record again writes it again. Readers deduplicate by the key.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeAlias

import msgspec

from ratings_core.errors import InputError
from services.log.protocol import LogError, Record, RecordTooLarge, Topic
from services.wire.bulk.recognition import STREAM_START

EXCERPT_BYTES: Final = 4096
_AT_ONCE: Final = 1000
_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)
_CUT_KEY: Final = re.compile(r'"(?:[^"\\]|\\.)*?(?:…|\\u2026)"')
"""A key in a path that `services.wire.rules.member_path` shortened."""
_Position: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 2)]


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """The entry for a refused record or outcome.

    Attributes:
        generation: Number of the generation that refused it.
        item: Index of the outcome in the record; -1 for the complete record.
        path: The field in the sender's JSON.
        rule: The rule that the field breaks.
        excerpt: The first 4 KiB of the record or outcome.
    """

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
        """Copy of the entry in which `change` is applied to the sender's texts: the excerpt, and the path, which can name an agent.

        A shortened text can end within a name, and `change` does not recognize half a name. So a shortened excerpt is cut after its last
        quote, the excerpt of an Arrow stream is reduced to the stream's first bytes, and a shortened key is removed from the path.
        """
        path, excerpt = (change(text.encode()).decode() for text in (_CUT_KEY.sub('"…"', self.path), self.excerpt))
        if len(self.excerpt.encode()) >= EXCERPT_BYTES:
            excerpt = _to_last_quote(excerpt)
        if excerpt.startswith(_STREAM):
            excerpt = _STREAM
        return msgspec.structs.replace(self, path=path, excerpt=excerpt)

    @property
    def key(self) -> str:
        """Key for deduplication: equal for all deliveries of the same entry."""
        return f"{self.generation}/{self.partition}/{self.offset}/{self.item}"


class LettersRefused(LogError):  # noqa: N818 - names the fact, as the operator reads it
    """The log refuses a partition's dead letters, for example because a letter is too large or the topic may not be written.

    The partition must stop without another checkpoint, because the letters would be lost. It keeps them, and continues when the log takes
    them; a restarted shard folds the records again.

    Attributes:
        permanent: Whether the log will never take the letters as it is set up now, so that they are not tried again.
    """

    def __init__(self, partition: int, letters: int, cause: LogError) -> None:
        self.permanent = isinstance(cause, RecordTooLarge)
        kept = "it is tried again until the log takes them"
        remedy = "then restart the shard, which folds these records again" if self.permanent else kept
        super().__init__(f"{letters} dead letters of partition {partition} cannot be written: {cause}; {remedy}", retriable=False)


def excerpt(value: bytes) -> str:
    """The first 4 KiB of a record or outcome as text. Bytes that are not UTF-8 are written as escapes."""
    return value[:EXCERPT_BYTES].decode("utf-8", "backslashreplace")


_STREAM: Final = excerpt(STREAM_START)
_decoder: Final = msgspec.json.Decoder(DeadLetter)


def decode(record: Record) -> DeadLetter:
    """Decode an entry from a record of the dead-letter topic. Raises `InputError` for an invalid record."""
    try:
        return _decoder.decode(record.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"dead letter at offset {record.offset}", record.value, f"must be an entry of this version ({error})") from error


def write(topic: Topic, letters: Sequence[DeadLetter]) -> None:
    """Append entries in batches. Returns when all are durable."""
    for start in range(0, len(letters), _AT_ONCE):
        part = letters[start : start + _AT_ONCE]
        topic.append(0, [(letter.key.encode(), msgspec.json.encode(letter)) for letter in part])


def _to_last_quote(text: str) -> str:
    ends = [match.end() for match in _QUOTE.finditer(text) if match[0] == '"']
    return text[: ends[-1]] if ends else text
