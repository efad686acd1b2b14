"""Settled and provisional agents of live boards, on real servers, beside a plain model of them."""

import random

import msgspec
import pytest
import redis

from ratings_core.errors import InputError
from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.store.live import MEMBERS_A_CALL
from services.boards.store.protocol import ACTIVITY, LiveBoard, StoreLost
from services.boards.store.redis import RedisStore
from services.control.records import FoldSettings
from services.demo import simulated
from services.runtime.settings import Provisional
from services.shard.partition import Partition
from services.shard.publishing.publisher import Publisher
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.publishing import Driver
from tests.support.redis import redis_url
from tests.support.stores import KEYS, other, raw, store

__all__ = ["other", "raw", "redis_url", "store"]
Model = dict[str, tuple[float, bool]]
"""Agent -> rating and mark."""


def order(model: Model) -> list[tuple[str, float, int | None]]:
    """Agents, ratings and ranks: settled agents first, each part best first, ties by name."""
    rows = sorted(model.items(), key=lambda item: (item[1][1], -item[1][0], item[0].encode()))
    settled = [rating for rating, mark in model.values() if not mark]
    return [(name, rating, None if mark else 1 + sum(other > rating for other in settled)) for name, (rating, mark) in rows]


def written(model: Model, total: int | None = None) -> dict[str, LiveBoard]:
    values = list(model.values())
    board = LiveBoard(list(model), [rating for rating, _ in values], total=total, provisional=[mark for _, mark in values])
    return {"elo": board, ACTIVITY: LiveBoard(list(model), [float(i) for i in range(len(model))])}


def shown(store: RedisStore, start: int = 0, count: int = 1000) -> list[tuple[str, float | None, int | None]]:
    page = store.live.page("blitz", "elo", start, count)
    assert page is not None
    assert [row.provisional for row in page.rows] == [row.rank is None for row in page.rows]
    return [(row.agent, row.rating, row.rank) for row in page.rows]


@pytest.mark.parametrize("seed", range(3))
def test_every_read_is_that_of_a_plain_model_while_agents_settle_and_ratings_move(store: RedisStore, seed: int) -> None:
    rng, model = random.Random(seed), Model()
    for position in range(1, 12):
        changed: Model = {f"a{rng.randrange(30):02}": (float(rng.randrange(6)), rng.random() < 0.4) for _ in range(rng.choice((1, 5, 20)))}
        model |= changed
        assert store.live.publish(head_of(position=position, online=["elo"]), 1, written(changed, len(model)))
        rows = order(model)
        page = store.live.page("blitz", "elo", 0, 1)
        assert page is not None
        assert (page.total, page.ranked) == (len(model), sum(not mark for _, mark in model.values()))
        for start in range(0, len(model) + 2, 3):
            for count in (1, 4, 100):
                assert shown(store, start, count) == rows[start : start + count]
        names, head = [name for name, *_ in rows], store.live.head("blitz")
        assert head is not None
        for at in range(0, len(rows), 4):
            near = store.live.around("blitz", "elo", names[at], 5)
            assert near is not None
            begin = max(0, min(at - 2, len(rows) - 5))
            assert [(row.agent, row.rating, row.rank) for row in near.rows] == rows[begin : begin + 5]
        asked = [*rng.sample(names, len(names)), "nobody"]
        assert store.live.in_order(head, "elo", asked) == [(name, rank is None) for name, _, rank in rows]
        assert store.live.ratings_of(head, "elo", asked) == [model[name][0] if name in model else None for name in asked]
        strengths = store.live.strengths(head, "elo", asked)
        assert [None if one is None else one.mean for one in strengths] == [model[name][0] if name in model else None for name in asked]
        alone = [None if one is None else one.rows[0].rank for one in store.live.rows_of(head, "elo", asked)]
        ranks = {name: rank for name, _, rank in rows}
        assert alone == [ranks.get(name) for name in asked]


def test_an_agent_is_in_one_of_the_two_sets_and_its_belief_stays(store: RedisStore, raw: redis.Redis) -> None:
    head = head_of(online=["glicko2"], beliefs={"glicko2": BeliefModel(newcomer=350.0)})
    for mark, deviation in ((True, 200.0), (False, 100.0), (True, 90.0), (False, 80.0)):
        board = LiveBoard(["ann"], [1500.0], [Belief(deviation)], provisional=[mark])
        assert store.live.publish(head, 1, {"glicko2": board})
        settled, provisional = (raw.zrange(key("blitz", 1, "glicko2"), 0, -1) for key in (KEYS.live, KEYS.provisional))
        assert (settled, provisional) == (([], ["ann"]) if mark else (["ann"], []))
        page = store.live.page("blitz", "glicko2", 0, 1)
        assert page is not None
        assert [(row.rank, row.deviation) for row in page.rows] == [(None if mark else 1, deviation)]


def test_a_board_of_many_parts_is_whole(store: RedisStore) -> None:
    model: Model = {f"agent-{i:04}": (float(i % 97), i % 3 == 0) for i in range(3 * MEMBERS_A_CALL + 7)}
    assert store.live.publish(head_of(online=["elo"]), 1, written(model, len(model)))
    assert shown(store) == order(model)


@pytest.mark.parametrize("name", ["live", "provisional"])
def test_a_set_that_the_store_lost_is_detected(store: RedisStore, raw: redis.Redis, name: str) -> None:
    model: Model = {"a": (3.0, False), "b": (2.0, True)}
    assert store.live.publish(head_of(position=1, online=["elo"]), 1, written(model, 2))
    raw.delete(getattr(KEYS, name)("blitz", 1, "elo"))
    with pytest.raises(StoreLost):
        store.live.publish(head_of(position=2, online=["elo"]), 1, written({}, 2))
    assert store.live.publish(head_of(position=2, online=["elo"]), 1, written(model, 2))
    assert shown(store) == order(model)


def test_a_complete_board_removes_other_agents_from_both_sets(store: RedisStore) -> None:
    assert store.live.publish(head_of(position=1, online=["elo"]), 1, written({"a": (3.0, False), "b": (2.0, True), "c": (1.0, True)}))
    model: Model = {"c": (1.0, False)}
    assert store.live.publish(head_of(position=2, online=["elo"]), 1, written(model, 1))
    assert shown(store) == order(model)


def test_a_generation_that_was_left_expires_and_a_pool_is_removed_with_both_sets(store: RedisStore, raw: redis.Redis) -> None:
    model: Model = {"a": (3.0, False), "b": (2.0, True)}
    assert store.live.publish(head_of(position=1, online=["elo"]), 1, written(model, 2))
    assert store.live.publish(head_of(position=2, generation=2, online=["elo"]), 1, written(model, 2))
    for key in (KEYS.live, KEYS.provisional):
        assert 0 < raw.ttl(key("blitz", 1, "elo")) <= 60
        assert raw.ttl(key("blitz", 2, "elo")) == -1
    assert store.live.forget("blitz", 1)
    assert [key for key in raw.scan_iter() if ":2:" in key] == []


@pytest.mark.parametrize("before", [5, None], ids=["another setting", "an earlier release"])
def test_boards_that_separated_other_agents_are_separated_by_the_next_shard(
    store: RedisStore, raw: redis.Redis, before: int | None
) -> None:
    partition = Partition(0, 1)
    state = partition.pools["blitz"] = state_of("blitz", fold=FoldSettings(online={"elo": {}}))
    assert fold_events(state, [simulated.game(i, float(i)) for i in range(25)]) == []
    partition.position = 25
    played = dict(zip(state.content.agents.names(), state.content.ratings.activity.tolist(), strict=False))

    def provisional() -> set[str]:
        return {name for name, _, rank in shown(store) if rank is None}

    first = Driver(store.live, partition)
    first.publisher = Publisher(store.live, 0.2, first.content, limits=Provisional(before or 10))
    first.round()
    assert provisional() == {name for name, count in played.items() if count < (before or 10)}
    if before is None:  # all agents in one set, and no number in the head
        raw.zunionstore(KEYS.live("blitz", 1, "elo"), [key("blitz", 1, "elo") for key in (KEYS.live, KEYS.provisional)])
        raw.delete(KEYS.provisional("blitz", 1, "elo"))
        head = msgspec.json.decode(raw.get(KEYS.head("blitz")))
        raw.set(KEYS.head("blitz"), msgspec.json.encode({name: value for name, value in head.items() if name != "provisional_outcomes"}))
        assert provisional() == set()
    second = Driver(store.live, partition, epoch=first.epoch + 1)
    for _ in range(3):
        second.round()
    assert provisional() == {name for name, count in played.items() if count < 10}
    found = store.live.head("blitz")
    assert found is not None
    assert found.provisional_outcomes == 10
    for driver in (first, second):
        driver.publisher.drain(driver.now, {}, {})


@pytest.mark.parametrize("marks", [[True], [True, False, True]])
def test_marks_of_another_number_of_agents_are_refused(store: RedisStore, marks: list[bool]) -> None:
    with pytest.raises(InputError, match="marks for each one"):
        store.live.publish(head_of(), 1, {"elo": LiveBoard(["a", "b"], [1.0, 2.0], provisional=marks)})
