"""`equirank up` as its users meet it: started, fed, killed in every way, started again."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from services.demo import arena, simulated
from tests.support.installation import Installation, installation, until


def games(start: int, stop: int, pool: str = "blitz") -> list[dict[str, object]]:
    return [
        {
            "id": f"g{i}",
            "pool": pool,
            "time": float(i),
            "sides": [{"agents": list(side.agents), "place": side.place} for side in simulated.game(i, float(i)).sides],
        }
        for i in range(start, stop)
    ]


def send(one: Installation, start: int, stop: int) -> None:
    for first in range(start, stop, 200):
        body = [{"v": 1, **game} for game in games(first, min(first + 200, stop))]
        status, answer = one.post("/v1/outcomes", body)
        assert (status, answer["accepted"]) == (202, len(body)), answer


def verified(one: Installation) -> None:
    found = one.run("verify")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "no difference" in found.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def arena_shows_what_it_promises(one: Installation) -> int:
    """Wait for the boards of the demo's arena. Returns the number of battles in its second season."""
    path = f"/v1/pools/{arena.POOL}"
    until(lambda: one.answer(f"{path}/seasons")["seasons"][0]["status"] == "closed", "the first season has its final boards")
    assert one.answer(f"{path}/seasons/first/boards/bradley_terry?count=1")["rows"][0]["display_name"] == "Nimbrel 3"
    until(lambda: one.outcomes(arena.POOL) >= arena.HISTORY - arena.SEASON_BATTLES, "the history of the arena is folded")
    for method in ("glicko2", "bradley_terry"):
        english = until(lambda method=method: one.get(f"{path}/boards/{method}?slice=language:English"), f"{method} of English")
        assert english["rows"][0]["agent"] == "corvane-xl"
    fallen = until(lambda: day_of(one.answer(f"{path}/boards/glicko2?agents={arena.FALLEN}")), "a change within a day")
    assert fallen["rating"] < fallen["earlier_rating"]
    head = one.head(arena.POOL)
    assert head is not None
    assert head["duplicates"] == head["conflicts"] == head["dead_letters"] == 0
    return int(head["outcomes"])


def day_of(board: Any) -> Any:
    """The only row of a board, once a day before is known."""
    return board["rows"][0] if (board.get("earlier") or {}).get("day") else None


def test_main_job_and_every_way_to_end_it(data: Path) -> None:
    with installation(data, "--demo") as one:
        send(one, 0, 1000)
        until(lambda: one.outcomes("blitz") == 1000, "1,000 outcomes visible")

        # the demo's boards: one real evaluation, one simulated pool that says so
        nash = one.answer("/v1/pools/atari/boards/nash_average")
        assert [row["rank"] for row in nash["rows"]].count(1) == 4
        assert one.answer(f"/v1/pools/{simulated.POOL}")["label"] == "simulated"
        battles = arena_shows_what_it_promises(one)

        # a second one on the same folder is refused, and says by whom
        second = one.run("up")
        assert second.returncode == 2
        assert str(one.process.pid) in second.stderr

        # a killed shard changes nothing
        shards = one.shard_pids()
        assert len(shards) == 1
        assert os.getpriority(os.PRIO_PROCESS, shards[0]) == os.getpriority(os.PRIO_PROCESS, 0), "a shard gives way to nobody"
        os.kill(shards[0], signal.SIGKILL)
        send(one, 1000, 2000)
        until(lambda: one.outcomes("blitz") == 2000, "2,000 outcomes visible after the kill")
        assert one.shard_pids() != shards
        verified(one)
        assert one.outcomes(arena.POOL) >= battles

        # killed without warning, nothing stays behind
        assert len(one.processes()) > 5
        one.process.kill()
        one.process.wait()
        until(lambda: not one.processes(), "no process of a killed installation is left")

    # started again, it goes on with all it had; sent again, nothing doubles
    with installation(data) as one:
        until(lambda: one.output.count("Ready after") == 2, "it says that it is ready")
        assert all(one.get(f"/v1/pools/{pool}/boards") is not None for pool in ("atari", "blitz", simulated.POOL, arena.POOL)), (
            "ready: pools are readable"
        )
        until(lambda: one.outcomes("blitz") == 2000, "2,000 outcomes visible after the restart")
        until(lambda: one.get("/v1/pools/atari/boards/nash_average"), "solved boards are back")
        send(one, 0, 2100)
        until(lambda: one.outcomes("blitz") == 2100, "2,100 outcomes visible")
        assert one.head("blitz")["duplicates"] == 2000
        verified(one)
        top = one.run("top", "--pool", "blitz", "--method", "elo", "--format", "json")
        assert top.returncode == 0, top.stderr
        assert len(json.loads(top.stdout)["rows"]) == 6
        one.stop()
        assert one.process.returncode == 0, one.output
        until(lambda: not one.processes(), "no process is left")


def test_the_store_is_only_a_cache(data: Path) -> None:
    with installation(data) as one:
        send(one, 0, 400)
        until(lambda: one.get("/v1/pools/blitz/boards/maximal_lottery"), "solved")
        redis = [pid for pid, command in one.processes().items() if "redis-server" in command]
        assert len(redis) == 1
        os.kill(redis[0], signal.SIGKILL)
        until(lambda: one.outcomes("blitz") == 400, "live boards are back")
        until(lambda: one.get("/v1/pools/blitz/boards/maximal_lottery"), "solved boards are back")
        verified(one)

        # without its guardian a killed `up` would leave processes behind: it ends by itself, and tells why
        [guardian] = [pid for pid, command in one.processes().items() if "services.runtime.guardian" in command]
        os.kill(guardian, signal.SIGKILL)
        until(lambda: one.process.poll() is not None, "`up` ended")
        assert one.process.returncode == 2
        assert "the guardian ended" in one.output
        until(lambda: not one.processes(), "no process is left")
