"""Limits of one connection: how many there are, how long a request's head may take, and how large it may be."""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
"""Deadline for the head of a request, and for the first byte of a new connection."""
HEAD_BYTES: Final = 64 << 10

_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's HTTP connection with what uvicorn lacks: a deadline for a request's head, a limit for its size, and a limit for the number
    of connections that also holds for those which send nothing.
    """

    most = 8192
    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse one too many, or wait for a head."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._end(_FULL)
        else:
            self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait for a head."""
        self._stop_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head."""
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES:
            self._end(_LARGE)

    def on_message_begin(self) -> None:
        """Start the deadline of a request's head."""
        super().on_message_begin()
        self._begin_head()

    def on_headers_complete(self) -> None:
        """End the deadline of a request's head."""
        self._in_head, self._head_bytes = False, 0
        self._stop_deadline()
        super().on_headers_complete()

    def _begin_head(self) -> None:
        self._in_head = True
        self._stop_deadline()
        self._deadline = self.loop.call_later(self.head_seconds, self._end, _SLOW)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self, answer: bytes) -> None:
        self._stop_deadline()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()


def limited(most: int, head_seconds: float = HEAD_SECONDS) -> type[LimitedConnection]:
    """The connections of one server: at most `most` are open, a further one is answered 503 and closed."""
    return type("Connection", (LimitedConnection,), {"most": most, "head_seconds": head_seconds})
