"""A refused request leaves nothing of its body in memory, although the garbage collector runs rarely."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType

import pytest
from litestar.types import Message

from services.api.app import create_app
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings

ROUTES = {"send_outcomes", "create_pool", "get_board", "run", "take"}
"""Functions of the API and of its workers that hold a request."""
GOOD = b'{"v":1,"pool":"blitz","sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def frames() -> list[str]:
    """Names of those of our functions whose frames are still in memory."""
    held = [one for one in gc.get_objects() if type(one) is FrameType]  # isinstance would ask a weak proxy for the class of a dead object
    return [one.f_code.co_name for one in held if one.f_code.co_name in ROUTES and "services/api" in one.f_code.co_filename]


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/outcomes", GOOD, 202),
        ("POST", "/v1/outcomes", b'{"v":1}', 422),
        ("POST", "/v1/outcomes", b"[", 422),
        ("POST", "/v1/outcomes", b"x" * (1 << 21), 413),
        ("PUT", "/v1/pools/blitz", b"{", 422),
        ("PUT", "/v1/pools/-", b'{"kind":"games"}', 422),
        ("GET", "/v1/pools/blitz/boards/elo", b"", 404),
    ],
)
def test_an_answered_request_is_released(tmp_path: Path, api_redis: str, method: str, path: str, body: bytes, status: int) -> None:
    async def asked(app: object) -> int:
        sent, parts = list[Message](), [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> object:
            return parts.pop() if parts else await asyncio.Event().wait()

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http", "path": path,
            "root_path": "", "raw_path": path.encode(), "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1), "server": None,
        }  # fmt: skip
        await app(scope, receive, send)  # type: ignore[operator]
        return int(sent[0]["status"])

    with closing(open_sqlite_log(tmp_path / "log.sqlite", 8)) as log, closing(RedisStore(api_redis, log.outcomes.identity)) as store:
        app = create_app(Settings(data=tmp_path, redis=api_redis), log, store)
        assert asyncio.run(asked(app)) == status
        assert frames() == []
