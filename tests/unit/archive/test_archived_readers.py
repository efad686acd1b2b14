"""The readers of a shard whose topic forgot records: each partition is read where its next records are, and none waits for another."""

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.archive.follow import follow
from services.archive.history import ArchivedTopic
from services.control.log import ControlLog
from services.control.records import Skipped
from services.log.protocol import Log, LogError, OffsetLost, Reader, Records
from services.log.sqlite.file import table_of
from services.log.sqlite.log import open_sqlite_log
from services.shard.feed import LogFeed
from services.shard.figures import ShardFigures
from services.shard.owned import OwnedPartitions
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.readers import ForgottenRecords, LogReaders, Poll
from services.shard.restarts import RestartCounter
from tests.support.archive import mixed
from tests.support.waiting import until

NOTHING: Any = SimpleNamespace()
VALUES = [(None, record.value) for record in mixed(5, 40)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A log of two partitions with 40 records each; those of partition 1 below offset 20 are in the archive only."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 2)) as log:
        for partition in range(2):
            log.outcomes.append(partition, VALUES)
        follow(log.outcomes, {}, str(tmp_path / "archive"), 1, 30)
        forget(tmp_path, 1, 20)
        log.archived = ArchivedTopic(log.outcomes, str(tmp_path / "archive"))
        yield log


def forget(folder: Path, partition: int, offset: int) -> None:
    """Delete the records of a partition below `offset`, as a retention does."""
    with closing(sqlite3.connect(folder / "log.sqlite")) as file, file:
        file.execute(f'DELETE FROM {table_of("outcomes", partition)} WHERE "offset" < ?', (offset,))  # noqa: S608
        file.execute('UPDATE heads SET "begin" = ? WHERE topic = \'outcomes\' AND "partition" = ?', (offset, partition))


def test_a_partition_that_does_not_answer_delays_no_other(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def begin(partition: int) -> int:
        asked.append(partition)
        raise LogError("the partition has no leader", retriable=True)

    monkeypatch.setattr(log.outcomes, "begin", begin)
    with closing(ControlLog(log.control)) as control:
        readers = LogReaders(log, control, 1000, threading.Event())
        assert len(readers.poll(1.0, {0: 0, 1: 20}).records[0]) == 40
        readers.close()
    assert asked == []


def test_forgotten_records_are_read_from_the_archive_and_the_others_from_the_topic(log: Log) -> None:
    reached, offsets, turned = {0: 0, 1: 0}, dict[int, list[int]](), list[bool]()
    with closing(ControlLog(log.control)) as control:
        readers = LogReaders(log, control, 7, threading.Event())

        def polled() -> bool:
            try:
                poll = readers.poll(0.01, reached)
            except OffsetLost as error:
                turned.append(readers.turn_to_archive(error))
                readers.close()
                return False
            for number, records in poll.records.items():
                offsets.setdefault(number, []).extend(record.offset for record in records)
            reached.update(poll.passed)
            return reached == {0: 40, 1: 40}

        until(polled, "all records were read")
        readers.close()
    assert turned == [True]
    assert offsets == {0: list(range(40)), 1: list(range(40))}


def test_a_partition_whose_next_records_are_archived_is_not_unreadable(log: Log) -> None:
    """Another partition of the reader fails, and each one is read alone."""
    with closing(ControlLog(log.control)) as control:
        readers = LogReaders(log, control, 7, threading.Event())
        assert [readers.unreadable(number, 5) for number in range(2)] == [None, None]
        log.archived = None
        error = LogReaders(log, control, 7, threading.Event()).unreadable(1, 5)
        assert isinstance(error, OffsetLost)


class Refused(LogReaders):
    """Readers of a log that refuses every poll, without a word on the partition."""

    def poll(self, seconds: float, positions: Mapping[int, int]) -> Poll:
        raise LogError("refused", retriable=False)


def test_a_partition_is_probed_behind_offsets_that_have_no_record(log: Log, tmp_path: Path) -> None:
    """Nothing is lost if the topic forgot these offsets."""
    log.archived = None
    with closing(ControlLog(log.control)) as control:
        owned = OwnedPartitions()
        runtime = PartitionRuntime(Partition(1, 2, 15), 1, NOTHING, NOTHING, RestartCounter(1, 1, control), even_at=0.0, passed=20)
        owned.runtimes[1] = runtime
        feed = LogFeed(Refused(log, control, 7, threading.Event()), owned, threading.Event(), lambda: 0.0, ShardFigures())
        with pytest.raises(LogError, match="refused"):
            feed.poll(0.01)
    assert runtime.stopped is None


class Failing:
    """A reader without an answer. It notes that it was closed."""

    closed = False

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        raise LogError("no broker leads it", retriable=True)

    def position(self, partition: int) -> int:
        return 0

    def close(self) -> None:
        self.closed = True


def test_the_reader_of_forgotten_records_is_closed_after_an_error() -> None:
    reader = Failing()
    forgotten = ForgottenRecords(1, 0, 20, lambda: reader, 7)
    with pytest.raises(LogError, match="no broker leads it"):
        until(lambda: bool(forgotten.take()), "an error")
    assert reader.closed


class Counted(ArchivedTopic):
    """Counts its readers."""

    readers = 0

    def reader(self, positions: Mapping[int, int]) -> Reader:
        self.readers += 1
        return super().reader(positions)


@pytest.mark.parametrize("gap", [(25, 30), (35, 40)])
def test_offsets_without_a_record_at_the_end_of_the_archive_are_passed_once(log: Log, tmp_path: Path, gap: tuple[int, int]) -> None:
    """An operator skipped the last offsets of the archive, and the topic begins among them: the fold's position stays before them."""
    url = str(tmp_path / "with-gap")
    follow(log.outcomes, {0: [gap]}, url, 0, gap[1])
    forget(tmp_path, 0, gap[1] - 2)
    history = log.archived = Counted(log.outcomes, url)
    with closing(ControlLog(log.control)) as control:
        control.append(Skipped(partition=0, begin=gap[0], end=gap[1], time=0.0))
        control.refresh()
        partition, owned, offsets = Partition(0, 2), OwnedPartitions(), list[int]()
        runtime = PartitionRuntime(partition, 1, NOTHING, NOTHING, RestartCounter(0, 1, control), even_at=0.0)
        owned.runtimes[0] = runtime
        feed = LogFeed(LogReaders(log, control, 7, threading.Event()), owned, threading.Event(), lambda: 0.0, ShardFigures())

        def polled() -> bool:
            if (poll := feed.poll(0.01)) is not None:
                for record in poll.records.get(0, ()):
                    offsets.append(record.offset)
                    partition.position = record.offset + 1
                runtime.pass_to(poll.passed[0])
            return runtime.passed == 40

        until(polled, "all records were read")
        for _ in range(20):
            assert polled()
        feed.close()
    assert offsets == [one for one in range(40) if not gap[0] <= one < gap[1]]
    assert history.readers == 1


def test_records_that_the_archive_does_not_have_either_are_lost(log: Log, tmp_path: Path) -> None:
    log.archived = ArchivedTopic(log.outcomes, str(tmp_path / "none"))
    with closing(ControlLog(log.control)) as control:
        readers = LogReaders(log, control, 7, threading.Event())
        with pytest.raises(OffsetLost) as lost:
            readers.poll(0.01, {1: 5})
        assert readers.turn_to_archive(lost.value)
        readers.close()
        with pytest.raises(OffsetLost) as lost:
            until(lambda: bool(readers.poll(0.01, {1: 5}).records), "an error")
        assert not readers.turn_to_archive(lost.value)
        readers.close()
