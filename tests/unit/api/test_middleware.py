"""What goes around every request, seen without a network: clients that hang up, and faults of our own."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.types import Message, Receive, Scope, Send

from services.api.app import create_app
from services.api.middleware import RequestMiddleware
from services.api.security import Access
from services.boards.store.redis import RedisStore
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.metrics import API, Metrics
from services.runtime.settings import Settings
from tests.support.stores import LOG


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 8)
    yield log
    log.close()


def request(path: str, method: str = "POST") -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json"), (b"content-length", b"100")]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": method, "path": path}
    return {**scope, "raw_path": path.encode(), "query_string": b"", "headers": headers, "client": None, "server": ("127.0.0.1", 8000)}


def asked(app: Any, *received: Message, path: str = "/v1/outcomes") -> list[Message]:
    """What the application sends to a client from whom it receives these messages."""
    sent: list[Message] = []
    waiting = iter(received)

    async def receive() -> Message:
        return next(waiting)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(request(path), receive, send))
    return sent


def test_a_client_that_hangs_up_is_no_failure_and_writes_nothing(log: Log, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(data=tmp_path)
    store = RedisStore("unix:///nowhere", LOG)
    app = create_app(settings, log, store, clock=lambda: 0.0)
    half = {"type": "http.request", "body": b'[{"v": 1, "id": "half', "more_body": True}
    with caplog.at_level(logging.INFO, "equirank.api"):
        assert asked(app, half, {"type": "http.disconnect"}) == []
    assert [(record.levelno, record.exc_info) for record in caplog.records] == [(logging.INFO, None)]
    assert "499" in caplog.text
    assert all(log.outcomes.end(number) == 0 for number in range(8))
    store.close()


def test_a_fault_of_ours_is_answered_logged_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("broken")

    metrics = Metrics(API)
    sent = asked(RequestMiddleware(broken, Access(Settings(data=tmp_path)), metrics))
    assert (sent[0]["status"], sent[0]["type"]) == (500, "http.response.start")
    assert "RuntimeError: broken" in caplog.text
    assert b'equirank_http_requests_total{method="POST",route="none",status="500"} 1.0' in metrics.text()
