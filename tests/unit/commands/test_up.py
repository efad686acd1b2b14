"""What `equirank up` asks of its own programs."""

import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import typer

from services.cli.ports import HeldPorts, free_port
from services.cli.up import _answer, _with_ports
from services.runtime.settings import Settings


class Ready(BaseHTTPRequestHandler):
    """Answers whatever is asked."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ready")

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def ports() -> Iterator[HeldPorts]:
    with closing(HeldPorts()) as held:
        yield held


def test_programs_of_this_machine_are_asked_past_the_proxy_of_the_environment(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    urllib.request.install_opener(urllib.request.build_opener())  # as a new process has it
    assert _answer(address) == "ready"


def test_metrics_take_a_free_port_if_their_default_one_is_in_use_and_a_given_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, ports: HeldPorts
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy = other.getsockname()[1]
        monkeypatch.setattr(Settings.model_fields["metrics_port"], "default", busy)
        Settings.model_rebuild(force=True)
        picked = _with_ports(Settings(port=free_port("127.0.0.1")), ports)
        assert picked.metrics_port not in (0, busy)
        with pytest.raises(typer.BadParameter, match="choose another port with EQUIRANK_METRICS_PORT, or 0 for a free one"):
            _with_ports(Settings(port=free_port("127.0.0.1"), metrics_port=busy), ports)
    monkeypatch.undo()
    Settings.model_rebuild(force=True)


def test_two_installations_that_start_at_once_choose_different_ports(ports: HeldPorts) -> None:
    """Neither listens yet when the other one chooses."""
    free = free_port("127.0.0.1")
    with closing(HeldPorts()) as others:
        first = _with_ports(Settings(port=0, metrics_port=free), ports)
        second = _with_ports(Settings(port=0, metrics_port=free), others)
        assert first.metrics_port == free
        assert len({first.port, first.metrics_port, second.port, second.metrics_port}) == 4
        for of in (others, ports):
            with pytest.raises(typer.BadParameter, match="another installation, or another port of this one, has it"):
                of.take("127.0.0.1", free, "--port")
        ports.close()
        assert others.take("127.0.0.1", free, "--port") == free
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", free))


def test_a_free_port_that_another_installation_reserved_is_not_taken(ports: HeldPorts, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = iter((reserved := ports.take("127.0.0.1", 0, "--port"), free_port("127.0.0.1")))
    monkeypatch.setattr("services.cli.ports.free_port", lambda _: next(chosen))
    with closing(HeldPorts()) as others:
        assert others.take("127.0.0.1", 0, "--port") != reserved


def test_an_address_that_this_machine_does_not_have_is_told_also_where_any_port_will_do() -> None:
    with pytest.raises(typer.BadParameter, match=r"cannot listen on 192\.0\.2\.1"):
        free_port("192.0.2.1")
