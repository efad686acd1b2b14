"""Readers of server-sent events: one that parses a stream of the API as a browser does, and one that takes nothing."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of
from tests.support.http import PLAIN
from tests.support.waiting import PATIENCE, until

LARGE_POOL = "blitz"
_NAMES = [f"{number:03}{'x' * 150}" for number in range(200)]


class Event(NamedTuple):
    """An event. name: empty for a comment, whose text is `data`. id: the last id of the stream so far."""

    name: str
    data: Any
    id: str


class Events:
    """The events of one open stream. Reading waits for the next event."""

    def __init__(self, response: httpx.Response) -> None:
        self.response, self.id = response, ""
        self._events = self._parsed()

    def __iter__(self) -> Iterator[Event]:
        """All further events, comments included."""
        return self._events

    def next(self, name: str, holds: Callable[[Any], bool] = lambda _: True) -> Event:
        """The next event of this name whose data has a property. Other events are left out."""
        return next(event for event in self._events if event.name == name and holds(event.data))

    def until_pool(self) -> list[Event]:
        """The events up to the next `pool` event, which ends a state. Comments are left out."""
        found: list[Event] = []
        while not found or found[-1].name != "pool":
            found += [event for event in [next(self._events)] if event.name]
        return found

    def rest(self) -> list[Event]:
        """All further events until the stream ends."""
        return [event for event in self._events if event.name]

    def comment(self) -> str:
        """The text of the next comment."""
        return str(self.next("").data)

    def _parsed(self) -> Iterator[Event]:
        name, data = "", ""
        for line in self.response.iter_lines():
            field, _, value = line.partition(": ")
            if field == "" and value:
                yield Event("", value, self.id)
            elif field == "id":
                self.id = value
            elif field == "event":
                name = value
            elif field == "data":
                data += value
            elif not line and name:
                yield Event(name, json.loads(data), self.id)
                name, data = "", ""


@contextmanager
def stream(url: str, path: str = "/v1/pools/blitz/stream", last_id: str = "", **parameters: object) -> Iterator[Events]:
    """Open a stream for the length of a block."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with (
        httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False, verify=PLAIN) as client,
        client.stream("GET", path, params=parameters, headers=headers) as response,  # type: ignore[arg-type]
    ):
        assert response.status_code == 200, response.read()
        yield Events(response)


def metric(url: str, name: str) -> float:
    """A metric without labels of an API."""
    text = httpx.get(f"{url}/metrics", timeout=PATIENCE, trust_env=False, verify=PLAIN).text
    return float(next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[1])


def publish_large(store: RedisStore, position: int) -> None:
    """Publish a state of `LARGE_POOL` with about 200 kB of rows, which are all new."""
    board = LiveBoard(_NAMES, [float(position + number) for number in range(len(_NAMES))])
    online = ["elo", "sco", "glicko2", "weng_lin"]
    head = head_of(LARGE_POOL, position=position, online=online)
    assert store.live.publish(head, 1, {**dict.fromkeys(online, board), ACTIVITY: board})


@contextmanager
def idle_reader(url: str, store: RedisStore) -> Iterator[socket.socket]:
    """Open a stream of `LARGE_POOL`, in which one state is published, and read nothing of it."""
    publish_large(store, 1)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        connection.sendall(f"GET /v1/pools/{LARGE_POOL}/stream?count=200 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        until(lambda: metric(url, "equirank_api_streams") == 1, "the stream is open")
        yield connection


def fill_buffers(url: str, store: RedisStore) -> int:
    """Publish until the only other stream, of a reader that takes nothing, is sent nothing more. Returns the last position."""
    position = 1
    with stream(url, f"/v1/pools/{LARGE_POOL}/stream", methods="elo", count=1) as quick:
        quick.until_pool()

        def sent_to_the_quick_reader_only() -> bool:
            nonlocal position
            before, position = metric(url, "equirank_api_stream_events_total"), position + 1
            publish_large(store, position)
            assert quick.next("pool").data["position"] == position
            return metric(url, "equirank_api_stream_events_total") == before + 2  # its board and its pool

        until(lambda: all(sent_to_the_quick_reader_only() for _ in range(3)), "the idle reader is sent nothing more")
    return position
