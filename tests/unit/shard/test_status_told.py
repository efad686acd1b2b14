"""Status and generations of partitions, as the engine tells them."""

from typing import Any, cast

import msgspec
import pytest

from services.control.lifecycles import PartitionEvent, PartitionStatus
from services.engine.metrics import EngineMetrics
from services.log.protocol import BatchDamaged, OffsetLost
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.restarts import Isolated, RestartCounter
from tests.support.health import health_of
from tests.support.pools import state_of


class NoCheckpoint:
    """Of a partition before its first checkpoint."""

    newest = None


def owned(number: int) -> PartitionRuntime:
    restarts = RestartCounter(number, 1, cast("Any", None))
    return PartitionRuntime(Partition(number, 4), 1, cast("Any", NoCheckpoint()), cast("Any", None), restarts, even_at=0.0)


def told(name: str, *runtimes: PartitionRuntime) -> dict[tuple[str, ...], float]:
    """The samples of a metric by their labels."""
    metrics = EngineMetrics(None)
    partitions = [runtime.health(0.0, 0.0) for runtime in runtimes]
    metrics.shards([msgspec.structs.replace(health_of("shard-0/machine/1"), partitions=partitions)], 1)
    samples = [sample for family in metrics.collect() for sample in family.samples if sample.name == name]
    return {tuple(sample.labels.values()): sample.value for sample in samples}


def test_each_partition_has_the_status_that_it_is_in() -> None:
    running, lost, damaged, isolated = map(owned, range(4))
    lost.stop(OffsetLost("outcomes", 1, 5, 10, 20))
    damaged.stop(BatchDamaged("outcomes", 2, 5, 8, "its checksum does not match"))
    isolated.stop(Isolated(3, 7))
    assert told("equirank_partition_status", running, lost, damaged, isolated) == {
        ("0", PartitionStatus.RUNNING.value): 1.0,
        ("1", PartitionStatus.RECORDS_LOST.value): 1.0,
        ("2", PartitionStatus.DAMAGED.value): 1.0,
        ("3", PartitionStatus.ISOLATED.value): 1.0,
    }


def test_a_partition_that_goes_on_runs_again() -> None:
    one = owned(3)
    one.stop(Isolated(3, 7))
    one.go_on(PartitionEvent.DECIDE)
    assert told("equirank_partition_status", one) == {("3", "running"): 1.0}


def building(number: int, positions: list[int]) -> PartitionRuntime:
    """A partition at offset 40, with a build for each of these positions."""
    one = owned(number)
    one.partition.position = 40
    for i, position in enumerate(positions):
        build = Build.restored(state_of(f"pool{i}"), position)
        one.partition.builds[build.key] = build
    return one


def test_generations_are_told_while_they_are_built_with_the_progress_of_the_one_least_far() -> None:
    runtimes = building(0, []), building(1, [40, 10, 20])
    assert told("equirank_generations_building", *runtimes) == {("0",): 0.0, ("1",): 3.0}
    assert told("equirank_generation_progress_ratio", *runtimes) == {("1",): pytest.approx(0.25)}, "nothing of one that builds nothing"


def test_a_generation_that_failed_is_not_being_built() -> None:
    one = building(2, [10, 30])
    next(iter(one.partition.builds.values())).fail("for want of memory")
    assert told("equirank_generations_building", one) == {("2",): 1.0}
    assert told("equirank_generation_progress_ratio", one) == {("2",): pytest.approx(0.75)}
