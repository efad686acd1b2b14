"""Reading a topic without the records that an operator decided to skip.

Every fold of outcomes opens its reader here. So a restart, a new generation and `verify` all omit the same records.
"""

from collections.abc import Mapping

from services.log.protocol import BatchDamaged, Ranges, Reader, Records, Topic


def beyond(ranges: Ranges, offset: int) -> int:
    """The first offset from `offset` on that is outside of all `ranges`."""
    for begin, end in sorted(ranges):
        if begin <= offset < end:
            offset = end
    return offset


def open_reader(topic: Topic, positions: Mapping[int, int], skipped: Mapping[int, Ranges]) -> Reader:
    """Open a reader that omits skipped records. If a position is in a skipped range, reading starts after the range.

    This start also avoids `OffsetLost` for skipped records that the topic has forgotten.

    Args:
        topic: The topic.
        positions: First offset to read, by partition.
        skipped: Ranges of offsets to omit, by partition.

    Raises:
        LogError: The log cannot be read.
    """
    positions = {partition: beyond(skipped.get(partition, ()), position) for partition, position in positions.items()}
    concerned = {
        partition: ranges
        for partition, position in positions.items()
        if (ranges := [span for span in skipped.get(partition, ()) if span[1] > position])
    }
    return SkippingReader(topic, positions, concerned) if concerned else topic.reader(positions)


class SkippingReader:
    """A reader that omits skipped records. After a damaged batch in a skipped range, it continues behind the range."""

    def __init__(self, topic: Topic, positions: Mapping[int, int], skipped: Mapping[int, Ranges]) -> None:
        self._topic, self._skipped = topic, skipped
        self._partitions = list(positions)
        self._reader = topic.reader(positions)

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        """See `Reader.poll`."""
        try:
            batches = self._reader.poll(timeout, max_records)
        except BatchDamaged as error:
            self._pass_over(error)
            return {}
        left = {partition: self._drop_skipped(partition, records) for partition, records in batches.items()}
        return {partition: records for partition, records in left.items() if len(records)}

    def position(self, partition: int) -> int:
        """See `Reader.position`."""
        return self._reader.position(partition)

    def close(self) -> None:
        """See `Reader.close`."""
        self._reader.close()

    def _drop_skipped(self, partition: int, records: Records) -> Records:
        first, last = records.offset[0], records.offset[-1]
        ranges = [span for span in self._skipped.get(partition, ()) if span[0] <= last and span[1] > first]
        return records.without(ranges) if ranges else records

    def _pass_over(self, error: BatchDamaged) -> None:
        """Continue behind the skipped range that includes the damaged records. Raises `error` if no skipped range includes them."""
        end = beyond(self._skipped.get(error.partition, ()), error.begin)
        if end == error.begin:
            raise error
        positions = {partition: self._reader.position(partition) for partition in self._partitions}
        positions[error.partition] = end
        self._reader.close()
        self._reader = self._topic.reader(positions)
