"""A TCP proxy on loopback that simulates a failing network: it forwards, delays or discards bytes, or resets its connections.

Clients of Redis connect to it instead of the server. Clients of Kafka get the brokers' addresses from the brokers themselves. They use the
proxy as an HTTP proxy, and send the broker's address in a CONNECT request (option `proxy_url` of kafka-python).
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any, Final

from tests.support.waiting import PATIENCE

_CHUNK: Final = 65_536
_RESET: Final = struct.pack("ii", 1, 0)
"""Socket option SO_LINGER with 0 seconds: closing the socket sends RST."""


class Mode(Enum):
    """Treatment of bytes and of new connections."""

    OPEN = "open"
    DELAY = "delay"
    HANG = "hang"
    """Connections are accepted and bytes are discarded, as by a firewall that drops packets."""


class Proxy:
    """Listens on a free loopback port and connects to `target`. It runs on a separate thread; any thread may call its methods.

    Args:
        target: `host:port`, or the path of a unix socket; None if clients send it in a CONNECT request.
    """

    def __init__(self, target: str | None = None) -> None:
        self._target = target
        self._mode, self._delay = Mode.OPEN, 0.0
        self.discarded = 0
        """Number of discarded bytes."""
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(listening.getsockname()[1])
        self.address = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._accepted, sock=listening))

    # -- failures, for tests

    def hang(self) -> None:
        """Discard bytes in both directions from now on. Connections stay open, and new ones are accepted."""
        self._call(lambda: self._set(Mode.HANG))

    def delay(self, seconds: float) -> None:
        """Forward all data with a delay of `seconds` from now on."""
        self._call(lambda: self._set(Mode.DELAY, seconds))

    def heal(self) -> None:
        """Forward bytes from now on. After `hang`, all connections are reset first, because bytes are missing in their streams."""

        def heal() -> None:
            if self._mode is Mode.HANG:
                self._reset()
            self._set(Mode.OPEN)

        self._call(heal)

    def reset(self) -> None:
        """Reset all present connections. New ones are served."""
        self._call(self._reset)

    def close(self) -> None:
        """End all connections and the thread."""
        self._call(self._server.close)
        self._call(self._reset)
        self._do(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    # -- on the loop's thread

    def _set(self, mode: Mode, delay: float = 0.0) -> None:
        self._mode, self._delay = mode, delay

    def _reset(self) -> None:
        for pair in list(self._pairs):
            for writer in pair:
                _abort(writer)

    async def _ended(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        finally:
            self._tasks.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await self._connect(self._target or await _asked_for(reader, writer))
        except (OSError, asyncio.IncompleteReadError, IndexError):
            _abort(writer)
            return
        pair = writer, back
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        except OSError:
            pass
        finally:
            self._pairs.discard(pair)
            for one in pair:
                _abort(one)

    async def _connect(self, target: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if target.startswith("/"):
            return await asyncio.open_unix_connection(target)
        host, _, port = target.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            if self._mode is Mode.DELAY:
                await asyncio.sleep(self._delay)
            if self._mode is Mode.HANG:
                self.discarded += len(data)
                continue
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError  # one end closed its connection, so the other connection is closed too

    # -- from other threads

    def _call(self, work: Callable[[], object]) -> None:
        async def run() -> None:
            work()

        self._do(run())

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)


async def _asked_for(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """Answer a CONNECT request, and return its `host:port`. The mode does not apply to the request."""
    request = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    return request.split()[1].decode()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Close a connection by a reset, if it is still open."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.family == socket.AF_INET and not writer.is_closing():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
