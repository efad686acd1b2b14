"""Parts of Ray are killed under a running `equirank up`: the engine notices, ends, is started again, and folds what came meanwhile."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.installation import Installation, installation, until
from tests.support.ray_processes import parts_of

POOL = "blitz"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(tmp_path_factory.mktemp("dead-ray") / "data") as one:
        yield one


def play(up: Installation, name: str) -> None:
    sides = [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]
    status, said = up.post("/v1/outcomes", [{"v": 1, "id": name, "pool": POOL, "sides": sides}])
    assert status == 202, said


def fresh(up: Installation) -> bool:
    return up.get("/freshz") is not None


@pytest.mark.parametrize("part", ["raylet and shard", "control service", "dashboard agent"])
def test_folding_goes_on_after_the_death_of(up: Installation, part: str) -> None:
    until(lambda: fresh(up), "every partition is folded")
    before = max(0, up.outcomes(POOL))
    play(up, f"{part} before")
    until(lambda: up.outcomes(POOL) == before + 1, "folded")
    engine = next(pid for pid, line in up.processes().items() if "services.cli.main engine" in line)
    shards = up.shard_pids()
    killed = until(lambda: parts_of(engine, part.removesuffix(" and shard")), f"{part} runs")
    for pid in (*killed, *(shards if part.endswith("shard") else ())):
        os.kill(pid, signal.SIGKILL)
    until(lambda: engine not in up.processes(), f"the engine ended\n{up.engine_log()}")
    play(up, f"{part} after")
    until(lambda: up.outcomes(POOL) == before + 2, f"folded by another engine\n{up.engine_log()}")
    until(lambda: set(up.shard_pids()).isdisjoint(shards), "by shards of its own")
    until(lambda: fresh(up), "every partition is folded again")
