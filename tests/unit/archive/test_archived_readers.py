"""The readers of a shard whose topic forgot records: each partition is read where its next records are, and none waits for another."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from services.archive.follow import follow
from services.archive.history import History
from services.control.log import ControlLog
from services.log.protocol import Log, LogError, OffsetLost
from services.log.sqlite.file import table_of
from services.log.sqlite.log import open_sqlite_log
from services.shard.readers import LogReaders
from tests.support.archive import mixed
from tests.support.worker import until

VALUES = [(None, record.value) for record in mixed(5, 40)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A log of two partitions with 40 records each; those of partition 1 below offset 20 are in the archive only."""
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 2)) as log:
        for partition in range(2):
            log.outcomes.append(partition, VALUES)
        follow(log.outcomes, {}, str(tmp_path / "archive"), 1, 30)
        with closing(sqlite3.connect(tmp_path / "log.sqlite")) as file, file:
            file.execute(f'DELETE FROM {table_of("outcomes", 1)} WHERE "offset" < 20')  # noqa: S608
            file.execute('UPDATE heads SET "begin" = 20 WHERE topic = \'outcomes\' AND "partition" = 1')
        log.archived = History(log.outcomes, str(tmp_path / "archive"))
        yield log


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


def test_records_that_the_archive_does_not_have_either_are_lost(log: Log, tmp_path: Path) -> None:
    log.archived = History(log.outcomes, str(tmp_path / "none"))
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
