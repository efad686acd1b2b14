"""How many retractions were folded, as the engine tells it by partition."""

from types import SimpleNamespace
from typing import Any, cast

import msgspec

from services.control.directory import FixedDirectory
from services.engine.metrics import EngineMetrics
from services.log.partition import partition_of
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.restarts import RestartCounter
from tests.support.health import health_of
from tests.support.log_records import records
from tests.support.outcomes import game
from tests.support.pools import control_of, pool_of

PARTITIONS = 2


def folded(number: int, retractions: int) -> PartitionRuntime:
    """A partition with one pool, one game, and so many retractions of it."""
    pool = next(name for i in range(100) if partition_of(name := f"pool{i}", PARTITIONS) == number)
    partition, retraction = Partition(number, PARTITIONS), {"v": 1, "id": "r", "pool": pool, "time": 0.0, "retracts": "g"}
    values = [game("g", "ada", "bob", pool=pool), *[retraction] * retractions]
    assert partition.fold(records(values), FixedDirectory(control_of(pool_of(pool)))) == []
    checkpointer = cast("Any", SimpleNamespace(newest=None))
    return PartitionRuntime(partition, 1, checkpointer, cast("Any", None), RestartCounter(number, 1, cast("Any", None)), even_at=0.0)


def test_the_engine_tells_them_by_partition_repeated_ones_too() -> None:
    metrics, health = EngineMetrics(None), health_of("shard-0/machine/1")
    partitions = [folded(number, retractions).health(0.0, 0.0) for number, retractions in ((0, 0), (1, 3))]
    metrics.shards([msgspec.structs.replace(health, partitions=partitions)], 1)
    samples = [sample for family in metrics.collect() for sample in family.samples if sample.name == "equirank_retractions_total"]
    assert {sample.labels["partition"]: sample.value for sample in samples} == {"0": 0.0, "1": 3.0}
