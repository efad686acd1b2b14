"""A shard takes over a pool on a real store: while its previous owner goes on for a moment, or the store loses some of what it holds."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import redis

from services.boards.store.protocol import ACTIVITY, LiveBoard, PoolHead, StoreError, StoreLost
from services.boards.store.redis import RedisStore
from services.control.records import FoldSettings
from services.demo import simulated
from services.shard.fencing import Fenced
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.publishing.writing import BoardWriter
from services.wire import events
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.guards import careless, without_comparison
from tests.support.pools import state_of
from tests.support.publishing import EPOCH, Driver
from tests.support.redis import redis_url
from tests.support.stores import KEYS, other, raw, snapshot, store

__all__ = ["other", "raw", "redis_url", "store"]

POOL = "pool0"
CHECKPOINT = 50


def recovered(position: int, number: int = 1, *, stopped_at: int | None = None) -> Partition:
    """A partition at `position` whose pool was restored from a checkpoint, and may have stopped."""
    partition = Partition(0, 1, position)
    state = partition.pools[POOL] = state_of(POOL, number=number)
    state.recovered_at = CHECKPOINT
    fold_events(state, [simulated.game(i, float(i)) for i in range(CHECKPOINT)])
    state.changes.take()
    if stopped_at is not None:
        state.stop("no memory for it", stopped_at)
    return partition


def taking_over(store: RedisStore, partition: Partition) -> Driver:
    return Driver(store.live, partition)


def rounds(driver: Driver, number: int = 20) -> None:
    for _ in range(number):
        driver.round()


def publish_before(other: RedisStore, position: int, generation: int = 1, epoch: int = EPOCH - 1) -> None:
    """The previous owner publishes."""
    board = {"elo": LiveBoard(["rock"], [1.0], total=1)}
    assert other.live.publish(head_of(POOL, generation=generation, position=position, agents=1), epoch, board)


def publish_after(other: RedisStore, position: int) -> None:
    """The next owner publishes."""
    publish_before(other, position, epoch=EPOCH + 1)


def shown(store: RedisStore) -> tuple[int, int] | None:
    """Generation and position that readers see."""
    head = store.live.head(POOL)
    return None if head is None else (head.generation, head.position)


def assert_whole(store: RedisStore, driver: Driver) -> None:
    page = store.live.page(POOL, "elo", 0, 100)
    assert page is not None
    assert page.total == len(driver.partition.pools[POOL].content.agents) == 6


def test_what_the_previous_owner_publishes_after_its_successor_asked_is_not_taken_back(store: RedisStore, other: RedisStore) -> None:
    publish_before(other, 99)
    driver = taking_over(store, recovered(100, number=2))
    driver.round()  # finds that the store lacks changes, and writes all of them in the next round
    publish_before(other, 120)
    driver.partition.position = 101
    rounds(driver)
    assert shown(store) == (1, 120)
    driver.partition.position = 121
    rounds(driver)
    assert shown(store) == (2, 121)
    assert_whole(store, driver)


def test_what_the_previous_owner_publishes_after_a_failed_write_is_not_taken_back(
    store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_before(other, 99)
    driver = taking_over(store, recovered(100))
    driver.partition.pools[POOL].changes.mark_all()
    with monkeypatch.context() as sick:

        def fail(*_: object) -> bool:
            raise StoreError("no answer", retriable=True)

        sick.setattr(store.live, "publish", fail)
        rounds(driver, 1)
    publish_before(other, 120)
    rounds(driver)
    assert shown(store) == (1, 120)
    driver.partition.position = 120
    rounds(driver)
    assert_whole(store, driver)


def test_a_reason_is_never_added_to_an_earlier_head(store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The previous owner publishes between the moment when its successor reads the head and the moment when it writes it back."""
    publish_before(other, 99)
    driver = taking_over(store, recovered(60))
    driver.round()
    driver.partition.readers.stopped = "partition 0 stopped"
    publish = store.live.publish
    seen: list[PoolHead | None] = []

    def late(*arguments: Any) -> bool:
        monkeypatch.setattr(store.live, "publish", publish)
        publish_before(other, 120)
        written = publish(*arguments)
        seen.append(store.live.head(POOL))
        return written

    monkeypatch.setattr(store.live, "publish", late)
    rounds(driver)
    assert [head and head.position for head in seen] == [120]
    head = store.live.head(POOL)
    assert head is not None
    assert (head.position, head.stopped) == (120, "partition 0 stopped")


def test_a_pool_whose_boards_were_lost_while_it_is_stopped_does_not_take_readers_back(
    store: RedisStore, other: RedisStore, raw: redis.Redis
) -> None:
    publish_before(other, 99)
    driver = taking_over(store, recovered(200, stopped_at=60))
    rounds(driver)
    raw.flushall()
    while driver.publisher.figures.counts["store_losses"] == 0:
        driver.round()
    with pytest.raises(StoreLost):
        publish_before(other, 120)
    publish_before(other, 120)
    rounds(driver)
    assert shown(store) == (1, 120)


@pytest.mark.parametrize("generation", [1, 2])
def test_a_lost_fence_takes_no_reader_back(store: RedisStore, other: RedisStore, raw: redis.Redis, generation: int) -> None:
    publish_before(other, 99, generation)
    raw.delete(KEYS.fence(POOL))
    driver = taking_over(store, recovered(60))
    rounds(driver)
    assert shown(store) == (generation, 99)


@pytest.mark.parametrize("generation", [1, 2])
@pytest.mark.parametrize("asked", [True, False])
def test_a_pool_whose_head_the_store_lost_is_shown_where_it_is(
    store: RedisStore, other: RedisStore, raw: redis.Redis, generation: int, asked: bool
) -> None:
    """No reader sees a later position, and the log may have lost the rest of it, so nothing is waited for."""
    publish_before(other, 99, generation)
    driver = taking_over(store, recovered(60))
    if asked:
        driver.round()
    raw.delete(KEYS.head(POOL))
    rounds(driver)
    assert shown(store) == (1, 60)
    assert_whole(store, driver)


@pytest.mark.parametrize("lose", [lambda raw: raw.flushall(), lambda raw: raw.delete(KEYS.head(POOL))], ids=["all", "head"])
def test_a_stopped_pool_that_the_store_lost_is_shown_where_it_stopped(
    store: RedisStore, other: RedisStore, raw: redis.Redis, lose: Callable[[redis.Redis], object]
) -> None:
    publish_before(other, 99)
    driver = taking_over(store, recovered(200, stopped_at=60))
    rounds(driver)
    head = store.live.head(POOL)
    assert head is not None
    assert (head.position, head.agents, head.stopped) == (99, 1, "no memory for it")
    lose(raw)
    rounds(driver)
    assert shown(store) == (1, 60)
    assert_whole(store, driver)
    assert driver.publisher.figures.counts["store_losses"] == 1


def test_a_store_lost_while_a_pool_is_behind_is_found_before_the_pool_is_at_its_position(
    store: RedisStore, other: RedisStore, raw: redis.Redis
) -> None:
    """It can take long until then, and the log can end before."""
    publish_before(other, 99)
    driver = taking_over(store, recovered(80))
    rounds(driver)
    published = driver.publisher.figures.counts["published_pools"]
    assert published == 0, "looking is no publication"
    raw.flushall()
    rounds(driver)
    assert shown(store) == (1, 80)
    assert_whole(store, driver)


def test_the_empty_board_of_a_broken_pool_is_no_obstacle_to_an_intact_one(store: RedisStore, other: RedisStore) -> None:
    broken = recovered(200)
    broken.pools[POOL].stop("no memory for it", 60, broken=True)
    rounds(taking_over(store, broken))
    head = store.live.head(POOL)
    assert head is not None
    assert (head.outcomes, head.stopped) == (0, "no memory for it")
    driver = Driver(other.live, recovered(200, stopped_at=CHECKPOINT), epoch=EPOCH + 1)  # from the checkpoint before
    rounds(driver)
    assert shown(store) == (1, CHECKPOINT)
    assert_whole(store, driver)


@pytest.mark.parametrize("checkpoint", [0, CHECKPOINT])
def test_a_claim_of_an_owner_that_the_control_log_lost_is_no_obstacle(
    store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch, checkpoint: int
) -> None:
    """That owner ended between its claim and its commit."""

    def end(*_: object) -> bool:
        raise StoreError("no answer", retriable=True)

    monkeypatch.setattr(other.live, "_commit", end)
    with pytest.raises(StoreError):
        other.live.publish(head_of(POOL, position=99), EPOCH + 9, {})
    partition = recovered(100)
    partition.pools[POOL].recovered_at = checkpoint
    partition.pools[POOL].changes.mark_all()
    driver = taking_over(store, partition)
    rounds(driver)
    assert shown(store) == (1, 100)
    assert_whole(store, driver)
    assert driver.publisher.figures.counts["store_losses"] == (2 if checkpoint else 1)


@pytest.mark.parametrize("broken", [False, True])
def test_boards_of_the_next_owner_are_never_deleted(store: RedisStore, other: RedisStore, raw: redis.Redis, broken: bool) -> None:
    publish_before(other, 99)
    driver = Driver(store.live, recovered(200, stopped_at=60), superseded=True)
    rounds(driver)
    if broken:
        driver.partition.pools[POOL].stop("no memory for it", 60, broken=True)
    publish_after(other, 220)
    raw.delete(KEYS.head(POOL))
    before = snapshot(raw)
    with pytest.raises(Fenced):
        rounds(driver)
    assert snapshot(raw) == before


def test_boards_that_the_next_owner_begins_to_publish_at_that_moment_are_not_deleted(
    store: RedisStore, other: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_before(other, 99)
    driver = taking_over(store, recovered(200, stopped_at=60))
    rounds(driver)
    raw.delete(KEYS.head(POOL))

    answers = iter([False])

    def is_superseded(*_: object) -> bool:
        if (answer := next(answers, True)) is False:
            publish_after(other, 220)
        return answer

    monkeypatch.setattr(driver.publisher._writer._judge, "is_superseded", is_superseded)
    with pytest.raises(Fenced):
        rounds(driver)
    assert shown(store) == (1, 220)


@pytest.mark.parametrize("lost", ["nothing", "fence", "head"])
def test_a_generation_that_the_log_has_lost_is_replaced(
    store: RedisStore, other: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    publish_before(other, 99, generation=2)
    if lost != "nothing":
        raw.delete({"fence": KEYS.fence, "head": KEYS.head}[lost](POOL))
    driver = taking_over(store, recovered(60))
    monkeypatch.setattr(driver.publisher._writer._judge, "was_folded_from_the_log", lambda head: head.generation < 2)
    rounds(driver)
    assert shown(store) == (1, 60)
    assert_whole(store, driver)


@pytest.mark.parametrize("checkpoint", [0, CHECKPOINT])
def test_a_later_generation_is_shown_at_the_position_that_readers_saw(store: RedisStore, other: RedisStore, checkpoint: int) -> None:
    publish_before(other, 99)
    partition = recovered(60, number=2)
    partition.pools[POOL].recovered_at = checkpoint
    if not checkpoint:
        partition.pools[POOL].changes.mark_all()
    driver = taking_over(store, partition)
    rounds(driver)
    assert shown(store) == (1, 99)
    partition.position = 99
    rounds(driver)
    assert shown(store) == (2, 99)
    assert_whole(store, driver)


@pytest.mark.parametrize("checkpoint", [0, CHECKPOINT])
@pytest.mark.parametrize("online", [["elo"], ["elo", "glicko2"]], ids=["ratings", "beliefs"])
def test_what_an_operator_skipped_after_it_was_published_leaves_the_boards(
    store: RedisStore, other: RedisStore, checkpoint: int, online: list[str]
) -> None:
    """The previous owner folded record 90. It moved an agent that plays in no later record, and added one."""
    fold = FoldSettings(online={name: {} for name in online})
    games = [simulated.game(i, float(i)) for i in range(CHECKPOINT)]

    def folded(position: int) -> Partition:
        partition = Partition(0, 1, position)
        state = partition.pools[POOL] = state_of(POOL, fold=fold)
        fold_events(state, games)
        return partition

    before = folded(100)
    moved = before.pools[POOL].content.agents.names()[0]
    sides = [events.Side([moved], 1), events.Side(["only in a skipped record"], 2)]
    fold_events(before.pools[POOL], [events.GameEvent(v=1, id="skipped", pool=POOL, time=90.0, sides=sides)])
    rounds(Driver(other.live, before, epoch=EPOCH - 1), 2)
    assert shown(store) == (1, 100)
    after = folded(95)
    state = after.pools[POOL]
    state.recovered_at = checkpoint
    if checkpoint:
        state.changes.take()
    driver = taking_over(store, after)
    driver.content.left_out = 90
    rounds(driver)
    assert shown(store) == (1, 100)
    after.position = 100
    rounds(driver)
    for method in state.content.ratings.online:
        page = store.live.page(POOL, method, 0, 100)
        assert page is not None
        assert page.total == len(state.content.agents)
        names = state.content.agents.names()
        reading = state.content.ratings.read(method, state.content.agents.lookup(names))
        assert {row.agent: row.rating for row in page.rows} == dict(zip(names, reading.rating.tolist(), strict=True))
    page = store.live.page(POOL, ACTIVITY, 0, 100)
    assert page is not None
    assert page.total == len(state.content.agents)


def test_agents_that_the_next_owner_publishes_at_that_moment_are_not_removed(
    store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board that was published with all of its agents loses the others, unless a newer owner claimed the pool meanwhile."""
    publish_before(other, 99)
    trim = store.live._trim

    def late(*arguments: Any) -> bool:
        assert other.live.publish(head_of(POOL, position=100, agents=2), EPOCH + 1, {"elo": LiveBoard(["paper"], [2.0])})
        return trim(*arguments)

    monkeypatch.setattr(store.live, "_trim", late)
    assert not store.live.publish(head_of(POOL, position=99, agents=1), EPOCH, {"elo": LiveBoard(["scissors"], [3.0], total=1)})
    page = store.live.page(POOL, "elo", 0, 100)
    assert page is not None
    assert {row.agent for row in page.rows} == {"rock", "paper", "scissors"}


def unbuilt(store: RedisStore) -> Driver:
    """A restored pool of generation 1 whose generation 2 served, and cannot be folded again."""
    partition = recovered(60)
    made = partition.pools[POOL]
    partition.readers.hidden.add(POOL)
    build = Build(made.created, msgspec.structs.replace(made.generation, number=2))
    partition.begin(build)
    build.fail("the log holds 7 to 9")
    return taking_over(store, partition)


@pytest.mark.parametrize("lose", [lambda raw: raw.flushall(), lambda raw: raw.delete(KEYS.head(POOL))], ids=["all", "head"])
def test_an_intact_generation_is_shown_where_the_store_lost_a_later_one_that_cannot_be_folded_again(
    store: RedisStore, other: RedisStore, raw: redis.Redis, lose: Callable[[redis.Redis], object]
) -> None:
    publish_before(other, 99, generation=2)
    driver = unbuilt(store)
    rounds(driver)
    head = store.live.head(POOL)
    assert head is not None
    assert (head.generation, head.position) == (2, 99)
    assert "could not be folded again" in (head.stopped or "")
    lose(raw)
    for again in (driver, unbuilt(store)):  # also after the next start
        rounds(again)
        again.partition.position += 10
        rounds(again)
        head = store.live.head(POOL)
        assert head is not None
        assert (head.generation, head.position, head.stopped) == (1, 70, None)
        assert head.building is not None
        assert head.building.failed == "the log holds 7 to 9"
        assert_whole(store, again)


@pytest.mark.parametrize("shard", [True, False], ids=["waits", "careless"])
@pytest.mark.parametrize("compares", [True, False], ids=["compares", "takes anything"])
def test_each_of_two_guards_alone_takes_no_reader_back(
    store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch, shard: bool, compares: bool
) -> None:
    """The shard waits, and the store compares."""
    publish_before(other, 99)
    if not shard:
        monkeypatch.setattr(BoardWriter, "_ask", careless)
    if not compares:
        without_comparison(monkeypatch)
    driver = taking_over(store, recovered(60))
    driver.partition.pools[POOL].changes.mark_all()
    rounds(driver)
    assert shown(store) == ((1, 99) if shard or compares else (1, 60))


@pytest.mark.parametrize("fence", [(EPOCH - 1, 2, 100), (EPOCH + 1, 1, 101), (EPOCH + 1, 3, 99)], ids=["epoch", "generation", "position"])
def test_the_store_refuses_an_epoch_a_generation_and_a_position_each_by_itself(
    store: RedisStore, other: RedisStore, raw: redis.Redis, fence: tuple[int, int, int]
) -> None:
    publish_before(other, 100, generation=2, epoch=EPOCH)
    before, (epoch, generation, position) = snapshot(raw), fence
    board = {"elo": LiveBoard(["rock"], [2.0], total=1)}
    assert not store.live.publish(head_of(POOL, generation=generation, position=position), epoch, board)
    assert snapshot(raw) == before


def owner(position: int, *, outcomes: int = CHECKPOINT) -> Partition:
    """A partition at `position` whose pool has folded so many games from the beginning."""
    partition = Partition(0, 1, position)
    state = partition.pools[POOL] = state_of(POOL, fold=FoldSettings(online={"elo": {}}))
    if outcomes:
        fold_events(state, [simulated.game(i, float(i)) for i in range(outcomes)])
    return partition


def successor(store: RedisStore, position: int, *, outcomes: int = CHECKPOINT) -> Driver:
    """A shard that has restored the same pool from a checkpoint."""
    partition = owner(position, outcomes=outcomes)
    state = partition.pools[POOL]
    state.recovered_at = CHECKPOINT
    state.changes.take()
    return taking_over(store, partition)


def ratings(store: RedisStore) -> dict[str, float | None]:
    page = store.live.page(POOL, "elo", 0, 100)
    assert page is not None
    return {row.agent: row.rating for row in page.rows}


def folded(partition: Partition) -> dict[str, float]:
    state = partition.pools[POOL]
    agents = state.content.agents.names()
    reading = state.content.ratings.read("elo", state.content.agents.lookup(agents))
    return dict(zip(agents, reading.rating.tolist(), strict=True))


@pytest.mark.parametrize("decided", ["at the start", "later"])
def test_rows_of_a_publication_that_was_cut_off_are_replaced_though_their_records_were_skipped(
    store: RedisStore, other: RedisStore, monkeypatch: pytest.MonkeyPatch, decided: str
) -> None:
    """The previous owner published 95, folded record 95, wrote its rows, and died before the commit. An operator skips record 95."""
    before = owner(95)
    driver = Driver(other.live, before, epoch=EPOCH - 1)
    rounds(driver, 2)
    assert shown(store) == (1, 95)
    content = before.pools[POOL].content
    sides = [events.Side([content.agents.names()[0]], 1), events.Side(["only in a skipped record"], 2)]
    fold_events(before.pools[POOL], [events.GameEvent(v=1, id="skipped", pool=POOL, time=90.0, sides=sides)])
    before.position = 96

    def die(*_: object) -> bool:
        raise StoreError("killed", retriable=True)

    with monkeypatch.context() as killed:
        killed.setattr(other.live, "_commit", die)
        rounds(driver, 1)
    after = successor(store, 95)
    after.content.left_out = 95 if decided == "at the start" else None
    rounds(after)
    after.content.left_out = 95
    after.partition.position = 96
    after.partition.pools[POOL].changes.mark_head()
    rounds(after)
    assert shown(store) == (1, 96)
    assert ratings(store) == folded(after.partition)
    assert after.publisher.figures.counts["store_losses"] == 0


def test_a_lost_fence_lets_no_paused_owner_publish_an_earlier_position(store: RedisStore, other: RedisStore, raw: redis.Redis) -> None:
    paused = Driver(other.live, owner(110), epoch=EPOCH - 1)
    rounds(paused, 3)
    assert shown(store) == (1, 110)
    rounds(successor(store, 120))
    assert shown(store) == (1, 120)
    raw.delete(KEYS.fence(POOL))
    rounds(paused)
    assert shown(store) == (1, 120)


def test_a_board_whose_outcomes_were_all_skipped_becomes_empty(store: RedisStore, other: RedisStore) -> None:
    rounds(Driver(other.live, owner(100), epoch=EPOCH - 1), 2)
    assert ratings(store)
    after = successor(store, 100, outcomes=0)
    after.content.left_out = 60
    rounds(after)
    assert ratings(store) == {}
