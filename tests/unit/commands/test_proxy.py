"""The proxy of chaos itself: what it does to a connection is what it says."""

import select
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.proxy import Proxy
from tests.support.waiting import PATIENCE, until


@pytest.fixture
def echo() -> Iterator[str]:
    """A server that sends back what it gets; its address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(4096):
                    connection.sendall(data)
            except OSError:
                return

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{listening.getsockname()[1]}"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


@pytest.fixture
def proxy(echo: str) -> Iterator[Proxy]:
    one = Proxy(echo)
    yield one
    one.close()


def connected(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE)


def said(connection: socket.socket, text: bytes) -> bytes:
    connection.sendall(text)
    return connection.recv(4096)


def test_bytes_pass(proxy: Proxy) -> None:
    with connected(proxy) as one:
        assert said(one, b"hello") == b"hello"


def test_what_is_delayed_comes_later(proxy: Proxy) -> None:
    with connected(proxy) as one:
        proxy.delay(0.2)
        began = time.monotonic()
        assert said(one, b"hello") == b"hello"
        assert time.monotonic() - began >= 0.4, "each way"
        proxy.heal()
        assert said(one, b"again") == b"again"


def test_a_network_that_hangs_takes_connections_and_gives_nothing(proxy: Proxy) -> None:
    with connected(proxy) as before:
        assert said(before, b"hello") == b"hello"
        proxy.hang()
        with connected(proxy) as after:
            for one in (before, after):
                one.sendall(b"lost")
            until(lambda: proxy.discarded == 2 * len(b"lost"), "the bytes are discarded")
            assert select.select([before, after], [], [], 0.0)[0] == []
            proxy.heal()
            for one in (before, after):
                with pytest.raises(ConnectionResetError):
                    one.recv(1)
    with connected(proxy) as one:
        assert said(one, b"hello") == b"hello"


def test_a_reset_ends_connections_and_new_ones_are_served(proxy: Proxy) -> None:
    with connected(proxy) as one:
        assert said(one, b"hello") == b"hello"
        proxy.reset()
        with pytest.raises(ConnectionResetError):
            one.recv(1)
    with connected(proxy) as one:
        assert said(one, b"hello") == b"hello"


def test_a_client_may_name_its_server(echo: str) -> None:
    proxy = Proxy()
    with connected(proxy) as one:
        assert said(one, f"CONNECT {echo} HTTP/1.1\r\nHost: {echo}\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")
        assert said(one, b"hello") == b"hello"
    proxy.close()
