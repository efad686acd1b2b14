"""A shard whose disk is full: what it cannot write waits, and is there once when there is room."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from services.demo import simulated
from services.log.protocol import Log, LogError, Topic
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.disk import fill, mounted
from tests.support.worker import HOME, PARTITIONS, differences, play, published, until, working


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", 4 << 20) as folder:
        yield folder


class _Tried:
    """A topic that counts the calls of `append`."""

    def __init__(self, topic: Topic) -> None:
        self._topic, self.tries = topic, 0

    def append(self, *arguments: Any) -> Any:
        self.tries += 1
        return self._topic.append(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._topic, name)


def append_for_ever(log: Log, partition: int) -> None:
    while True:
        log.outcomes.append(partition, [(None, os.urandom(100_000))])


def test_dead_letters_wait_for_room_and_each_is_there_once(settings: Settings, disk: Path) -> None:
    settings.data.mkdir()
    whole, full = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS), open_sqlite_log(disk / "log.sqlite", PARTITIONS)
    letters = _Tried(full.dead_letters)
    log = replace(whole, dead_letters=cast("Topic", letters))
    play(log, 0, 100)
    play(full, 0, 10)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 100, "100 outcomes published")
        ballast = fill(disk)
        with pytest.raises(LogError, match="the disk is full"):
            append_for_ever(full, 0)
        log.outcomes.append(HOME, [(simulated.POOL.encode(), b"nonsense")])
        play(log, 100, 200)
        until(lambda: letters.tries > 1, "its letter is tried again")
        assert full.dead_letters.end(0) == 0
        ballast.unlink()
        until(lambda: published(settings) == 200, "folding goes on")
        assert sum(worker.health().dead_letters.values()) == 1
    assert differences(settings, log) == []
    with closing(full.dead_letters.reader({0: 0})) as reader:
        [letter] = reader.poll(5.0, 10)[0]
    assert msgspec.json.decode(letter.value)["excerpt"] == "nonsense"
    whole.close()
    full.close()


def test_a_shard_that_begins_on_a_full_disk_takes_over_once_there_is_room(settings: Settings, disk: Path) -> None:
    """Its takeover is a record of the log; what was accepted before is folded then."""
    settings = settings.model_copy(update={"data": disk})
    log = open_sqlite_log(disk / "log.sqlite", PARTITIONS)
    play(log, 0, 100)
    ballast = fill(disk)
    with pytest.raises(LogError, match="the disk is full"):
        append_for_ever(log, (HOME + 1) % PARTITIONS)
    end = log.control.end(0)
    with working(settings, log) as worker:
        until(lambda: bool(fill(disk)) and log.control.end(0) == end, "nothing is written")
        assert worker.health().partitions == []
        ballast.unlink()
        until(lambda: published(settings) == 100, "it took over and folded")
    log.close()


def test_a_log_that_is_opened_on_a_full_disk_says_that_it_is_full(disk: Path) -> None:
    """SQLite itself speaks of an I/O error then: it cannot make the memory that its connections share."""
    log = open_sqlite_log(disk / "log.sqlite", PARTITIONS)
    ballast = fill(disk)
    with pytest.raises(LogError, match="the disk is full") as told:
        play(log, 0, 10)
    assert told.value.retriable
    ballast.unlink()
    play(log, 0, 10)
    assert log.outcomes.end(HOME) == 1
    log.close()
