"""A topic with a damaged batch. Its first records may be readable."""

import pytest

from services.log.protocol import BatchDamaged, Reader, Records, Topic
from services.log.records import TopicRecords


class _Reader:
    """Reader of a topic with a damaged batch.

    batch: partition, first offset of the batch, its first unreadable offset, and the offset after it.
    """

    def __init__(self, reader: Reader, batch: tuple[int, int, int, int], positions: dict[int, int]) -> None:
        self._reader, self._batch, self._at = reader, batch, dict(positions)
        self.close = reader.close

    def position(self, partition: int) -> int:
        return self._at[partition]

    def poll(self, timeout: float, max_records: int) -> dict[int, Records]:
        home, base, begin, end = self._batch
        if begin <= self._at.get(home, end) < end:
            raise BatchDamaged("outcomes", home, self._at[home], end, "its checksum does not match", base)
        found = self._reader.poll(timeout, max_records)
        sound = TopicRecords(one for one in found.get(home, []) if one.offset < begin or self._at[home] >= end)
        left: dict[int, Records] = {number: sound if number == home else records for number, records in found.items()}
        self._at.update({number: records[-1].offset + 1 for number, records in left.items() if len(records)})
        return {number: records for number, records in left.items() if len(records)}


def damage(topic: Topic, monkeypatch: pytest.MonkeyPatch, batch: tuple[int, int, int, int]) -> None:
    """Give a topic a damaged batch from now on.

    batch: partition, first offset of the batch, its first unreadable offset, and the offset after it.
    """
    reader = topic.reader
    monkeypatch.setattr(topic, "reader", lambda positions: _Reader(reader(positions), batch, positions))
