"""Long query strings are refused or answered, and none of them is remembered."""

from contextlib import closing
from pathlib import Path

import pytest

from services.api import fast_path
from services.api.app import create_app
from services.api.fast_path import asked_for
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.api import status

PARTS = [b"count=5&", b"x=1&", b"&", b"=", b"%", b"%41", b"%4", b"%ff", b"+", b"9", b";"]


@pytest.mark.parametrize("path", ["/v1/pools/blitz/boards/elo", "/v1/pools"])
def test_long_queries_are_refused_or_answered(tmp_path: Path, api_redis: str, path: str) -> None:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 8)) as log, closing(RedisStore(api_redis, log.outcomes.identity)) as store:
        app = create_app(Settings(data=tmp_path, redis=api_redis), log, store)
        assert [part for part in PARTS if status(app, path, b"count=" + part * 1000) >= 500] == []


def test_long_queries_are_not_remembered() -> None:
    before = fast_path._asked_for.cache_info().currsize
    for number in range(50):
        assert asked_for("/v1/pools/blitz/boards/elo", b"count=5&start=%d" % number + b"&" * 5000) is None
    assert fast_path._asked_for.cache_info().currsize == before
