"""Reading a range of a topic. A slow log is waited for, up to a deadline for each poll."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from types import MappingProxyType
from typing import Final

from services.log.protocol import LogError, Ranges, Record, Records, Topic
from services.log.records import NO_RECORDS
from services.log.skipping import open_reader

_READ_SECONDS: Final = 10.0
_RECORDS: Final = 5000
_NONE_SKIPPED: Final[Mapping[int, Ranges]] = MappingProxyType({})


def read_parts(topic: Topic, partition: int, begin: int, end: int, skipped: Mapping[int, Ranges] = _NONE_SKIPPED) -> Iterator[Records]:
    """Yield the records from offset `begin` to before `end` in parts. The last part may include some later records.

    Args:
        topic: The topic.
        partition: Number of the partition.
        begin: First offset to read.
        end: Offset to stop at, at most `topic.end(partition)`.
        skipped: Ranges of offsets to omit, by partition.

    Raises:
        LogError: The log cannot be read, or gives no record within 10 seconds.
    """
    if begin >= end:
        return
    with closing(open_reader(topic, {partition: begin}, skipped)) as reader:
        while (position := reader.position(partition)) < end:
            records = reader.poll(_READ_SECONDS, min(_RECORDS, end - position)).get(partition, NO_RECORDS)
            if reader.position(partition) == position:
                raise no_answer(topic, partition, position)
            yield records


def read_range(topic: Topic, partition: int, begin: int, end: int) -> Iterator[Record]:
    """Yield the records from offset `begin` to before `end`. end: at most `topic.end(partition)`. Raises `LogError`."""
    for records in read_parts(topic, partition, begin, end):
        yield from (record for record in records if record.offset < end)


def no_answer(topic: Topic, partition: int, offset: int, seconds: float = _READ_SECONDS) -> LogError:
    """Error for a log that did not return an existing record within `seconds`."""
    return LogError(f"{topic.name}[{partition}] gave no record from offset {offset} within {seconds:g} s", retriable=True)
