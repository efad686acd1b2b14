"""What a partition's pools and builds hold in memory, by part."""

from types import SimpleNamespace
from typing import Any, cast

import msgspec

from services.engine.metrics import EngineMetrics
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.restarts import RestartCounter
from services.state.pool import PoolState
from tests.support.folds import fold_events
from tests.support.health import health_of
from tests.support.outcomes import game_event
from tests.support.pools import state_of


def pool(games: int) -> PoolState:
    state = state_of()
    fold_events(state, [
        game_event(f"g{i}", f"a{i}", f"b{i}") for i in range(games)
    ])  # fmt: skip
    return state


def test_every_part_of_a_pool_is_counted() -> None:
    state = pool(500)
    tallies = ("pairs", "places", "scores")
    parts = {
        "names": ("agents", "tasks"),
        "ratings": ("online", "activity"),
        "tallies": tallies,
        "dedupe": ("dedupe",),
        "history": ("history",),
    }
    history, held = state.content.history, state.memory()
    assert history is not None
    arrays = state.arrays() | {name: array for name, array in history.arrays().items() if name != "history.first"}
    assert held.keys() == parts.keys()
    for part, prefixes in parts.items():
        content = sum(array.nbytes for name, array in arrays.items() if name.startswith(prefixes))
        assert content <= held[part] <= 10 * content + 10_000


def test_pools_and_builds_are_counted_together_now_and_then() -> None:
    partition, state = Partition(0, 1), pool(10)
    partition.pools["p"] = state
    build = Build.restored(pool(10), 0)
    partition.builds[build.key] = build
    owned = PartitionRuntime(partition, 1, cast("Any", None), cast("Any", None), RestartCounter(0, 1, cast("Any", None)), even_at=0.0)
    first = owned.memory(0.0)
    assert first == {part: 2 * size for part, size in state.memory().items()}
    del partition.builds[build.key]
    assert owned.memory(5.0) == first
    assert owned.memory(10.0) == state.memory()


def test_the_engine_tells_them_by_partition_and_part() -> None:
    metrics, health = EngineMetrics(None), health_of("shard-0/machine/1")
    checkpointer = cast("Any", SimpleNamespace(newest=None))
    owned = PartitionRuntime(Partition(3, 4), 1, checkpointer, cast("Any", None), RestartCounter(3, 1, cast("Any", None)), even_at=0.0)
    owned.partition.pools["p"] = pool(10)
    metrics.shards([msgspec.structs.replace(health, partitions=[owned.health(0.0, 0.0)])], 1)
    told = {s.labels["part"]: s.value for family in metrics.collect() for s in family.samples if s.name == "equirank_state_bytes"}
    assert told == owned.partition.pools["p"].memory()
