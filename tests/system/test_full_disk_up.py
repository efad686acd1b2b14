"""`equirank up` on a real disk that is full: data, logs and Ray's folder on one. It refuses, and goes on by itself once there is room."""

import os
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import msgspec
import pytest

from services.demo import simulated
from services.log.sqlite.log import open_sqlite_log
from tests.support.disk import fill, mounted
from tests.support.games import outcomes
from tests.support.installation import Installation, installation, until
from tests.support.waiting import PATIENCE

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
SIZE = 120 << 20


@pytest.fixture
def disk() -> Iterator[Path]:
    """In a short path: Ray's sockets lie there."""
    with tempfile.TemporaryDirectory(prefix="eqd-") as folder, mounted(Path(folder) / "d", SIZE) as disk:
        yield disk


def kill(one: Installation, mark: str) -> None:
    """One of its processes by what its command line says, or its shard."""
    pids = one.shard_pids() if mark == "shard" else [pid for pid, line in one.processes().items() if mark in line]
    assert len(pids) == 1, mark
    os.kill(pids[0], signal.SIGKILL)


def files(disk: Path) -> dict[str, int]:
    """All but the lock, and what the test itself writes down."""
    found = {str(path.relative_to(disk)): path.stat().st_size for path in disk.rglob("*") if path.is_file()}
    return {name: size for name, size in found.items() if name not in ("data/lock", "data.out")}


def refused(one: Installation, body: object) -> tuple[int, str | None, str]:
    """Status, Retry-After and detail of a request that has to fail."""
    request = urllib.request.Request(one.api + "/v1/outcomes", msgspec.json.encode(body), {"content-type": "application/json"})
    with pytest.raises(HTTPError) as told:
        urllib.request.urlopen(request, timeout=PATIENCE)
    with told.value as answer:
        return answer.code, answer.headers["retry-after"], msgspec.json.decode(answer.read())["detail"]


def send_until_refused(one: Installation, start: int) -> int:
    """Outcomes in batches of 100 until the log takes no more; how many it took."""
    while one.post("/v1/outcomes", outcomes(start, start + 100))[0] == 202:
        start += 100
    return start


def test_a_start_on_a_full_disk_says_so_and_one_after_room_was_made_works(disk: Path) -> None:
    data, environment = disk / "data", {"TMPDIR": str(disk)}
    data.mkdir()
    for left in (0, 1 << 20):
        ballast = fill(disk, left)
        before = files(disk)
        one = Installation(data, environment=environment)
        assert one.process.wait(PATIENCE) == 2
        if left:
            told = one.output.splitlines()
            assert len(told) == 1
            assert told[0].startswith(f"equirank: the disk of {data} is full: ")
            assert told[0].count("16 MiB are needed to start; make room") == 1
        assert files(disk) == before
        one.close()
        ballast.unlink()
    with installation(data, environment=environment) as one:
        assert one.post("/v1/outcomes", outcomes(0, 100))[0] == 202
        until(lambda: one.outcomes(simulated.POOL) == 100, "100 outcomes visible")
        one.stop()
        assert one.process.returncode == 0


def test_a_disk_that_fills_stops_nothing_but_what_has_to_be_written(disk: Path) -> None:
    """Every process dies while there is no room, in turn."""
    data = disk / "data"
    data.mkdir()
    with installation(data, environment={"TMPDIR": str(disk)}) as one:
        assert one.post("/v1/outcomes", outcomes(0, 500))[0] == 202
        until(lambda: one.outcomes(simulated.POOL) == 500, "500 outcomes visible")
        ballast = fill(disk)
        accepted = send_until_refused(one, 500)
        fill(disk)
        status, again, detail = refused(one, outcomes(accepted, accepted + 1000))
        assert (status, again) == (503, "1")
        assert "the disk is full; nothing was written" in detail
        until(lambda: one.outcomes(simulated.POOL) == accepted, "readers see what was accepted")
        kill(one, "redis-server")
        until(lambda: one.outcomes(simulated.POOL) == accepted, "the store is back, and full again")
        for mark in ("services.cli.main api", "shard", "services.cli.main engine"):
            kill(one, mark)
            fill(disk)
            until(lambda: one.outcomes(simulated.POOL) == accepted, f"readers are answered without {mark}, or again")
        assert one.process.poll() is None, one.output
        ballast.unlink()
        until(lambda: one.post("/v1/outcomes", outcomes(accepted, accepted + 500))[0] == 202, "the log takes outcomes again")
        until(lambda: one.outcomes(simulated.POOL) == accepted + 500, "nothing accepted is lost, nothing counts twice")
        assert (one.head(simulated.POOL) or {})["duplicates"] == 0
        until(lambda: (one.get(f"/v1/pools/{simulated.POOL}/boards/copeland") or {}).get("outcomes") == accepted + 500, "solved")
        verified = one.run("verify")
        assert verified.returncode == 0, verified.stdout + verified.stderr
        one.stop()
        assert one.process.returncode == 0, one.output
    log = open_sqlite_log(data / "log.sqlite", 8)
    assert list(log.dead_letters.reader({0: 0}).poll(0.1, 100)) == []
    log.close()
