"""A reader of server-sent events: parses a stream of the API as a browser does."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from tests.support.http import PLAIN
from tests.support.waiting import PATIENCE


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
