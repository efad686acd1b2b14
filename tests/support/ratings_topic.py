"""The ratings topic: one in memory, the table that a consumer folds, and the table that the boards give."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from kafka import KafkaConsumer, TopicPartition

from services.log.protocol import LogError, Record, TopicReplaced
from services.log.records import TopicRecords

Table: TypeAlias = dict[bytes, Any]
"""Key -> value of the last record."""


def folded(records: Iterable[tuple[bytes | None, bytes | None]]) -> Table:
    """What a consumer's table contains after these records."""
    table: Table = {}
    for key, value in records:
        assert key is not None
        if value:
            table[key] = msgspec.json.decode(value)
        else:
            table.pop(key, None)
    return table


def read_table(bootstrap: str, topic: str, partitions: int) -> Table:
    """The table of a plain consumer that reads all committed records."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", enable_auto_commit=False, auto_offset_reset="earliest"
    )
    wheres = [TopicPartition(topic, number) for number in range(partitions)]
    try:
        consumer.assign(wheres)
        ends = consumer.end_offsets(wheres)
        records = list[tuple[bytes | None, bytes | None]]()
        while any(consumer.position(where) < ends[where] for where in wheres):
            for batch in consumer.poll(timeout_ms=500).values():
                records += [(record.key, record.value) for record in batch]
    finally:
        consumer.close()
    return folded(records)


def online(table: Table, pool: str, method: str) -> dict[str, float]:
    """Agent -> rating by an online method."""
    rows = [row for row in table.values() if row["type"] == "ratings" and row["pool"] == pool]
    return {row["agent"]: row["ratings"][method]["rating"] for row in rows}


def solved(table: Table, pool: str, method: str) -> dict[str, float | None]:
    """Agent -> rating by a solved method."""
    rows = [row for row in table.values() if row["type"] == "solved" and (row["pool"], row["method"]) == (pool, method)]
    return {row["agent"]: row["rating"] for row in rows}


def solved_head(table: Table, pool: str, method: str) -> Mapping[str, Any]:
    """Head of a solved board; empty without one."""
    return dict(table.get(msgspec.json.encode([pool, None, method]), {}))


def head(table: Table, pool: str) -> Mapping[str, Any]:
    """Head of a pool's online ratings; empty without one."""
    return dict(table.get(msgspec.json.encode([pool]), {}))


class MemoryTopic:
    """A ratings topic in memory.

    Attributes:
        records: Written records of each partition.
        epochs: Number of claims of each partition.
        fails: Called before each claim and write; it can raise the error of a broker.
        fails_to_write: The same, before each write only.
        identity: The topic that the last claim found.
        present: The present topic.
    """

    name = "ratings"

    def __init__(self, partitions: int = 1) -> None:
        self.partitions, self.identity, self.present = partitions, "1", 1
        self.records: list[list[tuple[bytes, bytes | None]]] = [[] for _ in range(partitions)]
        self.epochs = [0] * partitions
        self.fails: Callable[[], None] = lambda: None
        self.fails_to_write: Callable[[], None] = lambda: None

    def fenced_writer(self, partition: int) -> "MemoryWriter":
        return MemoryWriter(self, partition)

    def replace(self) -> None:
        """Replace the topic by an empty one."""
        self.present += 1
        self.records = [[] for _ in range(self.partitions)]

    def begin(self, _partition: int) -> int:
        return 0

    def end(self, partition: int) -> int:
        return len(self.records[partition])

    def reader(self, positions: Mapping[int, int]) -> "MemoryReader":
        ((partition, position),) = positions.items()
        return MemoryReader(self.records[partition], partition, position)

    def table(self) -> Table:
        return folded(record for records in self.records for record in records)


class MemoryWriter:
    """A writer of a partition in memory."""

    def __init__(self, topic: MemoryTopic, partition: int) -> None:
        self._topic, self._partition, self._epoch = topic, partition, 0

    def claim(self) -> None:
        self._topic.fails()
        self._topic.epochs[self._partition] += 1
        self._epoch, self._topic.identity = self._topic.epochs[self._partition], str(self._topic.present)

    def write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        self._topic.fails()
        self._topic.fails_to_write()
        if self._epoch != self._topic.epochs[self._partition]:
            raise LogError("fenced", retriable=False)
        self._topic.records[self._partition] += records
        if self._topic.identity != str(self._topic.present):
            raise TopicReplaced("ratings", self._topic.identity, str(self._topic.present))

    def close(self) -> None:
        return


class MemoryReader:
    """A reader of one partition in memory."""

    def __init__(self, records: Sequence[tuple[bytes, bytes | None]], partition: int, position: int) -> None:
        self._records, self._partition, self._position = list(records), partition, position

    def poll(self, _timeout: float, max_records: int) -> Mapping[int, TopicRecords]:
        first = self._position
        part = self._records[first : first + max_records]
        self._position += len(part)
        return {self._partition: TopicRecords([Record(first + i, value or b"", 0.0, key) for i, (key, value) in enumerate(part)])}

    def position(self, _partition: int) -> int:
        return self._position

    def close(self) -> None:
        return
