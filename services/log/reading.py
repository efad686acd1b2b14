"""All records of a range of a topic, waiting for a log that is slow, but not for ever."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Final

from services.log.protocol import LogError, Record, Topic
from services.log.skipping import Ranges, open_reader

_READ_SECONDS: Final = 10.0
_RECORDS: Final = 5000
_NONE_SKIPPED: Final[Mapping[int, Ranges]] = MappingProxyType({})


def read_parts(
    topic: Topic, partition: int, begin: int, end: int, skipped: Mapping[int, Ranges] = _NONE_SKIPPED
) -> Iterator[Sequence[Record]]:
    """Records from offset `begin` up to offset `end`, which the log has reached, or a little further; not those `skipped`.

    Raises `LogError`.
    """
    if begin >= end:
        return
    with closing(open_reader(topic, {partition: begin}, skipped)) as reader:
        while (position := reader.position(partition)) < end:
            records = reader.poll(_READ_SECONDS, min(_RECORDS, end - position)).get(partition, [])
            if reader.position(partition) == position:
                raise silent(topic, partition, position)
            yield records


def read_range(topic: Topic, partition: int, begin: int, end: int) -> Iterator[Record]:
    """Records from offset `begin` to before `end`, which the log has reached. Raises `LogError`."""
    for records in read_parts(topic, partition, begin, end):
        yield from (record for record in records if record.offset < end)


def silent(topic: Topic, partition: int, offset: int, seconds: float = _READ_SECONDS) -> LogError:
    """The error of a log that has a record and does not give it."""
    return LogError(f"{topic.name}[{partition}] gave no record from offset {offset} within {seconds:g} s", retriable=True)
