"""`equirank up` without any setting of an archive, on a PATH without programs: what the README shows works on the archive of the log."""

import json
import shutil
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from services.demo import simulated
from tests.support.games import outcomes
from tests.support.installation import Installation, installation, until

pytestmark = [pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]
POOL = simulated.POOL
NAME = "pebble"


@pytest.fixture
def bare(tmp_path: Path) -> Mapping[str, str]:
    """A PATH without redis-server, and appends to the archive every second."""
    (programs := tmp_path / "programs").mkdir()
    return {"PATH": str(programs), "EQUIRANK_ARCHIVE_SECONDS": "1"}


def send(one: Installation, start: int, stop: int) -> None:
    assert one.post("/v1/outcomes", outcomes(start, stop))[0] == 202
    until(lambda: one.outcomes(POOL) == stop, f"{stop} outcomes visible")


def does(one: Installation, *command: str) -> str:
    """Output of a command that has to succeed."""
    done = one.run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def metric(one: Installation, name: str) -> float:
    """Sum of a metric over its labels."""
    with urllib.request.urlopen(one.metrics) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def archived(one: Installation, rows: int) -> bool:
    """Whether the engine has appended this number of rows since its start, and no partition is behind."""
    return metric(one, "equirank_archive_rows_total") == rows and metric(one, "equirank_archive_lag_records") == 0


def exported(one: Installation, file: Path) -> list[str]:
    does(one, "export", str(file), "--pool", POOL)
    return [json.loads(line)["id"] for line in file.read_text().splitlines()]


def ids(stop: int) -> list[str]:
    return [str(game["id"]) for game in outcomes(0, stop)]


def holders(folder: Path, name: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and name.encode() in path.read_bytes()]


def test_all_commands_work_on_the_archive_of_the_log(tmp_path: Path, bare: Mapping[str, str]) -> None:
    data, saved, again = tmp_path / "data", tmp_path / "saved", tmp_path / "again"
    with installation(data, environment=bare) as one:
        send(one, 0, 400)
        until(lambda: archived(one, 400), "all outcomes are archived")
        assert holders(data / "archive", NAME)
        assert exported(one, tmp_path / "games.jsonl") == ids(400)
        assert "paper" in does(one, "solve", "--pool", POOL, "--method", "elo")
        assert "paper" in does(one, "agent", POOL, "paper", "--outcomes")
        assert "0 to" in does(one, "partitions", "list"), "the log keeps all records"

        does(one, "erase", "--pool", POOL, "--agent", NAME, "--by", "a test")
        assert not holders(data / "archive", NAME)
        assert "paper" in does(one, "agent", POOL, "paper", "--outcomes")
        assert exported(one, tmp_path / "erased.jsonl") == ids(400)
        assert "400 archived outcomes" in does(one, "backup", str(saved))
        assert "archive at" in does(one, "verify")
        does(one, "restore", str(saved), "--data", str(again))
    with installation(again, environment=bare) as other:
        until(lambda: other.outcomes(POOL) == 400, "the restored outcomes are visible")
        send(other, 400, 500)
        until(lambda: archived(other, 100), "the restored archive continues")
        assert exported(other, tmp_path / "again.jsonl") == ids(500)
        does(other, "verify")


def test_an_archive_that_fails_stops_nothing_and_is_written_again_once_it_is_removed(tmp_path: Path, bare: Mapping[str, str]) -> None:
    data = tmp_path / "data"
    with installation(data, environment=bare) as one:
        send(one, 0, 200)
        until(lambda: archived(one, 200), "all outcomes are archived")
        one.stop()
    for entry in (data / "archive").rglob("*.json"):
        entry.write_bytes(b"{")
    with installation(data, environment=bare) as one:
        until(lambda: one.outcomes(POOL) == 200, "it starts")
        send(one, 200, 300)
        until(lambda: metric(one, "equirank_archive_failures_total") > 0, "failed appends are counted")
        assert "the archive cannot be written, trying again" in one.engine_log()
        does(one, "pools", "settings", POOL, "--set", "online.elo.k=20")
        assert exported(one, tmp_path / "games.jsonl") == ids(300)
        assert "not copied: the archive" in does(one, "backup", str(tmp_path / "saved"))
        verified = one.run("verify")
        assert (verified.returncode, "the log has all its rows" in verified.stdout) == (1, True), verified.stdout + verified.stderr
        one.stop()
    shutil.rmtree(data / "archive")
    with installation(data, environment=bare) as one:
        until(lambda: archived(one, 300), "all outcomes are archived again")
        does(one, "verify")


def test_it_can_be_switched_off(tmp_path: Path, bare: Mapping[str, str]) -> None:
    data = tmp_path / "data"
    with installation(data, environment={**bare, "EQUIRANK_ARCHIVE": "off"}) as one:
        send(one, 0, 100)
        assert exported(one, tmp_path / "games.jsonl") == ids(100)
        does(one, "verify")
    assert not (data / "archive").exists()
