"""The command line as a whole: what it lists, what it says when something is wrong, and what it does not import."""

import errno
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from services.cli import main as cli
from services.log.sqlite.log import open_sqlite_log
from services.runtime.arithmetic_threads import ONE_THREAD
from services.runtime.data_folder import DataFolder, InUse
from services.runtime.settings import Settings
from tests.support.waiting import PATIENCE

ENGINE = ("ray", "numba", "cvxpy", "kafka")


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


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_list_says_of_each_command_what_it_says_itself(name: str) -> None:
    found = cli.command(name)
    said = found.info.help if isinstance(found, typer.Typer) else found.__doc__
    assert str(said).partition("\n\n")[0] == cli.COMMANDS[name]


@pytest.mark.parametrize("group", ["pools", "partitions", "dead-letters", "store"])
def test_a_group_without_a_command_shows_its_help_and_nothing_else(
    group: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["equirank", group])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert "Usage" in told.out
    assert told.err == ""


@pytest.mark.parametrize(
    ("line", "completed"),
    [("equirank to", ["top"]), ("equirank pools ba", ["ban"]), ("equirank top --po", ["--pool", "--position"]), ("equirank nothing x", [])],
)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_completes_commands_and_options(tmp_path: Path, line: str, completed: list[str], shell: str) -> None:
    program = tmp_path / "equirank"
    program.write_text("from services.cli.main import main\nmain()\n")
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)} if shell == "bash" else {"_TYPER_COMPLETE_ARGS": line}
    asked = os.environ | words | {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_EQUIRANK_COMPLETE": f"complete_{shell}"}
    command = [sys.executable, str(program)]
    found = subprocess.run(command, env=asked, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert [text.partition("\t")[0] for text in found.stdout.splitlines() if "\t" in text or (text and shell == "bash")] == completed


def test_the_version_is_told() -> None:
    found = CliRunner().invoke(cli.application("--version"), ["--version"])
    assert (found.exit_code, found.stdout) == (0, f"equirank {version('equirank')}\n")


@pytest.mark.usefixtures("own_logs")
@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["top", "--pool", "x", "--method", "elo"], {"EQUIRANK_DATA": "{tmp}"}, "equirank up"),
        (["up"], {"EQUIRANK_DATA": "{tmp}", "EQUIRANK_HOST": "192.0.2.1"}, "EQUIRANK_WRITE_KEYS"),
        (["up"], {"EQUIRANK_DATA": "{tmp}", "EQUIRANK_PARTITIONS": "none"}, "partitions"),
        (["api"], {"EQUIRANK_DATA": "{tmp}", "EQUIRANK_WRITE_KEYS": "key-1"}, """EQUIRANK_WRITE_KEYS is not JSON: lists and"""),
        (["up", "clones"], {"EQUIRANK_DATA": "{tmp}"}, "clones is a demo: add --demo"),
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
        (["up"], {"EQUIRANK_DATA": "/dev/null/data"}, "/dev/null/data: Not a directory: use another path"),
        (["partitions", "list"], {"EQUIRANK_DATA": "{log}", "EQUIRANK_CHECKPOINTS": "foo://x"}, "kept at foo://x: Protocol not known: foo"),
        (["partitions", "list"], {"EQUIRANK_DATA": "{log}", "EQUIRANK_CHECKPOINTS": "S3://b/x"}, "kept at S3://b/x: Unrecognized"),
        (["export", "/nowhere/x.csv", "--pool", "p"], {"EQUIRANK_DATA": "{log}"}, "/nowhere/x.csv.part: No such file or directory: use"),
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
    open_sqlite_log(tmp_path / "log.sqlite", Settings().partitions).close()
    monkeypatch.setattr(sys, "argv", ["equirank", *arguments])
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path / "data", log=tmp_path))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = capsys.readouterr()
    assert ended.value.code == 2, told.out + told.err
    assert words in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(("program", "setting"), [("engine", "EQUIRANK_METRICS_PORT"), ("api", "EQUIRANK_PORT")])
@pytest.mark.usefixtures("own_logs")
def test_a_port_that_is_taken_is_told_before_anything_starts(
    program: str, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["equirank", program])
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv(setting, str(taken.getsockname()[1]))
        with pytest.raises(SystemExit) as ended:
            cli.main()
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert f"(Address already in use); choose another port with {setting}" in told.err
    assert told.err.count("\n") == 1


def test_an_engine_beside_a_running_installation_is_refused_unless_that_one_started_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DataFolder(tmp_path)
    folder.refuse_beside_another()
    folder.lock()
    with pytest.raises(InUse, match=f"process {os.getpid()}"):
        DataFolder(tmp_path).refuse_beside_another()
    monkeypatch.setattr("services.runtime.data_folder.os.getppid", os.getpid)
    DataFolder(tmp_path).refuse_beside_another()
    folder.unlock()


def test_a_full_disk_is_told_with_what_to_do_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, _: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = DataFolder(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(cli, "application", lambda _: lambda **_: folder.write_addresses("", "", ""))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"equirank: {tmp_path}/up.json: No space left on device: make room")
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_command_behind_a_double_dash_is_that_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not the one that only stands for it in the list, which would end well and have done nothing."""
    monkeypatch.setattr(sys, "argv", ["equirank", "--", "backup", str(tmp_path / "copy"), "--data", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "must be a data folder of `equirank up`" in capsys.readouterr().err


def test_the_status_is_that_of_the_process() -> None:
    command = [sys.executable, "-m", "services.cli.main", "nonsense"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)


def _runs(*words: str) -> str:
    """Code that runs the command line with these words, whatever its status."""
    return f"from services.cli import main as cli; sys.argv = ['equirank', *{words}]\ntry: cli.main()\nexcept SystemExit: pass"


def _imported(code: str, heavy: tuple[str, ...]) -> str:
    """Those of `heavy` that Python imports for `code`, in a process of its own."""
    code = f"import sys; {code}\nprint('imported:', *(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.rpartition("imported:")[2].strip()


def test_a_shard_imports_no_solver() -> None:
    """A shard that is started again folds sooner."""
    solvers = "scipy.optimize", "ratings_core.voting", "ratings_core.games", "ratings_core.formats"
    assert _imported("import services.shard.worker", solvers) == ""


def test_the_list_of_commands_imports_none_of_them() -> None:
    heavy = (*ENGINE, "numpy", "scipy", "litestar", "redis", "services.runtime.settings", "services.cli.top")
    assert _imported("\n".join(map(_runs, ("--help", "--version", "nonsense"))), heavy) == ""


def test_a_light_command_and_its_error_import_no_engine(tmp_path: Path) -> None:
    assert _imported(_runs("top", "--pool", "x", "--data", str(tmp_path)), ENGINE) == ""


def test_a_replay_into_the_embedded_log_imports_neither_the_client_for_kafka_nor_pandas(tmp_path: Path) -> None:
    """Each takes a quarter of a second."""
    games = tmp_path / "games.csv"
    games.write_text("winner,loser,task,weight\nana,bo,chess,2\nbo,ana,,1\n")
    sent = _runs("replay", str(games), "--pool", "blitz", "--data", str(tmp_path / "data"), "--tag", "level=task")
    assert _imported(sent, ("ray", "kafka", "pandas")) == ""
    assert (tmp_path / "data" / "log.sqlite").exists()


def test_the_garbage_collector_runs_and_never_searches_the_modules_of_a_command(tmp_path: Path) -> None:
    code = f"import sys, gc; {_runs('top', '--pool', 'x', '--data', str(tmp_path))}\nprint(gc.isenabled(), gc.get_freeze_count() > 50_000)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == "True True\n"


@pytest.mark.parametrize("name", sorted(cli.MENDABLE))
def test_errors_that_are_named_are_there(name: str) -> None:
    module, _, word = name.rpartition(".")
    assert issubclass(getattr(import_module(module), word), Exception)


def test_a_lock_holds_where_there_is_no_room_to_note_who_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("services.runtime.data_folder.os.write", full)
    folder = DataFolder(tmp_path)
    folder.lock()
    with pytest.raises(InUse, match="process unknown"):
        DataFolder(tmp_path).lock()
    folder.unlock()


def test_the_status_is_2_where_the_message_finds_no_room(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "services.cli.main", "nonsense"], stderr=full, timeout=PATIENCE, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("command", "threads"), [("api", "1"), ("next", "1"), ("why", "1"), ("papers", "1"), ("bench", "1"), ("solve", "4")]
)
def test_commands_beside_an_engine_compute_on_one_thread(command: str, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "4")
    monkeypatch.setattr(sys, "argv", ["equirank", command, "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    assert {os.environ[name] for name in ONE_THREAD} == {threads}
