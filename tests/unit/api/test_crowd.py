"""Limits that hold in a crowd: connections, addresses, bodies."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from litestar import Litestar, get

from tests.support.api import Running, running, served
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
        while not got.endswith(b"whole") and (part := connection.recv(4096)):
            got += part
    except ConnectionResetError:
        pass
    return got


@get("/")
async def root() -> str:
    return "whole"


def test_while_more_connections_than_the_limit_are_open_requests_are_answered_503() -> None:
    with served(Litestar([root]), connections=2) as url, ExitStack() as stack:
        held = [stack.enter_context(connected(url)) for _ in range(2)]
        for one in held:  # both are open for certain once they were answered
            one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert answer(one).endswith(b"whole")
        with connected(url) as third:
            third.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b" 503 " in answer(third)

        def taken() -> bool:
            with connected(url) as fourth:
                fourth.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return answer(fourth).endswith(b"whole")

        held.pop().close()
        until(taken, "there is room again")


def test_a_path_and_a_query_have_a_limit(tmp_path: Path, api_redis: str) -> None:
    with running(tmp_path, api_redis) as here:
        for address in (f"/v1/pools/{'x' * 8192}", f"/v1/pools?count={'1' * 8192}"):
            answered = here.client.get(address)
            assert (answered.status_code, answered.json()["title"]) == (414, "address too long")


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
