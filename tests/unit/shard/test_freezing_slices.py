"""A partition frozen a pool at a time, and folded, built, switched and stopped between: what is written is what a freeze at once gives."""

import json
import random
import uuid
from collections.abc import Callable, Iterator

import pytest

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.lifecycles import PoolStatus
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.runtime.durations import Durations
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.checkpointing.freezing import Freezing
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.state.frozen import FrozenPool
from services.state.pool import PoolState
from services.wire.columns import columns_of_retractions
from services.wire.pools import Kind
from tests.support.pools import control_of, pool_of

KINDS = {f"{kind.value}{i}": kind for i in range(5) for kind in Kind}
FOLD = FoldSettings(dedupe_window=64, bucket_seconds=50.0, buckets_kept=3)
SLICE = "services.shard.checkpointing.checkpointer._SLICE_SECONDS"


def control() -> ControlState:
    return control_of(*(pool_of(pool, kind, FOLD) for pool, kind in KINDS.items()))


def outcome(pool: str, number: int, draw: random.Random) -> dict[str, object]:
    about = {"v": 1, "id": f"o{number}", "pool": pool, "time": float(number)}
    if draw.random() < 0.05:
        return {**about, "retracts": f"o{draw.randrange(number + 1)}"}
    agents = draw.sample([f"agent-{i}" for i in range(20 + number // 50)], draw.choice([2, 2, 3]))
    if KINDS[pool] is Kind.SCORES:
        return {**about, "task": f"t{number % 5}", "scores": {agent: draw.random() for agent in agents}}
    return {**about, "sides": [{"agents": [agent], "place": draw.randrange(1, 4)} for agent in agents]}


def contents(store: CheckpointStore) -> dict[str, bytes]:
    return {name: store.blobs.read(name) for folder in ("checkpoints", "objects") for name in store.blobs.tree(folder)}


class Shard:
    """A partition that two checkpointers look after: one freezes it at once, one a pool at a time."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.draw, self.log, self.now = random.Random(seed), TopicRecords(), 0.0
        self.partition, self.directory = Partition(0, 1), FixedDirectory(control())
        self.stores = [CheckpointStore(f"memory://{uuid.uuid4().hex}") for _ in range(2)]
        self.whole, self.sliced = (Checkpointer(store, "log", 1, 3, None, clock=lambda: 0.0) for store in self.stores)
        self._patch = monkeypatch

    def fold(self, most: int = 30) -> None:
        """Some outcomes of some pools, one of which may not have been there."""
        pools = self.draw.sample(sorted(KINDS), self.draw.randrange(1, 4))
        for _ in range(self.draw.randrange(1, most)):
            at = len(self.log)
            self.log.append(Record(at, json.dumps(outcome(self.draw.choice(pools), at, self.draw)).encode(), 0.0))
        self.partition.fold(self.log[self.partition.position :], self.directory)

    def build(self) -> None:
        """Begin a generation, read on for those that are behind, or let one serve that is not."""
        pools, builds = self.partition.pools, list(self.partition.builds.values())
        behind = [build.position for build in builds if build.behind(self.partition.position)]
        if not builds and pools:
            state = pools[self.draw.choice(sorted(pools))]
            number = state.generation.number + 1
            made = Generation(pool=state.generation.pool, number=number, start=0, time=0.0, fold=FOLD)
            self.partition.begin(Build(state.created, made))
        elif behind:
            start, length = min(behind), self.draw.randrange(1, 300)
            self.partition.catch_up(self.log[start : start + length], start)
        else:
            self.partition.switch(builds[0])

    def stop(self) -> None:
        """A pool stops, as an operator or its settings say, or as it breaks in the middle of a fold."""
        if self.draw.random() < 0.8 or not self.partition.pools:
            return
        state = self.partition.pools[self.draw.choice(sorted(self.partition.pools))]
        if self.draw.random() < 0.5:
            state.stop("stopped", self.partition.position, broken=self.draw.random() < 0.5)
        else:
            self._patch.setattr(state.changes, "touch", broken)

    def something(self) -> None:
        for _ in range(self.draw.randrange(3)):
            self.draw.choice([self.fold, self.fold, self.build, self.stop])()

    def checkpoint(self, between: Callable[[], None]) -> None:
        """By both, of now. between: what happens between two slices."""
        self.now += 1e6
        self._patch.setattr(SLICE, float("inf"))
        assert self.whole.step(self.now, 1.0, self.partition)
        settle(self.whole)
        self._patch.setattr(SLICE, 0.0)
        while self.sliced.step(self.now, 1.0, self.partition) and self.sliced.freezes:
            between()
        settle(self.sliced)


def broken(*_: object) -> None:
    raise ValueError("broken in the middle")


def settle(one: Checkpointer) -> None:
    """Take the result of the write. A step would also begin the next checkpoint at once if a build caught up between the slices."""
    assert one._job is not None
    one._settle(one._job)


@pytest.fixture
def shard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shard]:
    shard = Shard(getattr(request, "param", 0), monkeypatch)
    yield shard
    for one in (shard.whole, shard.sliced):
        one._executor.shutdown()


@pytest.mark.parametrize("shard", range(4), indirect=True)
def test_whatever_happens_between_slices_the_bytes_are_those_of_a_freeze_at_once(shard: Shard) -> None:
    for _ in range(25):
        shard.fold()
        shard.something()
        shard.checkpoint(shard.something)
        whole, sliced = map(contents, shard.stores)
        assert whole == sliced
    assert shard.whole._written.caught_up == shard.sliced._written.caught_up


@pytest.mark.parametrize("shard", range(2), indirect=True)
def test_without_the_freeze_before_a_change_the_bytes_would_be_others(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    monkeypatch.setattr(PoolState, "_about_to_change", lambda _: None)
    for _ in range(10):
        shard.fold()
        shard.checkpoint(shard.fold)
    assert contents(shard.stores[0]) != contents(shard.stores[1])


def test_a_slice_freezes_as_many_pools_as_its_time_allows_and_each_counts_as_a_pause(shard: Shard) -> None:
    while len(shard.partition.pools) < len(KINDS):
        shard.fold()
    slices = [0]

    def count() -> None:
        slices[0] += 1

    shard.checkpoint(count)
    assert slices[0] == len(KINDS) - 1
    assert [sum(one.figures.freezes.counts) for one in (shard.whole, shard.sliced)] == [1, len(KINDS)]


def test_the_end_of_a_shard_gives_up_what_is_not_frozen_whole_and_writes_the_partition_as_it_is(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard.fold(300)
    monkeypatch.setattr(SLICE, 0.0)
    shard.sliced.step(0.0, 1.0, shard.partition)
    assert shard.sliced.freezes
    shard.fold(300)
    for one in (shard.sliced, shard.whole):
        one.drain(shard.partition)
    assert contents(shard.stores[0]) == contents(shard.stores[1])
    assert all(state.on_change is None for state in shard.partition.pools.values())


def test_what_was_given_up_before_its_end_keeps_nothing_and_is_frozen_again() -> None:
    states = [PoolState(created, made) for created, made in _pools()]
    pauses = Durations()
    freezing = Freezing(states, lambda i: states[i].freeze(), pauses)
    states[0].fold(columns_of_retractions([]))
    assert sum(pauses.counts) == 1
    assert not freezing.step(0.0)
    freezing.close()
    assert all(state.on_change is None for state in states)
    for state in states:
        state.freeze().close()


def test_a_pool_that_could_not_be_frozen_is_not_left_out() -> None:
    """A checkpoint without it would have recovery begin the pool anew in the middle of the log."""
    states, failing = [PoolState(created, made) for created, made in _pools()], {0, 3}

    def freeze(i: int) -> FrozenPool:
        if i in failing:
            raise MemoryError
        return states[i].freeze()

    freezing = Freezing(states, freeze, Durations())
    with pytest.raises(MemoryError):
        states[0].fold(columns_of_retractions([]))
    with pytest.raises(MemoryError):
        freezing.step(float("inf"))
    failing.clear()
    assert freezing.step(float("inf"))
    assert len(freezing.kept()) == len(states)
    freezing.close()


def test_a_pool_that_could_not_be_frozen_before_a_fold_stops_unbroken_and_is_frozen_later() -> None:
    partition, directory = Partition(0, 1), FixedDirectory(control())
    values = [json.dumps(outcome("games0", i, random.Random(i))).encode() for i in range(2)]
    partition.fold(TopicRecords([Record(0, values[0], 0.0)]), directory)
    state, failing = partition.pools["games0"], [True]
    before = digest(state.arrays())

    def freeze(_: int) -> FrozenPool:
        if failing:
            raise MemoryError
        return state.freeze()

    freezing = Freezing([state], freeze, Durations())
    partition.fold(TopicRecords([Record(1, values[1], 0.0)]), directory)
    assert (state.status, state.stop_record.position) == (PoolStatus.STOPPED, 1)
    assert "MemoryError between offsets 1 and 1" in (state.stopped or "")
    assert digest(state.arrays()) == before
    failing.clear()
    assert freezing.step(float("inf"))
    assert len(freezing.kept()) == 1
    freezing.close()


def _pools() -> list[tuple[PoolCreated, Generation]]:
    known = control()
    return [(known.pools[pool], known.generations[pool][1]) for pool in KINDS]
