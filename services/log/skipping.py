"""Reading a topic without the records that an operator gave up: the same for every fold, at any time.

Every fold of outcomes opens its reader here. Skipped records are part of what a fold means, so that a restart, a new generation and
`verify` leave out the same ones.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from services.log.protocol import BatchDamaged, Reader, Record, Topic

Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Offsets from the first of each to before the second."""


@runtime_checkable
class LeavesOut(Protocol):
    """Records that are kept in another form than one by one, and stay in it."""

    def without(self, ranges: Ranges) -> Sequence[Record]:
        """The records whose offsets are in none of `ranges`."""


def beyond(ranges: Ranges, offset: int) -> int:
    """The first offset from `offset` on that is in none of `ranges`."""
    for begin, end in sorted(ranges):
        if begin <= offset < end:
            offset = end
    return offset


def open_reader(topic: Topic, positions: Mapping[int, int], skipped: Mapping[int, Ranges]) -> Reader:
    """A reader of `topic` from `positions` that passes over the records `skipped` by partition. Raises `LogError`.

    It begins behind those that are skipped, which the topic may have forgotten.
    """
    positions = {partition: beyond(skipped.get(partition, ()), position) for partition, position in positions.items()}
    concerned = {
        partition: ranges
        for partition, position in positions.items()
        if (ranges := [one for one in skipped.get(partition, ()) if one[1] > position])
    }
    return SkippingReader(topic, positions, concerned) if concerned else topic.reader(positions)


class SkippingReader:
    """A reader that leaves out records, and goes on behind a damaged batch that is left out."""

    def __init__(self, topic: Topic, positions: Mapping[int, int], skipped: Mapping[int, Ranges]) -> None:
        self._topic, self._skipped = topic, skipped
        self._partitions = list(positions)
        self._reader = topic.reader(positions)

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Sequence[Record]]:
        """See `Reader.poll`."""
        try:
            batches = self._reader.poll(timeout, max_records)
        except BatchDamaged as error:
            self._pass_over(error)
            return {}
        left = {partition: self._left(partition, records) for partition, records in batches.items()}
        return {partition: records for partition, records in left.items() if records}

    def position(self, partition: int) -> int:
        """See `Reader.position`."""
        return self._reader.position(partition)

    def close(self) -> None:
        """See `Reader.close`."""
        self._reader.close()

    def _left(self, partition: int, records: Sequence[Record]) -> Sequence[Record]:
        first, last = records[0].offset, records[-1].offset
        ranges = [one for one in self._skipped.get(partition, ()) if one[0] <= last and one[1] > first]
        if ranges and isinstance(records, LeavesOut):
            return records.without(ranges)
        return [record for record in records if not any(begin <= record.offset < end for begin, end in ranges)] if ranges else records

    def _pass_over(self, error: BatchDamaged) -> None:
        """Go on behind a batch that is skipped. Raises `error` where it is not."""
        end = beyond(self._skipped.get(error.partition, ()), error.begin)
        if end == error.begin:
            raise error
        positions = {partition: self._reader.position(partition) for partition in self._partitions}
        positions[error.partition] = end
        self._reader.close()
        self._reader = self._topic.reader(positions)
