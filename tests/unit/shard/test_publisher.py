"""Publication on a store that answers, does not, or forgot: which pools are written, and when."""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from services.pools import GenerationMade, Kind, PoolCreated
from services.shard.partition import Partition
from services.shard.pool import PoolState
from services.shard.publisher import _MOST_PAUSE, Publisher
from services.solve.result import SolvedBoard
from services.store.protocol import Fence, LiveBoard, PoolHead, StoreError

EPOCH = 7
SECONDS = 60.0


class FakeStore:
    """Counts what is asked of each pool, and does what `fails` says."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.heads: dict[str, PoolHead] = {}
        self.fails: Callable[[str], StoreError | None] = lambda _: None

    def publish_live(self, head: PoolHead, epoch: int, boards: Mapping[str, LiveBoard]) -> bool:
        assert epoch == EPOCH
        assert "elo" in boards
        self.asked[head.pool] += 1
        if (error := self.fails(head.pool)) is not None:
            raise error
        self.written[head.pool] += 1
        self.heads[head.pool] = head
        return True

    def publish_solved(self, board: SolvedBoard) -> bool:
        raise NotImplementedError

    def published(self, pool: str) -> Fence | None:
        return None


def partition_with(pools: int) -> Partition:
    partition = Partition(0, 1)
    for i in range(pools):
        made = PoolCreated(pool=f"pool{i}", kind=Kind.GAMES, time=0.0)
        partition.pools[made.pool] = PoolState(made, GenerationMade(pool=made.pool, number=1, start=0, time=0.0, fold=made.fold))
    return partition


def until_done(publisher: Publisher) -> None:
    """Until the round under way has ended, without telling the publisher."""
    if publisher._job is not None:
        publisher._job.exception(SECONDS)


class Driver:
    """Rounds of a publisher, one after the other, at times of its own."""

    def __init__(self, store: FakeStore, partition: Partition) -> None:
        self.publisher, self.partition, self.now = Publisher(store, 0.2), partition, 0.0

    def round(self) -> None:
        self.publisher.step(self.now, {0: self.partition}, {0: EPOCH})
        until_done(self.publisher)
        self.publisher.step(self.now, {}, {})
        self.now += 0.25


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def test_every_idle_pool_is_looked_after(store: FakeStore) -> None:
    """A store that forgot is only found out by writing: no pool may be left out for ever, however many there are."""
    driver = Driver(store, partition_with(1500))
    driver.round()
    assert set(store.written.values()) == {1}
    for _ in range(30):
        driver.round()
    assert min(store.written.values()) >= 2
    driver.publisher.drain(driver.now, {}, {})


def test_a_store_that_does_not_answer_costs_one_wait_a_round(store: FakeStore) -> None:
    driver = Driver(store, partition_with(10))
    store.fails = lambda _: StoreError("no answer", retriable=True)
    driver.round()
    assert store.asked.total() == 1
    assert driver.publisher.counters["store_failures"] == 10
    store.fails = lambda _: None
    driver.round()
    assert len(store.written) == 10, "changes gathered"
    driver.publisher.drain(driver.now, {}, {})


def test_a_pool_that_the_store_refuses_holds_no_other_up(store: FakeStore) -> None:
    driver = Driver(store, partition_with(10))
    store.fails = lambda pool: StoreError("a foreign type", retriable=False) if pool == "pool0" else None
    driver.round()
    assert len(store.written) == 9
    driver.publisher.drain(driver.now, {}, {})


def test_a_stopped_pool_shows_where_it_stopped(store: FakeStore) -> None:
    partition = partition_with(2)
    driver = Driver(store, partition)
    partition.position = 10
    driver.round()
    partition.pools["pool1"].stop("broken", 10)
    partition.position = 20
    for _ in range(10):
        driver.round()
    assert {pool: (head.position, head.stopped) for pool, head in store.heads.items()} == {"pool0": (20, None), "pool1": (10, "broken")}
    driver.publisher.drain(driver.now, {}, {})


def test_a_round_that_waited_long_for_the_store_is_followed_by_a_short_pause(store: FakeStore) -> None:
    """A store that was away for an hour is written to again at once, not two hours later."""
    driver = Driver(store, partition_with(1))
    publisher, partitions, epochs = driver.publisher, {0: driver.partition}, {0: EPOCH}
    publisher.step(0.0, partitions, epochs)
    until_done(publisher)
    publisher.step(3600.0, partitions, epochs)
    driver.partition.pools["pool0"].mark_all()
    publisher.step(3600.0 + _MOST_PAUSE - 0.01, partitions, epochs)
    assert store.written["pool0"] == 1, "the fold gets its time"
    publisher.step(3600.0 + _MOST_PAUSE, partitions, epochs)
    until_done(publisher)
    assert store.written["pool0"] == 2
    publisher.drain(3700.0, {}, {})
