"""Limits of connections: their number, the time and size of a request's head, and the slowness of readers."""

import asyncio
import socket
import struct
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
"""Deadline for the head of a request, and for the first byte of a new connection."""
HEAD_BYTES: Final = 64 << 10
READ_SECONDS: Final = 30.0
"""A client is disconnected if the server's write buffer for it has stayed too full for this long."""
UNREAD_BYTES: Final = 64 << 20
"""Limit of bytes that wait for slow readers, on all connections together."""

_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Unread:
    """Counts the bytes that wait for slow readers, on all connections of a server. held: the count; most: its limit."""

    def __init__(self, most: int = UNREAD_BYTES) -> None:
        self.most, self.held = most, 0


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's HTTP connection with additional limits.

    It adds a deadline and a size limit for a request's head, a limit for the number of connections that includes idle ones, a deadline for
    slow readers of answers, and a limit for the bytes that wait for them.
    """

    most = 8192
    head_seconds = HEAD_SECONDS
    read_seconds = READ_SECONDS
    unread = Unread()
    _deadline: asyncio.TimerHandle | None = None
    _reader_deadline: asyncio.TimerHandle | None = None
    _unread_bytes = 0
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse the connection if there are too many; otherwise start the deadline of the first head."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._end(_FULL)
        else:
            self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the deadlines of the head and of the reader."""
        self._stop_deadline()
        self._stop_reader_deadline()
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

    def pause_writing(self) -> None:
        """Handle a full write buffer: start the reader's deadline, or disconnect the client if too many bytes wait on all connections."""
        super().pause_writing()
        self._unread_bytes = self.transport.get_write_buffer_size()
        self.unread.held += self._unread_bytes
        if self.unread.held > self.unread.most:
            self._reset()
        else:
            self._reader_deadline = self.loop.call_later(self.read_seconds, self._reset)

    def resume_writing(self) -> None:
        """Handle a drained write buffer: end the reader's deadline."""
        self._stop_reader_deadline()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection. If the client has not read all of the answer, reset it, because closing would wait for the client."""
        if self.transport.get_write_buffer_size():
            self._reset()
        super().timeout_keep_alive_handler()

    def _reset(self) -> None:
        """Reset the connection, so that neither this process nor the kernel keeps unread bytes."""
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop_reader_deadline(self) -> None:
        self.unread.held -= self._unread_bytes
        self._unread_bytes = 0
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None

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
            if self.transport.get_write_buffer_size():
                self._reset()


def limited(
    most: int, head_seconds: float = HEAD_SECONDS, read_seconds: float = READ_SECONDS, unread_bytes: int = UNREAD_BYTES
) -> type[LimitedConnection]:
    """Return the connection class of one server, with its limits.

    Args:
        most: Most open connections. A further one is answered 503 and closed.
        head_seconds: Deadline for a request's head.
        read_seconds: Deadline for a client that does not read its answer.
        unread_bytes: Most bytes that wait for slow readers on all connections together. A client that would exceed it is disconnected.

    """
    limits = {"most": most, "head_seconds": head_seconds, "read_seconds": read_seconds, "unread": Unread(unread_bytes)}
    return type("Connection", (LimitedConnection,), limits)
