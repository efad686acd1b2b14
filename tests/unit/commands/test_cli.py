"""The command line as a whole: what it lists, what it says when something is wrong, and what it does not import."""

import errno
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services import cli
from services.runtime import Addresses, DataFolder


@pytest.fixture
def own_logs() -> Iterator[None]:
    """`up` sends all logs of its process to the standard error that it finds, here one that closes with the test."""
    root, equirank = logging.getLogger(), logging.getLogger("equirank")
    before = root.handlers[:], root.level, equirank.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    equirank.setLevel(before[2])


def test_help_lists_every_command() -> None:
    found = CliRunner().invoke(cli.application(), ["--help"])
    assert found.exit_code == 0
    assert all(name in found.stdout for name in cli.COMMANDS)
    assert "demo" not in found.stdout.replace("--demo", "")


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    found = CliRunner().invoke(cli.application(command), [command, "--help"])
    assert found.exit_code == 0
    assert "Usage" in found.stdout


@pytest.mark.usefixtures("own_logs")
@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["top", "--pool", "x", "--method", "elo"], {"EQUIRANK_DATA": "{tmp}"}, "equirank up"),
        (["up"], {"EQUIRANK_DATA": "{tmp}", "EQUIRANK_HOST": "192.0.2.1"}, "EQUIRANK_WRITE_KEYS"),
        (["up"], {"EQUIRANK_DATA": "{tmp}", "EQUIRANK_PARTITIONS": "none"}, "partitions"),
        (["solve", "no-such-file.csv", "--method", "copeland"], {}, "no-such-file.csv"),
        (["verify"], {"EQUIRANK_DATA": "{tmp}/nothing/here"}, "equirank up"),
        (["solve", "x.csv", "--method", "copeland", "--input", "nonsense"], {}, "'--input'"),
        (["replay", "x.csv", "--pool", "x", "--input", "margins"], {}, "'--input'"),
        (["solve", "x.csv"], {}, "'--method'"),
        (["solve", "x.csv", "--method", "copeland", "--typo"], {}, "--typo"),
        (["top", "--pool", "x", "--count", "0"], {}, "'--count'"),
        (["top", "--pool", "x", "--diff", "--at", "5"], {}, "--diff must not"),
        (["top", "--pool", "x", "--against", "5"], {}, "--against must be used with --diff"),
        (["nonsense"], {}, "nonsense"),
        (["up"], {"EQUIRANK_DATA": "/dev/null/data"}, "/dev/null/data: Not a directory: name another path"),
    ],
)
def test_what_the_caller_can_mend_is_one_line_and_status_2(
    arguments: list[str],
    environment: dict[str, str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["equirank", *arguments])
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert ended.value.code == 2, told.out + told.err
    assert words in told.err
    assert told.err.count("\n") == 1


def test_a_full_disk_is_told_with_what_to_do_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, _: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = DataFolder(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(cli, "application", lambda _: lambda **_: folder.write_addresses(Addresses(1, "", "", "")))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"equirank: {tmp_path}/up.json: No space left on device: make room")
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_status_is_that_of_the_process() -> None:
    found = subprocess.run([sys.executable, "-m", "services.cli", "nonsense"], capture_output=True, text=True, timeout=240, check=False)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)


def test_reading_a_board_imports_no_engine() -> None:
    code = "import sys, services.commands.top; print([name for name in ('ray', 'numba', 'cvxpy', 'kafka') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_lock_that_finds_no_room_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("services.runtime.os.write", full)
    folder = DataFolder(tmp_path)
    with pytest.raises(OSError, match="No space left") as caught:
        folder.lock()
    folder.unlock()
    assert caught.value.filename == str(tmp_path / "lock")
