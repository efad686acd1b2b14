"""Partitions of a shard take turns with their checkpoints: folding pauses for one large one at a time, and none is left out."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.shard.checkpointing.turns import CheckpointTurns
from services.shard.owned import OwnedPartitions

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
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Checkpoints]:
    clock = [0.0]
    monkeypatch.setattr("services.shard.checkpointing.turns.time.perf_counter", lambda: clock[0])
    return [Checkpoints(clock) for _ in range(PARTITIONS)]


@pytest.fixture
def owned(kept: list[Checkpoints]) -> OwnedPartitions:
    owned, runtimes = OwnedPartitions(), {i: SimpleNamespace(stopped=None, checkpointer=one, partition=None) for i, one in enumerate(kept)}
    owned.runtimes.update(cast("dict[int, Any]", runtimes))
    return owned


@pytest.fixture
def turns(owned: OwnedPartitions) -> CheckpointTurns:
    return CheckpointTurns(owned, range(PARTITIONS), 1.0, float("inf"))


def test_a_large_one_begins_alone_and_each_has_its_turn_though_all_are_always_due(turns: CheckpointTurns, kept: list[Checkpoints]) -> None:
    for rounds in range(1, 10):
        turns.step(0.0)
        assert sum(one.began for one in kept) == rounds
    assert [one.began for one in kept] == [3, 3, 3]


def test_small_ones_begin_together(turns: CheckpointTurns, kept: list[Checkpoints]) -> None:
    for one in kept:
        one.seconds = 0.004
    for _ in range(3):
        turns.step(0.0)
    assert [one.began for one in kept] == [3, 3, 3], "three of them take as long as one may"


def test_those_that_are_not_due_are_all_looked_after_in_a_round(turns: CheckpointTurns, kept: list[Checkpoints]) -> None:
    for one in kept:
        one.due = False
    turns.step(0.0)
    assert [one.looked for one in kept] == [1, 1, 1]


def test_a_partition_that_stopped_takes_no_turn(turns: CheckpointTurns, owned: OwnedPartitions, kept: list[Checkpoints]) -> None:
    owned.runtimes[1].stopped = "its log is gone"
    for _ in range(4):
        turns.step(0.0)
    assert [one.began for one in kept] == [2, 0, 2]
