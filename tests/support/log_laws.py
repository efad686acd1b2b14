"""Laws of `services.log.protocol`, as test functions of a backend. Tests run all functions in `LAWS` on every backend."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pytest

from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Log, LogError, OffsetLost, Record, Topic
from services.log.records import MAX_RECORD_BYTES
from services.log.sqlite.log import open_sqlite_log
from tests.support.waiting import PATIENCE

PARTITIONS = 3


class Backend(Protocol):
    """A log that can be opened several times, as by several processes."""

    def open(self, partitions: int = PARTITIONS) -> Log: ...
    def close(self) -> None: ...


class _Opened:
    def __init__(self) -> None:
        self._logs: list[Log] = []

    def keep(self, log: Log) -> Log:
        self._logs.append(log)
        return log

    def close(self) -> None:
        for log in self._logs:
            log.close()


class SqliteBackend(_Opened):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "log.sqlite"

    def open(self, partitions: int = PARTITIONS) -> Log:
        return self.keep(open_sqlite_log(self.path, partitions))


class KafkaBackend(_Opened):
    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self.bootstrap = bootstrap
        self.prefix = f"t{uuid4().hex[:12]}."

    def open(
        self, partitions: int = PARTITIONS, *, options: Mapping[str, object] | None = None, timeout: float = PATIENCE, **settings: Any
    ) -> Log:
        connection = Connection(self.bootstrap, options, timeout)
        return self.keep(open_kafka_log(connection, partitions, topic_prefix=self.prefix, **settings))


def values(records: Iterable[Record]) -> list[bytes]:
    return [record.value for record in records]


def read(topic: Topic, positions: dict[int, int], count: int, max_records: int = 500) -> dict[int, list[Record]]:
    """Read `count` records of a topic, or fewer if they do not arrive within `PATIENCE` seconds. positions: partition -> first offset."""
    found: dict[int, list[Record]] = {partition: [] for partition in positions}
    reader = topic.reader(positions)
    deadline = time.monotonic() + PATIENCE
    try:
        while sum(map(len, found.values())) < count and time.monotonic() < deadline:
            batches = reader.poll(0.2, max_records)
            assert sum(map(len, batches.values())) <= max_records
            for partition, records in batches.items():
                assert records, "a partition without records is left out"
                found[partition] += records
        return found
    finally:
        reader.close()


def appended_records_are_readable_at_their_offsets(backend: Backend) -> None:
    topic = backend.open().outcomes
    before = time.time()
    first = topic.append(1, [(b"k", b"a"), (None, b"b"), (b"", b"")])
    second = topic.append(1, [(b"k", b"a")])
    records = read(topic, {1: 0}, 4)[1]
    assert [record.offset for record in records] == first + second
    assert [(record.key, record.value) for record in records] == [(b"k", b"a"), (None, b"b"), (b"", b""), (b"k", b"a")]
    assert all(before - 2 <= record.time <= time.time() + 2 for record in records)


def offsets_increase_strictly_in_the_order_given(backend: Backend) -> None:
    topic = backend.open().outcomes
    offsets = [offset for size in (1, 700, 1, 2500) for offset in topic.append(0, [(b"k", b"%d" % index) for index in range(size)])]
    assert all(earlier < later for earlier, later in pairwise(offsets))
    assert [record.offset for record in read(topic, {0: 0}, len(offsets))[0]] == offsets


def reading_again_gives_the_same_bytes(backend: Backend) -> None:
    topic = backend.open().outcomes
    topic.append(2, [(b"k%d" % index, bytes([index]) * index) for index in range(200)])
    once = read(topic, {2: 0}, 200)
    topic.append(2, [(b"k1", b"later")])
    assert read(topic, {2: 0}, 200, 200)[2][:200] == once[2]
    assert read(backend.open().outcomes, {2: 0}, 201, 7)[2][:200] == once[2]


def a_reader_starts_where_it_is_told(backend: Backend) -> None:
    topic = backend.open().outcomes
    offsets = topic.append(0, [(None, b"%d" % index) for index in range(50)])
    assert values(read(topic, {0: offsets[20]}, 30)[0]) == [b"%d" % index for index in range(20, 50)]


def a_reader_tells_how_far_it_is(backend: Backend) -> None:
    topic = backend.open().outcomes
    offsets = topic.append(0, [(None, b"%d" % index) for index in range(50)])
    reader = topic.reader({0: offsets[20], 1: topic.begin(1)})
    try:
        assert (reader.position(0), reader.position(1)) == (offsets[20], topic.begin(1))
        deadline = time.monotonic() + PATIENCE
        while reader.position(0) < topic.end(0) and time.monotonic() < deadline:
            records = reader.poll(0.2, 7).get(0, [])
            assert not records or reader.position(0) > records[-1].offset
        assert (reader.position(0), reader.position(1)) == (topic.end(0), topic.end(1))
    finally:
        reader.close()


def each_partition_comes_in_order_and_once(backend: Backend) -> None:
    topic = backend.open().outcomes
    for index in range(90):
        topic.append(index % PARTITIONS, [(b"k", b"%d" % index)])
    for max_records in (1, 7, 1000):
        found = read(topic, dict.fromkeys(range(PARTITIONS), 0), 90, max_records)
        assert {partition: values(records) for partition, records in found.items()} == {
            partition: [b"%d" % index for index in range(partition, 90, PARTITIONS)] for partition in range(PARTITIONS)
        }


def a_reader_sees_only_its_partitions(backend: Backend) -> None:
    topic = backend.open().outcomes
    topic.append(0, [(None, b"mine")])
    topic.append(1, [(None, b"not mine")])
    reader = topic.reader({0: 0})
    try:
        assert values(reader.poll(PATIENCE, 10)[0]) == [b"mine"]
        assert reader.poll(0.3, 10) == {}
    finally:
        reader.close()


def begin_and_end_enclose_what_is_readable(backend: Backend) -> None:
    topic = backend.open().outcomes
    assert topic.begin(0) == topic.end(0)
    offsets = topic.append(0, [(None, b"x")] * 5)
    assert topic.begin(0) <= offsets[0]
    assert offsets[-1] < topic.end(0)
    assert topic.begin(1) == topic.end(1)


def a_position_outside_the_log_is_lost_not_skipped(backend: Backend) -> None:
    topic = backend.open().outcomes
    topic.append(0, [(None, b"x")] * 5)
    for position in (-1, topic.end(0) + 1, topic.end(0) + 1000):
        with pytest.raises(OffsetLost) as caught:
            _poll_until_found(topic, position)
        error = caught.value
        assert (error.topic, error.partition, error.offset) == (topic.name, 0, position)
        assert (error.begin, error.end) == (topic.begin(0), topic.end(0))
        assert not error.retriable


def _poll_until_found(topic: Topic, position: int) -> None:
    reader = topic.reader({0: position})
    try:
        for _ in range(20):
            assert reader.poll(0.5, 10) == {}
    finally:
        reader.close()


def a_reader_at_the_end_waits_and_wakes(backend: Backend) -> None:
    topic, writer = backend.open().outcomes, backend.open().outcomes
    reader = topic.reader({0: topic.end(0)})
    try:
        start = time.monotonic()
        assert reader.poll(0.3, 10) == {}
        assert time.monotonic() - start >= 0.25
        thread = threading.Timer(0.1, writer.append, (0, [(None, b"new")]))
        thread.start()
        assert values(reader.poll(3600.0, 10)[0]) == [b"new"], "long before the time is over"
        thread.join()
    finally:
        reader.close()


def threads_and_handles_may_append_at_once(backend: Backend) -> None:
    topics = [backend.open().outcomes, backend.open().outcomes]
    given: dict[bytes, int] = {}

    def work(worker: int) -> None:
        for index in range(40):
            value = b"%d:%d" % (worker, index)
            (given[value],) = topics[worker % 2].append(0, [(None, value)])

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = read(topics[0], {0: 0}, 240)[0]
    assert {record.value: record.offset for record in records} == given
    assert len(records) == 240
    for worker in range(6):
        mine = [given[b"%d:%d" % (worker, index)] for index in range(40)]
        assert mine == sorted(mine)


def large_records_pass_and_too_large_ones_are_refused(backend: Backend) -> None:
    topic = backend.open().outcomes
    large = [bytes([65 + index]) * (1_048_576 - index) for index in range(3)]
    topic.append(0, [(b"pool", value) for value in large])
    (longest,) = topic.append(0, [(b"k", b"z" * (MAX_RECORD_BYTES - 1))])
    found = read(topic, {0: 0}, 4)[0]
    assert values(found)[:3] == large
    assert found[3].offset == longest
    with pytest.raises(LogError, match="more than") as caught:
        topic.append(0, [(None, b"z" * (MAX_RECORD_BYTES + 1))])
    assert not caught.value.retriable
    assert topic.end(0) == longest + 1


def what_no_log_keeps_is_refused(backend: Backend) -> None:
    log = backend.open()
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: log.outcomes.append(PARTITIONS, [(None, b"x")]), "no partition 3"),
        (lambda: log.outcomes.append(-1, [(None, b"x")]), "no partition -1"),
        (lambda: log.outcomes.append(0, [(None, "text")]), "bytes"),  # type: ignore[list-item]
        (lambda: log.outcomes.append(0, [("text", b"x")]), "bytes"),  # type: ignore[list-item]
        (lambda: log.control.append(0, [(None, b"x")]), "has no key"),
        (lambda: log.outcomes.reader({}), "at least one partition"),
        (lambda: log.outcomes.reader({PARTITIONS: 0}), "no partition 3"),
        (lambda: log.outcomes.begin(PARTITIONS), "no partition 3"),
        (lambda: log.outcomes.end(-1), "no partition -1"),
    ]
    for call, message in wrong:
        with pytest.raises(LogError, match=message) as caught:
            call()
        assert not caught.value.retriable
    assert log.outcomes.append(0, []) == []


def a_closed_reader_says_so(backend: Backend) -> None:
    reader = backend.open().outcomes.reader({0: 0})
    with pytest.raises(LogError, match="max_records"):
        reader.poll(0.1, 0)
    reader.close()
    reader.close()
    with pytest.raises(LogError, match="closed"):
        reader.poll(0.1, 10)


def topics_are_apart_and_named(backend: Backend) -> None:
    log, again = backend.open(), backend.open()
    topics = (log.outcomes, log.control, log.dead_letters)
    assert [topic.partitions for topic in topics] == [PARTITIONS, 1, 1]
    assert [topic.name.partition(".")[2] for topic in topics] == ["outcomes", "control", "dead-letters"]
    assert len({topic.identity for topic in topics}) == 3
    assert [topic.identity for topic in (again.outcomes, again.control, again.dead_letters)] == [topic.identity for topic in topics]
    for topic in topics:
        topic.append(0, [(b"k", topic.name.encode())])
    for topic in topics:
        assert values(read(topic, {0: 0}, 1)[0]) == [topic.name.encode()]


def another_number_of_partitions_is_refused(backend: Backend) -> None:
    backend.open()
    for partitions in (PARTITIONS + 1, 1):
        with pytest.raises(LogError, match=f"has {PARTITIONS} partitions, not {partitions}") as caught:
            backend.open(partitions)
        assert not caught.value.retriable
    with pytest.raises(LogError, match="1 to 10000"):
        backend.open(0)


LAWS: list[Callable[[Backend], None]] = [
    appended_records_are_readable_at_their_offsets,
    offsets_increase_strictly_in_the_order_given,
    reading_again_gives_the_same_bytes,
    a_reader_starts_where_it_is_told,
    a_reader_tells_how_far_it_is,
    each_partition_comes_in_order_and_once,
    a_reader_sees_only_its_partitions,
    begin_and_end_enclose_what_is_readable,
    a_position_outside_the_log_is_lost_not_skipped,
    a_reader_at_the_end_waits_and_wakes,
    threads_and_handles_may_append_at_once,
    large_records_pass_and_too_large_ones_are_refused,
    what_no_log_keeps_is_refused,
    a_closed_reader_says_so,
    topics_are_apart_and_named,
    another_number_of_partitions_is_refused,
]
