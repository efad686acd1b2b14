"""Seasons as users meet them, in `equirank up`: the shard killed while a season begins, final boards, a restart, a backup."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from services.control.log import ControlLog
from services.demo import simulated
from services.log.sqlite.log import open_sqlite_log
from tests.support.games import outcomes
from tests.support.installation import Installation, installation, until

POOL = simulated.POOL
SEASONS = f"/v1/pools/{POOL}/seasons"
METHODS = ["elo", "sco", "glicko2", "bradley_terry", "copeland", "iterated_maximal_lotteries", "maximal_lottery"]


def send(one: Installation, start: int, stop: int) -> None:
    for first in range(start, stop, 500):
        assert one.post("/v1/outcomes", outcomes(first, min(first + 500, stop)))[0] == 202


def season(one: Installation, name: str) -> dict[str, Any]:
    listed = (one.get(SEASONS) or {"seasons": []})["seasons"]
    return next((dict(view) for view in listed if view["name"] == name), {})


def final(one: Installation, name: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of all final boards of a season."""
    return {method: one.answer(f"{SEASONS}/{name}/boards/{method}?count=1000")["rows"] for method in METHODS}


def killed_at_start(one: Installation) -> None:
    """SIGKILL the shards as soon as the generation of the season is recorded."""
    log = open_sqlite_log(one.data / "log.sqlite", 8)
    control = ControlLog(log.control)
    until(lambda: (newest := control.refresh().newest(POOL)) is not None and newest.season == "winter", "the generation is made")
    for pid in one.shard_pids():
        os.kill(pid, signal.SIGKILL)
    control.close()
    log.close()


@pytest.mark.smoke
def test_a_season_ends_with_boards_that_outlive_everything_else(tmp_path: Path) -> None:
    data, saved, again = tmp_path / "data", tmp_path / "saved", tmp_path / "again"
    with installation(data) as one:
        send(one, 0, 1000)
        until(lambda: one.outcomes(POOL) == 1000, "counted")
        before = one.answer(f"/v1/pools/{POOL}/boards/elo?count=1000")["rows"]
        mean = sum(row["rating"] for row in before) / len(before)
        assert one.post(SEASONS, {"name": "winter", "keep": 0.5})[0] == 202
        killed_at_start(one)
        until(lambda: (one.head(POOL) or {}).get("season") == "winter", "the season serves")
        rows = one.answer(f"/v1/pools/{POOL}/boards/elo?count=1000")["rows"]
        wanted = {row["agent"]: pytest.approx(0.5 * row["rating"] + 0.5 * mean) for row in before}
        assert {row["agent"]: row["rating"] for row in rows} == wanted
        shown = {board["method"]: board for board in one.answer(f"/v1/pools/{POOL}/boards?count=5")["boards"]}
        assert {board["generation"] for board in shown.values()} == {one.head(POOL)["generation"]}, "no board of the season before"
        send(one, 900, 1200)
        until(lambda: one.outcomes(POOL) == 200, "a retry of the season before does not count again")
        until(lambda: season(one, "first").get("status") == "closed", "all final boards")
        assert season(one, "first")["boards"] == METHODS
        assert [(row["agent"], row["rating"]) for row in final(one, "first")["elo"]] == [(row["agent"], row["rating"]) for row in before]
        solved = f"/v1/pools/{POOL}/boards/copeland"
        until(lambda: (one.get(solved) or {}).get("outcomes") == 200, "solved in the new season")
        boards = final(one, "first")
        assert one.run("top", "--pool", POOL, "--season", "first", "--method", "copeland").returncode == 0
        listed = one.run("seasons", "list", POOL)
        assert "winter" in listed.stdout, listed.stderr
        verified = one.run("verify")
        assert verified.returncode == 0, verified.stdout + verified.stderr
        assert "end of season first" in verified.stdout
        made = one.run("backup", str(saved))
        assert made.returncode == 0, made.stderr
        one.stop()
    with installation(data) as one:
        until(lambda: one.outcomes(POOL) == 200, "started again")
        assert final(one, "first") == boards
        started = one.run("seasons", "start", POOL, "spring")
        assert started.returncode == 0, started.stderr
        assert one.head(POOL)["season"] == "spring"
        assert one.answer(f"/v1/pools/{POOL}/boards/elo")["total"] == 0
        until(lambda: season(one, "winter").get("status") == "closed", "the second one, too")
        assert season(one, "winter")["outcomes"] == 200
        assert final(one, "first") == boards
        done = one.run("restore", str(saved), "--data", str(again))
        assert done.returncode == 0, done.stderr
    with installation(again) as one:
        until(lambda: one.outcomes(POOL) == 200, "restored")
        assert final(one, "first") == boards
