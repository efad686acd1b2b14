"""Lifecycles of partitions, pools and generations: every status is reached, and random events never leave the table."""

import random
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

import pytest

from services.archive.history import ArchiveFails
from services.control.lifecycles import (
    GENERATION_LIFECYCLE,
    PARTITION_LIFECYCLE,
    POOL_LIFECYCLE,
    GenerationStatus,
    PartitionEvent,
    PartitionStatus,
    PoolStatus,
)
from services.control.records import FoldSettings, Generation, PoolCreated
from services.log.dead_letters import LettersRefused
from services.log.protocol import BatchDamaged, LogError, OffsetLost, RecordTooLarge, TopicReplaced
from services.runtime.lifecycle import Lifecycle, UndefinedTransition
from services.shard.generations.build import Build
from services.shard.owned import OwnedPartitions
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.restarts import Isolated
from services.wire.pools import Kind
from tests.support.pools import state_of

NOTHING: Any = SimpleNamespace(withdraw=lambda: None)
ERRORS = (
    OffsetLost("topic", 0, 3, 5, 9),
    BatchDamaged("topic", 0, 3, 5, "damaged"),
    Isolated(0, 3),
    TopicReplaced("topic", "a", "b"),
    LogError("cannot be read", retriable=False),
    ArchiveFails(0, "no answer", retriable=True),
    LogError("no answer", retriable=True),
    LettersRefused(0, 1, LogError("the topic may not be written", retriable=False)),
    LettersRefused(0, 1, RecordTooLarge("the letter is too large")),
)


@pytest.mark.parametrize("lifecycle", [PARTITION_LIFECYCLE, POOL_LIFECYCLE, GENERATION_LIFECYCLE], ids=lambda one: one.name)
def test_every_status_is_reached_from_the_first_one(lifecycle: Lifecycle[Any, Any]) -> None:
    reached, before = {lifecycle.start}, set[StrEnum]()
    while reached != before:
        before = set(reached)
        reached |= {following for (status, _), following in lifecycle.table.items() if status in before}
    assert reached == set(type(lifecycle.start))


@pytest.mark.parametrize("seed", range(10))
def test_partitions_that_stop_for_random_errors_meet_no_undefined_transition(seed: int) -> None:
    draw, owned, met = random.Random(seed), OwnedPartitions(), set[PartitionStatus]()
    for number in range(3):
        owned.runtimes[number] = PartitionRuntime(Partition(number, 3), 1, NOTHING, NOTHING, NOTHING, even_at=0.0)
    for _ in range(100):
        owned.stop(draw.randrange(3), draw.choice(ERRORS))
        for runtime in owned.all():
            met.add(runtime.status)
            assert (runtime.status is PartitionStatus.RUNNING) == (runtime.stopped is None)
            if runtime.stopped is not None and draw.random() < 0.3:
                if runtime.status in {PartitionStatus.LOG_REPLACED, PartitionStatus.UNREADABLE}:
                    with pytest.raises(UndefinedTransition):
                        runtime.go_on()
                    runtime.status, runtime.stopped = PARTITION_LIFECYCLE.start, None  # another start of the shard
                else:
                    retried = (runtime.status, PartitionEvent.RETRY) in PARTITION_LIFECYCLE.table
                    runtime.go_on(PartitionEvent.RETRY if retried else PartitionEvent.DECIDE)
    assert met == set(PartitionStatus)


def test_a_pool_that_broke_stays_broken() -> None:
    state = state_of()
    assert state.status is PoolStatus.FOLDING
    state.stop("as its settings say", 3)
    assert (state.status, state.folded_to(9)) == (PoolStatus.STOPPED, 3)
    state.stop("an error", 5, broken=True)
    state.stop("again", 7)
    assert (state.status, state.broken) == (PoolStatus.BROKEN, True)


def test_a_generation_switches_once_it_was_folded_and_never_after_a_failure() -> None:
    made = PoolCreated(pool="p", kind=Kind.GAMES, time=0.0)
    generation = Generation(pool="p", number=2, start=0, time=0.0, fold=FoldSettings(), retraction_horizon=4)
    build = Build(made, generation)
    assert build.status is GenerationStatus.SCANNING
    with pytest.raises(ValueError, match="has not caught up"):
        build.switch(build.position)
    build.reached(4)
    assert build.status is GenerationStatus.FOLDING
    build.switch(build.position)
    assert build.status is GenerationStatus.SERVING
    other = Build(made, generation)
    other.fail("as a test")
    assert other.status is GenerationStatus.FAILED
