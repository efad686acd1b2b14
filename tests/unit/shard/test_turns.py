"""Partitions of a shard take turns with their checkpoints: folding pauses for one large one at a time, and none is left out."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.worker import ShardWorker

PARTITIONS = 3


class Checkpoints:
    """Of one partition: how often they were looked after, and how often one began, which takes `seconds`."""

    def __init__(self, clock: list[float]) -> None:
        self.due, self.seconds, self.looked, self.began = True, 0.03, 0, 0
        self._clock = clock

    def step(self, *_: object) -> bool:
        self.looked += 1
        self.began += self.due
        self._clock[0] += self.seconds * self.due
        return self.due


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[ShardWorker]:
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    store: Any = SimpleNamespace(pools=list)  # nothing is published
    yield ShardWorker(Settings(data=tmp_path), range(PARTITIONS), "shard", log, store)
    log.close()


@pytest.fixture
def kept(worker: ShardWorker, monkeypatch: pytest.MonkeyPatch) -> list[Checkpoints]:
    clock = [0.0]
    monkeypatch.setattr("services.shard.worker.time.perf_counter", lambda: clock[0])
    found = [Checkpoints(clock) for _ in range(PARTITIONS)]
    owned: Any = {i: SimpleNamespace(stopped=None, checkpointer=one, partition=None) for i, one in enumerate(found)}
    worker._owned = owned
    return found


def test_a_large_one_begins_alone_and_each_has_its_turn_though_all_are_always_due(worker: ShardWorker, kept: list[Checkpoints]) -> None:
    for rounds in range(1, 10):
        worker._checkpoint(0.0)
        assert sum(one.began for one in kept) == rounds
    assert [one.began for one in kept] == [3, 3, 3]


def test_small_ones_begin_together(worker: ShardWorker, kept: list[Checkpoints]) -> None:
    for one in kept:
        one.seconds = 0.004
    for _ in range(3):
        worker._checkpoint(0.0)
    assert [one.began for one in kept] == [3, 3, 3], "three of them take as long as one may"


def test_those_that_are_not_due_are_all_looked_after_in_a_round(worker: ShardWorker, kept: list[Checkpoints]) -> None:
    for one in kept:
        one.due = False
    worker._checkpoint(0.0)
    assert [one.looked for one in kept] == [1, 1, 1]


def test_a_partition_that_stopped_takes_no_turn(worker: ShardWorker, kept: list[Checkpoints]) -> None:
    worker._owned[1].stopped = "its log is gone"
    for _ in range(4):
        worker._checkpoint(0.0)
    assert [one.began for one in kept] == [2, 0, 2]
