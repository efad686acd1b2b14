"""Lines and server-sent events from chunks of bytes. Nothing here reads a socket."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

_MOST_DIGITS: Final = 12
"""Digits of `retry` that are read. More mean a pause beyond the longest one anyway."""
_LONGEST_PAUSE: Final = 60.0
"""Longest pause before a reconnection, in seconds, whatever the server asks for."""


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event.

    Attributes:
        name: Its type; `message` if the server names none.
        data: Its text.
        id: Id of this event or of the last one before it that had an id; empty without one.
    """

    name: str
    data: str
    id: str = ""

    def json(self) -> Any:
        """Return the data, decoded from JSON."""
        return msgspec.json.decode(self.data)


class Lines:
    """Splits chunks at line feeds alone: other line ends of Unicode may stand inside of JSON."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes, without line feeds."""
        if b"\n" not in chunk:
            self._rest += chunk
            return []
        head, *lines = chunk.split(b"\n")
        found = [bytes(self._rest) + head, *lines[:-1]]
        self._rest = bytearray(lines[-1])
        return found

    def rest(self) -> bytes:
        """Return the last line, if it has no line feed."""
        return bytes(self._rest)


class EventParser:
    """Parses a stream of server-sent events, as the HTML standard says.

    Attributes:
        last_id: Id of the last complete event; to be sent as `Last-Event-ID`.
        retry_seconds: The pause before a reconnection that the server asked for; None if it did not.
    """

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry_seconds: float | None = None
        self.restart()

    def restart(self) -> None:
        """Begin a new connection: an event that was cut off is dropped."""
        self._rest, self._first = b"", True
        self._name, self._id, self._data = "", self.last_id, list[str]()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that `chunk` completes."""
        text = self._rest + chunk
        if self._first and len(text) >= 3:
            text, self._first = text.removeprefix(b"\xef\xbb\xbf"), False
        held = text.endswith(b"\r")  # the line feed may follow in the next chunk
        lines = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + (b"\r" if held else b"")
        for line in lines:
            if (event := self._line(line.decode("utf-8", "replace"))) is not None:
                yield event

    def _line(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_seconds = min(int(value[:_MOST_DIGITS]) / 1000, _LONGEST_PAUSE)
        return None  # a comment, or a field that the standard does not name

    def _dispatch(self) -> Event | None:
        self.last_id = self._id
        name, data = self._name or "message", self._data
        self._name, self._data = "", []
        return Event(name, "\n".join(data), self.last_id) if data else None
