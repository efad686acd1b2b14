"""Limits that hold in a crowd: connections, heads of requests, bodies."""

import select
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from tests.support.api import Running, running, served
from tests.support.installation import until
from tests.support.redis import flush

GAME = b'{"v":1,"id":"g1","pool":"blitz","time":5.0,"sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
HEAD = b"POST /v1/outcomes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def head(connection: socket.socket) -> bytes:
    """The first bytes of an answer."""
    return connection.recv(4096)


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=30.0)


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
            deadline, got = time.monotonic() + 20.0, b""
            while not got:
                assert time.monotonic() < deadline
                try:
                    slow.sendall(b"X: y\r\n")
                    got = slow.recv(4096)
                except TimeoutError:
                    continue
            assert b" 408 " in got

    def test_a_head_beyond_64_kib_is_refused(self) -> None:
        with served(FastAPI()) as url, connected(url) as long:
            long.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: %s\r\n" % (b"y" * 70_000))
            assert b" 431 " in head(long)

    def test_requests_one_after_the_other_have_a_deadline_each(self) -> None:
        with served(FastAPI(), head_seconds=0.5) as url, connected(url) as one:
            for _ in range(3):
                one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b" 404 " in answer(one)


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
        return any(event & (select.POLLERR | select.POLLHUP | select.POLLRDHUP) for _, event in poll.poll(20_000))

    def test_one_who_reads_nothing_is_disconnected_at_the_deadline(self) -> None:
        with served(self.app(), read_seconds=0.3) as url, self.asking(url) as slow:
            assert self.ended(slow)
            assert self.read(slow) < self.SIZE

    def test_one_who_reads_gets_all(self) -> None:
        with served(self.app(), read_seconds=30.0) as url, self.asking(url) as reader:
            reader.shutdown(socket.SHUT_WR)
            assert self.read(reader) > self.SIZE

    def test_who_makes_too_many_bytes_wait_is_disconnected_and_others_are_answered(self) -> None:
        with served(self.app(), unread_bytes=self.SIZE) as url, self.asking(url) as first:
            until(lambda: len(first.recv(1 << 16, socket.MSG_PEEK)) > 0, "the first answer has begun")
            with self.asking(url) as second:
                assert self.ended(second)
            first.shutdown(socket.SHUT_WR)
            assert self.read(first) > self.SIZE
            assert httpx.get(f"{url}/large", trust_env=False, timeout=30.0).status_code == 200


class TestBodies:
    @pytest.fixture
    def small(self, tmp_path: Path, api_redis: str):
        """An API that holds 1 MiB of bodies, each for a second at most."""
        flush(api_redis)
        with running(tmp_path, api_redis, api_body_bytes=1 << 20, api_body_seconds=1.0) as here:
            yield here

    def test_bodies_that_fill_the_memory_are_refused_until_one_ends(self, small: Running) -> None:
        with connected(small.url) as first, connected(small.url) as second:
            first.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * 1000)
            first.settimeout(0.1)
            with pytest.raises(TimeoutError):
                first.recv(1)
            second.sendall(HEAD + b"Content-Length: 100000\r\n\r\n" + b" " * 1000)
            got = head(second)
            assert b" 503 " in got
            assert b"retry-after: 1" in got
        response = self.until_taken(small)
        assert response.status_code == 202

    def test_a_body_that_never_ends_is_given_up(self, small: Running) -> None:
        with connected(small.url) as slow:
            slow.sendall(HEAD + b"Content-Length: 1000\r\n\r\n" + GAME[:50])
            assert b" 408 " in head(slow)
        assert self.until_taken(small).status_code == 202

    def test_a_body_without_a_length_counts_as_it_comes(self, small: Running) -> None:
        with connected(small.url) as first, connected(small.url) as second:
            for one in (first, second):
                one.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
                one.sendall(b"%x\r\n%s\r\n" % (600_000, b" " * 600_000))
            first.settimeout(5.0)
            second.settimeout(5.0)
            assert {head(one)[9:12] for one in (first, second)} == {b"503", b"408"}

    def test_what_was_refused_or_cut_off_gives_its_bytes_back(self, small: Running) -> None:
        for _ in range(3):
            with connected(small.url) as cut:
                cut.sendall(HEAD + b"Content-Length: 1000000\r\n\r\n")
        for _ in range(3):
            small.client.post("/v1/outcomes", content=b" " * 1_000_000, headers={"Content-Type": "application/json"})
        assert self.until_taken(small).status_code == 202

    @staticmethod
    def until_taken(here: Running) -> httpx.Response:
        """The answer to an outcome, once there is room for it."""
        deadline = time.monotonic() + 20.0
        while True:
            response = here.client.post("/v1/outcomes", content=GAME, headers={"Content-Type": "application/json"})
            if response.status_code != 503 or time.monotonic() > deadline:
                return response
