"""Query strings: the time to refuse or answer one grows as its size does, and none of them is remembered."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.types import Message

from services.api import fast_path
from services.api.app import create_app
from services.api.fast_path import asked_for
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.hostile import growth

FAMILIES = {
    "one parameter again and again": b"count=5&",
    "unknown parameters": b"x=1&",
    "separators": b"&",
    "equals signs": b"=",
    "percent signs": b"%",
    "escapes": b"%41",
    "half escapes": b"%4",
    "escaped bytes that are no UTF-8": b"%ff",
    "plus signs": b"+",
    "digits": b"9",
    "semicolons": b";",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, api_redis: str) -> Iterator[FastAPI]:
    folder: Path = tmp_path_factory.mktemp("queries")
    with closing(open_sqlite_log(folder / "log.sqlite", 8)) as log, closing(RedisStore(api_redis, log.outcomes.identity)) as store:
        yield create_app(Settings(data=folder, redis=api_redis), log, store)


def status(app: FastAPI, path: str, query: bytes) -> int:
    """The status of one GET, without a server."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": path, "root_path": "",
        "raw_path": path.encode(), "query_string": query, "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1), "server": None,
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return int(sent[0]["status"])


def family(part: bytes, head: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: head + part * (size // len(part))


@pytest.mark.parametrize("path", ["/v1/pools/blitz/boards/elo", "/v1/pools"])
@pytest.mark.parametrize("part", FAMILIES.values(), ids=list(FAMILIES))
def test_a_query_takes_time_linear_in_its_length(app: FastAPI, part: bytes, path: str) -> None:
    status(app, path, b"count=1")  # OpenAPI is built once
    why = growth(family(part, b"count="), lambda query: status(app, path, query))
    assert why is None, why
    assert status(app, path, b"count=" + part * 1000) < 500


def test_long_queries_are_not_remembered() -> None:
    before = fast_path._asked_for.cache_info().currsize
    for number in range(50):
        assert asked_for("/v1/pools/blitz/boards/elo", b"count=5&start=%d" % number + b"&" * 5000) is None
    assert fast_path._asked_for.cache_info().currsize == before
