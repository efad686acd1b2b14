"""Stores on a real, empty server, with functions to write and read boards. A test module imports the fixtures that it uses."""

from collections.abc import Iterator

import pytest
import redis

from services.boards.store.keys import Keys
from services.boards.store.protocol import LiveBoard
from services.boards.store.redis import RedisStore
from tests.support.redis import flush

LOG = "log"
"""Log identity of these stores."""
KEYS = Keys(LOG)


@pytest.fixture
def raw(redis_url: str) -> Iterator[redis.Redis]:
    flush(redis_url)
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def store(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, LOG)
    yield store
    store.close()


@pytest.fixture
def other(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, LOG)
    yield store
    store.close()


def live(**ratings: float) -> dict[str, LiveBoard]:
    return {"elo": LiveBoard(list(ratings), list(ratings.values()))}


def names(store: RedisStore, method: str = "elo") -> list[tuple[str, float | None, int | None]]:
    page = store.live.page("blitz", method, 0, 100)
    assert page is not None
    return [(row.agent, row.rating, row.rank) for row in page.rows]


def snapshot(raw: redis.Redis) -> dict[str, bytes]:
    return {key: redis.Redis.execute_command(raw, "DUMP", key, NEVER_DECODE=True) for key in sorted(raw.keys())}
