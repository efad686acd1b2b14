"""Long query strings are refused or answered, and no unknown one is remembered."""

from contextlib import closing
from pathlib import Path

import pytest
from litestar._parsers import parse_query_string

from services.api.app import create_app
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.api import status

PARTS = [b"count=5&", b"x=1&", b"&", b"=", b"%", b"%41", b"%4", b"%ff", b"+", b"9", b";"]


@pytest.mark.parametrize("path", ["/v1/pools/blitz/boards/elo", "/v1/pools"])
@pytest.mark.parametrize("times", [1, 1000, 100_000])
def test_long_queries_are_refused_or_answered(tmp_path: Path, api_redis: str, path: str, times: int) -> None:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 8)) as log, closing(RedisStore(api_redis, log.outcomes.identity)) as store:
        app = create_app(Settings(data=tmp_path, redis=api_redis), log, store)
        assert [part for part in PARTS if status(app, path, b"count=" + part * times) >= 500] == []


def test_queries_that_are_refused_are_not_remembered(tmp_path: Path, api_redis: str) -> None:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 8)) as log, closing(RedisStore(api_redis, log.outcomes.identity)) as store:
        app = create_app(Settings(data=tmp_path, redis=api_redis), log, store)
        before = parse_query_string.cache_info().currsize
        for query in (b"x=%d", b"count=5&count=%d", b"count=%d" + b"&" * 9000):
            assert 400 <= status(app, "/v1/pools/blitz/boards/elo", query.replace(b"%d", b"7")) < 500
        assert parse_query_string.cache_info().currsize == before
