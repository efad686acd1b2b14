"""Limits that hold in a crowd: connections, heads of requests, bodies."""

import asyncio
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from services.api.connections import LimitedConnection
from tests.support.api import Running, running, served
from tests.support.http import PLAIN
from tests.support.redis import flush
from tests.support.waiting import PATIENCE, until

GAME = b'{"v":1,"id":"g1","pool":"blitz","time":5.0,"sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
HEAD = b"POST /v1/outcomes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def head(connection: socket.socket) -> bytes:
    """The first bytes of an answer."""
    return connection.recv(4096)


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=PATIENCE)


def answer(connection: socket.socket) -> bytes:
    """A whole answer with its body, or nothing where the connection was closed."""
    got = b""
    try:
        while not got.endswith(b'{"detail":"Not Found"}') and (part := connection.recv(4096)):
            got += part
    except ConnectionResetError:
        pass
    return got


class TestConnections:
    def test_one_too_many_is_answered_and_closed(self) -> None:
        with served(FastAPI(), connections=2) as url, ExitStack() as stack:
            held = [stack.enter_context(connected(url)) for _ in range(2)]
            for one in held:  # both are open for certain once they were answered
                one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b" 404 " in answer(one)
            with connected(url) as third:
                got = answer(third)
                assert b" 503 " in got
                assert b"retry-after: 1" in got
            held[0].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 404 " in answer(held[0])

    @pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: loc"])
    def test_a_head_that_never_ends_is_given_up(self, sent: bytes) -> None:
        with served(FastAPI(), head_seconds=0.2) as url, connected(url) as slow:
            slow.sendall(sent)
            assert b" 408 " in answer(slow)

    def test_a_head_that_trickles_is_given_up_all_the_same(self) -> None:
        with served(FastAPI(), head_seconds=0.3) as url, connected(url) as slow:
            slow.settimeout(0.02)
            slow.sendall(b"GET / HTTP/1.1\r\n")

            def trickled() -> bytes:
                try:
                    slow.sendall(b"X: y\r\n")
                    return slow.recv(4096)
                except TimeoutError:
                    return b""

            assert b" 408 " in until(trickled, "it is answered")

    def test_a_head_beyond_64_kib_is_refused(self) -> None:
        with served(FastAPI()) as url, connected(url) as long:
            long.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: %s\r\n" % (b"y" * 70_000))
            assert b" 431 " in head(long)

    def test_requests_one_after_the_other_have_a_deadline_each(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begin, deadlines = LimitedConnection._begin_head, list[asyncio.TimerHandle | None]()

        def begun(connection: LimitedConnection) -> None:
            begin(connection)
            deadlines.append(connection._deadline)

        monkeypatch.setattr(LimitedConnection, "_begin_head", begun)
        with served(FastAPI(), head_seconds=PATIENCE) as url, connected(url) as one:
            for count in range(1, 4):
                one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b" 404 " in answer(one)
                ended = [deadline.cancelled() for deadline in deadlines if deadline is not None]
                assert ended == [True] * (1 + count), "that of the connection, and one of each request"


class TestSlowReaders:
    """Clients that ask for much and read nothing."""

    SIZE = 32 << 20  # more than the buffers of both sockets hold

    @classmethod
    def app(cls) -> FastAPI:
        app = FastAPI()
        body = b"x" * cls.SIZE

        @app.get("/large")
        async def large() -> Response:
            return Response(body)

        return app

    @staticmethod
    def asking(url: str) -> socket.socket:
        """A connection that asked for the large answer, and does not read it."""
        connection = connected(url)
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection

    @staticmethod
    def read(connection: socket.socket) -> int:
        """Bytes until the connection ends."""
        size = 0
        try:
            while part := connection.recv(1 << 20):
                size += len(part)
        except ConnectionResetError:
            pass
        return size

    @staticmethod
    def ended(connection: socket.socket) -> bool:
        """Whether the server has closed, seen without reading: the kernel reports a reset or the end of the stream."""
        poll = select.poll()
        poll.register(connection, select.POLLRDHUP)
        return any(event & (select.POLLERR | select.POLLHUP | select.POLLRDHUP) for _, event in poll.poll(1000 * PATIENCE))

    def test_one_who_reads_nothing_is_disconnected_at_the_deadline(self) -> None:
        with served(self.app(), read_seconds=0.3) as url, self.asking(url) as slow:
            assert self.ended(slow)
            assert self.read(slow) < self.SIZE

    def test_one_who_reads_gets_all(self) -> None:
        with served(self.app(), read_seconds=PATIENCE) as url, self.asking(url) as reader:
            reader.shutdown(socket.SHUT_WR)
            assert self.read(reader) > self.SIZE

    def test_who_makes_too_many_bytes_wait_is_disconnected_and_others_are_answered(self) -> None:
        with served(self.app(), read_seconds=PATIENCE, unread_bytes=self.SIZE) as url, self.asking(url) as first:
            until(lambda: len(first.recv(1 << 16, socket.MSG_PEEK)) > 0, "the first answer has begun")
            with self.asking(url) as second:
                assert self.ended(second)
            first.shutdown(socket.SHUT_WR)
            assert self.read(first) > self.SIZE
            assert httpx.get(f"{url}/large", trust_env=False, timeout=PATIENCE, verify=PLAIN).status_code == 200


class TestBodies:
    @pytest.fixture
    def seconds(self) -> float:
        """Deadline of a body."""
        return PATIENCE

    @pytest.fixture
    def small(self, tmp_path: Path, api_redis: str, seconds: float) -> Iterator[Running]:
        """An API that holds 1 MiB of bodies."""
        flush(api_redis)
        with running(tmp_path, api_redis, api_body_bytes=1 << 20, api_body_seconds=seconds) as here:
            yield here

    def test_bodies_that_fill_the_memory_are_refused_until_one_ends(self, small: Running) -> None:
        with connected(small.url) as first:
            first.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * 1000)
            until(lambda: self.sent(small, b" " * 100_000).status_code == 503, "the first body takes its place")
            assert self.sent(small, b" " * 100_000).headers["retry-after"] == "1"
        assert self.until_taken(small).status_code == 202

    @pytest.mark.parametrize("seconds", [1.0])
    def test_a_body_that_never_ends_is_given_up(self, small: Running, seconds: float) -> None:
        with connected(small.url) as slow:
            slow.sendall(HEAD + b"Content-Length: 1000\r\n\r\n" + GAME[:50])
            assert b" 408 " in head(slow)
        assert self.until_taken(small).status_code == 202

    def test_a_body_without_a_length_counts_as_it_comes(self, small: Running) -> None:
        with connected(small.url) as first, connected(small.url) as second:
            for one in (first, second):
                one.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
                one.sendall(b"%x\r\n%s\r\n" % (600_000, b" " * 600_000))
            (answered, *others), _, _ = select.select([first, second], [], [], PATIENCE)
            assert b" 503 " in head(answered)
            assert others == [], "the other one has room now"

    def test_what_was_refused_or_cut_off_gives_its_bytes_back(self, small: Running) -> None:
        for _ in range(3):
            with connected(small.url) as cut:
                cut.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        for _ in range(3):
            self.sent(small, b" " * 1_000_000)
        assert self.until_taken(small).status_code == 202

    @staticmethod
    def sent(here: Running, body: bytes) -> httpx.Response:
        return here.client.post("/v1/outcomes", content=body, headers={"Content-Type": "application/json"}, timeout=PATIENCE)

    def until_taken(self, here: Running) -> httpx.Response:
        """The answer to an outcome, once there is room for it."""
        response: httpx.Response = until(lambda: (one := self.sent(here, GAME)).status_code != 503 and one, "there is room")
        return response
