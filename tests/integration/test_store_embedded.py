"""The embedded server: private, found by others through its folder, gone with its parent."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from services.boards.store.embedded import EmbeddedRedis, embedded_url
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from tests.support.processes import child
from tests.support.stores import LOG
from tests.support.waiting import until

HOLD = """
import sys
from pathlib import Path
from services.boards.store.embedded import EmbeddedRedis
print(EmbeddedRedis(Path(sys.argv[1])).pid, flush=True)
sys.stdin.read()
"""


def gone(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return not status.exists() or "State:\tZ" in status.read_text()


def test_it_serves_on_a_private_socket_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "redis"
    server = EmbeddedRedis(folder)
    try:
        store = RedisStore(server.url, LOG)
        store.ping()
        store.close()
        assert embedded_url(folder) == server.url
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700
        assert server.is_alive()
    finally:
        server.stop()
    assert gone(server.pid)
    assert not server.socket.exists()
    with pytest.raises(StoreError, match="equirank up"):
        embedded_url(folder)
    server.stop()


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 20)
    server = EmbeddedRedis(folder)
    try:
        assert len(str(server.socket)) < 100
        assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700
        store = RedisStore(embedded_url(folder), LOG)
        store.ping()
        store.close()
    finally:
        server.stop()
    assert not server.socket.parent.exists()


def test_a_server_in_place_of_a_dead_one_has_its_address(tmp_path: Path) -> None:
    """Shards and API keep the address they were started with."""
    folder = tmp_path / ("long-" * 20)
    first = EmbeddedRedis(folder)
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not first.is_alive(), "it ended")
    second = EmbeddedRedis(folder)
    try:
        assert second.url == first.url
        store = RedisStore(first.url, LOG)
        store.ping()
        store.close()
    finally:
        second.stop()
    assert not first.socket.parent.exists()


@pytest.mark.parametrize("left", ["equirank-of-somebody", "nothing"])
def test_a_folder_that_is_not_private_is_not_used_again(tmp_path: Path, left: str) -> None:
    folder, open_to_all = tmp_path / ("long-" * 20), tmp_path / left
    folder.mkdir()
    open_to_all.mkdir(mode=0o755)
    (folder / "redis.url").write_text(f"unix://{open_to_all}/redis.sock\n")
    server = EmbeddedRedis(folder)
    server.stop()
    assert server.socket.parent != open_to_all
    assert open_to_all.exists()


def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path / "a b%20?#ü")
    try:
        store = RedisStore(server.url, LOG)
        store.ping()
        store.close()
    finally:
        server.stop()


def test_it_ends_with_a_killed_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with child(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        os.kill(parent.pid, signal.SIGKILL)
    until(lambda: gone(pid), "the server ended with its parent")
    again = EmbeddedRedis(tmp_path)
    again.stop()


def test_a_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.boards.store.embedded.executable", lambda: "/bin/false")
    with pytest.raises(StoreError, match="did not start"):
        EmbeddedRedis(tmp_path)
