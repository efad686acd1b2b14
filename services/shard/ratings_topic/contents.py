"""What one partition of the ratings topic contains, read once after the partition was claimed."""

import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec

from ratings_core.records.roster import Roster
from services.boards.rating_records import RatingsHead, SolvedHead, decode_key, decode_record
from services.log.protocol import FencedTopic, LogError, Record

_SILENCE_SECONDS: Final = 30.0
"""Seconds without a new record after which a read fails."""
_RECORDS: Final = 10_000


@dataclass(slots=True)
class BoardContents:
    """The records of one board.

    Attributes:
        head: The last head; None without one, and if its state is not that of the log.
        names: Agents that can have a row, also those of writes that were cut off. It can contain agents whose row was removed.
        unfinished: Whether rows may follow the last head, because a write was cut off.
    """

    head: RatingsHead | SolvedHead | None = None
    names: list[Roster] = field(default_factory=lambda: [Roster()])
    unfinished: bool = False

    def finish(self, head: RatingsHead | SolvedHead | None, names: Roster) -> None:
        """Note that a head and the rows of these agents were written, and all other rows removed."""
        self.head, self.names, self.unfinished = head, [names], False


TopicContents: TypeAlias = defaultdict[str, defaultdict[str | None, BoardContents]]
"""Contents by pool, then by solved method, or None for online ratings."""


def no_contents() -> TopicContents:
    """The contents of an empty partition."""
    return defaultdict(lambda: defaultdict(BoardContents))


def read_contents(topic: FencedTopic, partition: int) -> TopicContents:
    """Read a partition from its begin to its end. Records of other forms are ignored. Raises `LogError`.

    The partition must have been claimed after the last write, so that all writes are visible and no earlier writer changes it any more.
    """
    contents = no_contents()
    begin, end = topic.begin(partition), topic.end(partition)
    if begin >= end:
        return contents
    with closing(topic.reader({partition: begin})) as reader:
        read_at, position = time.monotonic(), begin
        while position < end:
            _apply(contents, reader.poll(1.0, _RECORDS).get(partition, ()))
            if (reached := reader.position(partition)) > position:
                read_at, position = time.monotonic(), reached
            elif time.monotonic() > read_at + _SILENCE_SECONDS:
                raise LogError(f"{topic.name}[{partition}] could not be read from {position} to {end}", retriable=True)
    return contents


def _apply(contents: TopicContents, records: Iterable[Record]) -> None:
    """Apply records in order. Names are added to rosters together, because one at a time takes most of the time of a read."""
    names: defaultdict[tuple[str, str | None], list[str]] = defaultdict(list)
    for record in records:
        if (key := decode_key(record.key)) is None:
            continue
        pool, agent, method = key
        board = contents[pool][method]
        if agent is None:
            board.head, board.unfinished = _head(record.value), False
            continue
        board.unfinished = True
        if record.value:
            names[pool, method].append(agent)
    for (pool, method), agents in names.items():
        contents[pool][method].names[0].intern(agents)


def _head(value: bytes) -> RatingsHead | SolvedHead | None:
    """The head in a value; None for a removal, and for a head of another version of the schema, as if there were none."""
    try:
        head = decode_record(value) if value else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return head if isinstance(head, RatingsHead | SolvedHead) else None
