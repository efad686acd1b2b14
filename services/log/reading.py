"""All records of a range of a topic, as tools read them."""

from collections.abc import Iterator
from typing import Final

from services.log.protocol import LogError, Record, Topic

_READ_SECONDS: Final = 10.0
_RECORDS: Final = 1000


def read_range(topic: Topic, partition: int, begin: int, end: int) -> Iterator[Record]:
    """Records from offset `begin` to before `end`, which the log has reached. Raises `LogError`."""
    if begin >= end:
        return
    reader = topic.reader({partition: begin})
    try:
        position = begin
        while position < end:
            records = reader.poll(_READ_SECONDS, min(_RECORDS, end - position)).get(partition, [])
            if reader.position(partition) == position:
                raise LogError(f"{topic.name}[{partition}] gave no record from offset {position}", retriable=True)
            yield from (record for record in records if record.offset < end)
            position = reader.position(partition)
    finally:
        reader.close()
