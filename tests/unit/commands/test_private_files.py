"""Who can read what this system writes."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli.engine import _ray_token
from services.runtime.private_files import write_token
from services.runtime.settings import Settings
from tests.support.waiting import until


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_token_is_its_owners_only_also_where_folder_and_file_were_open(tmp_path: Path) -> None:
    folder = tmp_path / "ray"
    folder.mkdir(mode=0o755)
    (folder / "auth_token").write_text("known to all")
    (folder / "auth_token").chmod(0o644)
    path = write_token(folder)
    assert (mode(folder), mode(path)) == (0o700, 0o600)
    assert len(path.read_text()) == 64


def test_each_start_has_a_token_of_its_own(tmp_path: Path) -> None:
    assert write_token(tmp_path / "a").read_text() != write_token(tmp_path / "a").read_text()


def test_a_local_ray_is_told_of_the_token_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    told = _ray_token(Settings(data=tmp_path))
    assert told == {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "ray" / "auth_token")}
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the operator")
    assert _ray_token(Settings(data=tmp_path)) == {}


def test_a_command_writes_files_that_only_its_owner_reads(tmp_path: Path) -> None:
    """Started under the usual umask, a command that opens a log makes none of its files readable to others."""
    code = "import os, sys; os.umask(0o022); sys.argv = ['equirank', 'api']; from services.cli.main import main; main()"
    environment = {**os.environ, "EQUIRANK_DATA": str(tmp_path / "data"), "EQUIRANK_REDIS": "redis://127.0.0.1:1", "EQUIRANK_PORT": "0"}
    child = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)
    try:
        until(lambda: (tmp_path / "data" / "log.sqlite").exists() or child.poll() is not None, "a log, or the command's end")
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
    files = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    assert {path.name: mode(path) & 0o077 for path in files if mode(path) & 0o077} == {}
