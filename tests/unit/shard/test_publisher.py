"""Publication on a store that answers, does not, or forgot: which pools are written, and when."""

import math
from collections.abc import Callable

import msgspec
import pytest

from services.boards.store.protocol import ACTIVITY, Fence, PoolHead, StoreError
from services.control.records import FoldSettings
from services.demo import simulated
from services.runtime.settings import PROVISIONAL
from services.shard.fencing import Fenced
from services.shard.generations.build import Build
from services.shard.partition import Partition
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.publishing import EPOCH, Driver, FakeStore, until_done


def partition_with(pools: int, **online: dict[str, float]) -> Partition:
    partition = Partition(0, 1)
    for i in range(pools):
        partition.pools[f"pool{i}"] = state_of(f"pool{i}", fold=FoldSettings(online={"elo": {}, **online}))
    return partition


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
    assert driver.publisher.figures.counts["store_failures"] == 10
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


@pytest.mark.parametrize("shown", [True, False])
def test_a_rating_that_is_no_number_stops_its_pool_alone(store: FakeStore, shown: bool) -> None:
    partition = partition_with(2)
    driver = Driver(store, partition)
    bad = partition.pools["pool1"]
    partition.position = 10
    if shown:
        driver.round()
    fold_events(bad, [simulated.game(0, 0.0)])
    bad.content.ratings.online["elo"].rating[0] = math.nan
    partition.position = 20
    for _ in range(20):
        driver.round()
    assert (store.heads["pool0"].position, store.heads["pool0"].stopped) == (20, None)
    head = store.heads["pool1"]
    assert head.outcomes == 0, "what readers had stays"
    assert "elo rating of" in (head.stopped or "")
    assert "equirank pools settings pool1" in (head.stopped or "")
    assert bad.broken
    driver.publisher.drain(driver.now, {}, {})


@pytest.mark.parametrize("shown", [True, False])
def test_a_pool_that_broke_before_this_shard_wrote_it_keeps_its_boards_or_is_shown_empty(store: FakeStore, shown: bool) -> None:
    partition = partition_with(2)
    driver = Driver(store, partition)
    partition.pools["pool1"].stop("no memory for it", 5, broken=True)
    partition.position = 20
    if shown:
        store.heads["pool1"] = head_of("pool1", position=4, outcomes=3, agents=2)
    for _ in range(20):
        driver.round()
    head = store.heads["pool1"]
    assert (head.outcomes, head.agents, head.stopped) == ((3, 2) if shown else (0, 0)) + ("no memory for it",)
    del store.heads["pool1"]
    for _ in range(20):
        driver.round()
    assert store.heads["pool1"].stopped == "no memory for it", "a store that forgot is told again"
    assert store.heads["pool0"].stopped is None
    driver.publisher.drain(driver.now, {}, {})


def test_a_pool_told_a_moment_ago_keeps_no_other_from_being_told(store: FakeStore) -> None:
    partition = partition_with(2)
    driver = Driver(store, partition)
    for pool, state in partition.pools.items():
        state.stop("broken", 5, broken=True)
        store.heads[pool] = head_of(pool, position=4)
    store.fails = lambda pool: StoreError("a foreign type", retriable=False) if pool == "pool1" else None
    driver.round()
    assert [store.heads[pool].stopped for pool in partition.pools] == ["broken", None]
    store.fails = lambda _: None
    driver.round()
    assert store.heads["pool1"].stopped == "broken"
    assert store.written["pool0"] == 1
    driver.publisher.drain(driver.now, {}, {})


def test_a_shard_whose_write_is_fenced_counts_it_and_ends(store: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(store, partition_with(1), superseded=True)
    monkeypatch.setattr(store, "publish", lambda *_: False)
    driver.publisher.step(0.0, {0: driver.partition}, {0: EPOCH})
    until_done(driver.publisher)
    with pytest.raises(Fenced, match=f"pool pool0 is written by a newer shard than epoch {EPOCH}"):
        driver.publisher.step(0.25, {}, {})
    assert driver.publisher.figures.counts == {"fenced_writes": 1}
    driver.publisher.drain(1.0, {}, {})


@pytest.mark.parametrize("method", ["weng_lin", "glicko2"])
def test_a_deviation_that_is_no_number_stops_its_pool_too(store: FakeStore, method: str) -> None:
    driver = Driver(store, partition_with(1, **{method: {}}))
    bad = driver.partition.pools["pool0"]
    fold_events(bad, [simulated.game(0, 0.0)])
    bad.content.ratings.online[method].column("deviation")[0] = math.nan
    driver.partition.position = 20
    driver.round()
    assert f"{method} rating of" in (store.heads["pool0"].stopped or "")
    driver.publisher.drain(driver.now, {}, {})


def test_beliefs_go_with_the_ratings_of_those_who_played_and_of_methods_that_hold_them(store: FakeStore) -> None:
    driver = Driver(store, partition_with(1, weng_lin={}, glicko2={}))
    state = driver.partition.pools["pool0"]
    games = [simulated.game(i, 1e6 * i) for i in range(50)]
    fold_events(state, games)
    driver.round()
    raters = state.content.ratings.raters
    assert store.heads["pool0"].beliefs == {"weng_lin": raters["weng_lin"].beliefs, "glicko2": raters["glicko2"].beliefs}
    fold_events(state, [simulated.game(50, 5e7)])
    driver.round()
    boards = store.boards["pool0"]
    told = boards["elo"].names
    assert len(told) == 2
    assert [len(boards[method].beliefs) for method in ("elo", "weng_lin", "glicko2", ACTIVITY)] == [0, 2, 2, 0]
    for method in ("weng_lin", "glicko2"):
        reading = state.content.ratings.read(method, state.content.agents.lookup(told))
        assert reading.deviation is not None
        assert [belief.deviation for belief in boards[method].beliefs] == reading.deviation.tolist(), "they have just played"
    driver.publisher.drain(driver.now, {}, {})


@pytest.mark.parametrize(("method", "whole"), [("glicko2", True), ("sco", False)])
def test_boards_that_an_earlier_release_wrote_without_beliefs_are_written_whole(store: FakeStore, method: str, whole: bool) -> None:
    driver = Driver(store, partition_with(1, **{method: {}}))
    state = driver.partition.pools["pool0"]
    fold_events(state, [simulated.game(i, float(i)) for i in range(50)])
    state.changes.take()
    state.recovered_at = driver.partition.position = 50
    store.stands["pool0"] = Fence(EPOCH - 1, 1, 50)
    store.heads["pool0"] = head_of("pool0", position=50)
    driver.round()
    driver.round()
    names = store.boards["pool0"][method].names
    assert (len(names) == len(state.content.agents)) is whole
    assert (len(names) == 0) is not whole
    fold_events(driver.partition.pools["pool0"], [simulated.game(50, 50.0)])
    driver.round()
    assert len(store.boards["pool0"][method].names) == 2, "once only"
    driver.publisher.drain(driver.now, {}, {})


@pytest.mark.parametrize(
    ("before", "whole"), [(None, True), (9, True), (10, False)], ids=["an earlier release", "another setting", "the same"]
)
def test_boards_that_separated_other_agents_are_written_whole(store: FakeStore, before: int | None, whole: bool) -> None:
    driver = Driver(store, partition_with(1))
    state = driver.partition.pools["pool0"]
    fold_events(state, [simulated.game(i, float(i)) for i in range(50)])
    state.changes.take()
    state.recovered_at = driver.partition.position = 50
    store.stands["pool0"] = Fence(EPOCH - 1, 1, 50)
    store.heads["pool0"] = head_of("pool0", position=50, provisional_outcomes=before)
    driver.round()
    driver.round()
    assert (len(store.boards["pool0"]["elo"].names) == len(state.content.agents)) is whole
    assert store.heads["pool0"].provisional_outcomes == 10
    driver.publisher.drain(driver.now, {}, {})


def test_agents_with_few_outcomes_are_marked_on_boards_of_methods(store: FakeStore) -> None:
    driver = Driver(store, partition_with(1, weng_lin={}))
    state = driver.partition.pools["pool0"]
    fold_events(state, [simulated.game(i, float(i)) for i in range(25)])
    driver.round()
    boards, played = store.boards["pool0"], dict(zip(state.content.agents.names(), state.content.ratings.activity.tolist(), strict=False))
    for method in ("elo", "weng_lin"):
        assert list(boards[method].provisional) == [played[name] < PROVISIONAL.outcomes for name in boards[method].names]
        assert {True, False} == set(boards[method].provisional)
    assert boards[ACTIVITY].provisional == ()
    driver.publisher.drain(driver.now, {}, {})


def test_a_pool_whose_generation_cannot_be_folded_again_says_so_to_readers(store: FakeStore) -> None:
    """Readers were at generation 2; the checkpoint that was left holds generation 1, and 2 cannot be made of the log any more."""
    partition = partition_with(2)
    driver = Driver(store, partition)
    driver.round()
    standing = store.heads["pool1"] = msgspec.structs.replace(store.heads["pool1"], generation=2, position=99, outcomes=42)
    made = partition.pools["pool1"]
    build = Build(made.created, msgspec.structs.replace(made.generation, number=2))
    partition.begin(build)
    partition.readers.hidden.add("pool1")
    for _ in range(20):
        driver.round()
    assert store.heads["pool1"] == standing, "while it is being built readers have what they had"
    assert partition.unbuilt == set()
    build.fail("the log holds 7 to 9")
    for _ in range(20):
        driver.round()
    assert partition.unbuilt == {"pool1"}
    head = store.heads["pool1"]
    assert (head.generation, head.position, head.outcomes) == (2, 99, 42)
    assert head.stopped == "generation 2 could not be folded again, so its boards stay as they were: the log holds 7 to 9"
    assert head.building is not None
    assert head.published_at > standing.published_at
    driver.publisher.drain(driver.now, {}, {})


@pytest.mark.parametrize("recovered", [0, 50])
def test_a_later_generation_is_shown_once_it_is_at_the_position_that_readers_saw(store: FakeStore, recovered: int) -> None:
    """Another shard published generation 1 up to 99. This one folds from a checkpoint or from the start, and 2 serves at 60 already."""
    partition = Partition(0, 1, 60)
    state = partition.pools["pool0"] = state_of("pool0", number=2)
    state.recovered_at = recovered
    fold_events(state, [simulated.game(i, float(i)) for i in range(50)])
    if recovered:
        state.changes.take()
    standing = store.heads["pool0"] = head_of("pool0", generation=1, position=99)
    store.stands["pool0"] = Fence(EPOCH - 1, 1, 99)
    driver = Driver(store, partition)
    for _ in range(20):
        driver.round()
    assert store.heads["pool0"] == standing
    partition.position = 99
    for _ in range(2):  # after a checkpoint, the first round finds that the store lacks agents, and the second one writes all
        driver.round()
    assert (store.heads["pool0"].generation, store.heads["pool0"].position) == (2, 99)
    assert len(store.boards["pool0"]["elo"].names) == len(state.content.agents) > 0
    driver.publisher.drain(driver.now, {}, {})


def test_what_the_previous_owner_publishes_while_its_successor_is_behind_is_seen(store: FakeStore) -> None:
    """A shard that was paused goes on for a moment, until the fence refuses it."""
    partition = Partition(0, 1)
    state = partition.pools["pool0"] = state_of("pool0")
    driver = Driver(store, partition)
    for position, standing in ((60, 99), (110, 120)):
        partition.position = position
        store.heads["pool0"] = head_of("pool0", position=standing, beliefs=state.content.ratings.beliefs)
        store.stands["pool0"] = Fence(EPOCH - 1, 1, standing)
        driver.round()
    assert not store.written
    partition.position = 120
    driver.round()
    assert store.written["pool0"] == 1
    driver.publisher.drain(driver.now, {}, {})


def test_a_pool_that_stopped_before_the_position_that_readers_saw_keeps_its_boards_until_the_store_is_lost(store: FakeStore) -> None:
    """The shard that published 99 folded what the one after it could not."""
    partition = Partition(0, 1, 200)
    state = partition.pools["pool0"] = state_of("pool0")
    state.recovered_at = 50
    fold_events(state, [simulated.game(i, float(i)) for i in range(50)])
    state.changes.take()
    state.stop("no memory for it", 60)
    store.heads["pool0"] = head_of("pool0", position=99, agents=2)
    store.stands["pool0"] = Fence(EPOCH - 1, 1, 99)
    driver = Driver(store, partition)
    for _ in range(20):
        driver.round()
    head = store.heads["pool0"]
    assert (head.position, head.agents, head.stopped) == (99, 2, "no memory for it")
    store.forget("pool0", EPOCH)
    for _ in range(20):
        driver.round()
    head = store.heads["pool0"]
    assert (head.position, head.agents, head.stopped) == (60, len(state.content.agents), "no memory for it")
    assert driver.publisher.figures.counts["store_losses"] == 1
    driver.publisher.drain(driver.now, {}, {})


@pytest.mark.parametrize("hidden", [True, False])
def test_readers_ahead_of_a_partition_are_told_that_it_stopped_and_that_it_goes_on(store: FakeStore, hidden: bool) -> None:
    """Readers were at a later generation, which is being built again, or at a later position, which is folded again."""
    partition = partition_with(2)
    driver = Driver(store, partition)
    driver.round()
    standing = store.heads["pool1"] = msgspec.structs.replace(store.heads["pool1"], generation=2 if hidden else 1, position=99)
    made = partition.pools["pool1"]
    if hidden:
        partition.readers.hidden.add("pool1")
        partition.begin(Build(made.created, msgspec.structs.replace(made.generation, number=2)))
    else:
        store.stands["pool1"] = Fence(generation=1, position=99, epoch=EPOCH)
        driver = Driver(store, partition)
        fold_events(made, [simulated.game(1, 1.0)])

    def head_after_rounds() -> PoolHead:
        for _ in range(20):
            driver.round()
        return store.heads["pool1"]

    assert head_after_rounds() == standing
    partition.readers.stopped = "partition 0 stopped: 2 shards died"
    told = head_after_rounds()
    assert (told.stopped, told.generation, told.position) == ("partition 0 stopped: 2 shards died", standing.generation, 99)
    assert told.published_at > standing.published_at
    partition.readers.stopped = None
    assert head_after_rounds().stopped is None
    written = store.written["pool1"]
    assert head_after_rounds().position == 99
    assert store.written["pool1"] == written, "said once"
    driver.publisher.drain(driver.now, {}, {})


def after_a_round(store: FakeStore, driver: Driver, seconds: float) -> Callable[..., int]:
    """How often the pool was written after another step at a time, once a first round took `seconds`."""
    publisher, partitions, epochs = driver.publisher, {0: driver.partition}, {0: EPOCH}
    publisher.step(0.0, partitions, epochs)
    until_done(publisher)
    publisher.step(seconds, partitions, epochs)
    driver.partition.pools["pool0"].changes.mark_all()

    def step(after: float, *, behind: bool) -> int:
        publisher.step(seconds + after, partitions, epochs, behind=behind)
        until_done(publisher)
        return store.written["pool0"]

    return step


def test_a_round_that_took_long_is_followed_by_a_pause_while_records_wait(store: FakeStore) -> None:
    driver = Driver(store, partition_with(1))
    written = after_a_round(store, driver, 0.5)
    assert written(0.99, behind=True) == 1, "the fold gets its time"
    assert written(1.0, behind=True) == 2
    driver.publisher.drain(3700.0, {}, {})


def test_where_nothing_waits_a_long_round_is_followed_by_the_next_at_the_usual_time(store: FakeStore) -> None:
    driver = Driver(store, partition_with(1))
    written = after_a_round(store, driver, 0.5)
    assert written(0.19, behind=False) == 1
    assert written(0.2, behind=False) == 2
    driver.publisher.drain(3700.0, {}, {})


def test_a_round_that_waited_long_for_the_store_is_followed_by_a_short_pause(store: FakeStore) -> None:
    """A store that was away for an hour is written to again after two seconds, not two hours later."""
    driver = Driver(store, partition_with(1))
    written = after_a_round(store, driver, 3600.0)
    assert written(1.99, behind=True) == 1
    assert written(2.0, behind=True) == 2
    driver.publisher.drain(3700.0, {}, {})


def test_a_store_that_failed_gets_its_pause_also_where_nothing_waits(store: FakeStore) -> None:
    driver = Driver(store, partition_with(1))
    store.fails = lambda _: StoreError("away", retriable=True)
    written = after_a_round(store, driver, 0.5)
    store.fails = lambda _: None
    assert written(0.99, behind=False) == 0
    assert written(1.0, behind=False) == 1
    driver.publisher.drain(3700.0, {}, {})
