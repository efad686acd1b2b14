"""Run the API with real parts: uvicorn on a loopback port, a SQLite log and a Redis server of the test."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
import jsonschema
import uvicorn
from litestar.types import ASGIApp, Message

from services.api.app import create_app, openapi_document
from services.boards.store.redis import RedisStore
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.http import PLAIN
from tests.support.waiting import PATIENCE

NOW = 1_000_000.0


@dataclass
class Running:
    client: httpx.Client
    url: str
    log: Log
    store: RedisStore

    def records(self) -> list[tuple[int, bytes | None, bytes]]:
        """(partition, key, value) of all records in the outcome log."""
        topic = self.log.outcomes
        found = []
        for partition in range(topic.partitions):
            if topic.end(partition) > topic.begin(partition):
                reader = topic.reader({partition: topic.begin(partition)})
                found += [(partition, record.key, record.value) for record in reader.poll(1.0, 10_000)[partition]]
                reader.close()
        return found


@cache
def _described() -> Mapping[str, object]:
    """The document that `/openapi.json` sends: test_described.py compares them."""
    return openapi_document()


def check_answer(answer: object, kind: str) -> None:
    """Raise `jsonschema.ValidationError` if an answer is not of a type of the OpenAPI document."""
    jsonschema.validate(answer, {"$ref": f"#/components/schemas/{kind}", **_described()})


@contextmanager
def running(
    folder: Path, redis_url: str, clock: Callable[[], float] = lambda: NOW, *, patience: float | None = None, **settings: object
) -> Iterator[Running]:
    """A running API with an HTTP client. patience: argument of the API's `RedisStore`; settings: fields of `Settings`."""
    log = open_sqlite_log(folder / "log.sqlite", 8)
    store = RedisStore(redis_url, log.outcomes.identity, patience=patience)
    app = create_app(Settings(data=folder, redis=redis_url, **settings), log, store, clock=clock)
    try:
        with (
            served(app) as url,
            httpx.Client(base_url=url, headers={"Host": "127.0.0.1:8000"}, timeout=PATIENCE, trust_env=False, verify=PLAIN) as client,
        ):
            yield Running(client, url, log, store)
    finally:
        log.close()
        store.close()


@contextmanager
def served(app: ASGIApp, connections: int | None = None) -> Iterator[str]:
    """Serve an application on a free loopback port. Yields its URL. connections: limit of connections, as `serve` sets it."""
    # with an explicit protocol, because asyncio disables Nagle's algorithm only for such sockets
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            http="httptools",
            ws="none",
            limit_concurrency=None if connections is None else connections + 1,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.002)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def status(app: ASGIApp, path: str, query: bytes) -> int:
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
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    return int(sent[0]["status"])
