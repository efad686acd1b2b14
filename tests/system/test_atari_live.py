"""The Atari table streamed as score events through a running service: deviation ratings of both games are the published ones."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from ratings_core.formats.score_tables import read_scores
from tests.support.installation import Installation, installation, until

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "deviation"
GAMES, AGENTS, BATCH = 53, 20, 11
POOLS = {"atari-2": 2, "atari-3": 3}


def streamed(one: Installation, pool: str, seed: int) -> int:
    """Send every measurement of the table, tasks in a random order and some of them twice; how many were new."""
    table = read_scores((GOLDEN / "atari_table3.csv").read_text())
    assert table.scores.shape == (AGENTS, GAMES)
    measured = {task: dict(zip(table.agents, row, strict=True)) for task, row in zip(table.tasks, table.scores.T.tolist(), strict=True)}
    events = [{"v": 1, "id": task, "pool": pool, "task": task, "scores": scores} for task, scores in measured.items()]
    random.Random(seed).shuffle(events)
    for start in range(0, len(events), BATCH):
        status, told = one.post("/v1/outcomes", events[max(0, start - 1) : start + BATCH])
        assert status == 202, told
    return len(events)


def board(one: Installation, pool: str) -> Any:
    """The deviation board once it counts every game."""
    path = f"/v1/pools/{pool}/boards/deviation?count=100"
    return until(lambda: (found := one.get(path)) and found["outcomes"] == GAMES and found, f"{pool} is solved")


def test_ratings_of_the_streamed_table_are_the_golden_ones(tmp_path: Path) -> None:
    golden = list(csv.DictReader((GOLDEN / "atari_deviation_2p_computed.csv").read_text().splitlines()))
    with installation(tmp_path / "data") as one:
        for seed, (pool, players) in enumerate(POOLS.items()):
            assert one.request("PUT", f"/v1/pools/{pool}", {"kind": "scores"})[0] in (200, 201)
            chosen = {"methods": {"deviation": {"players": players, "missing": "refuse"}}}
            assert one.request("PUT", f"/v1/pools/{pool}/methods", chosen)[0] == 200
            assert streamed(one, pool, seed) == GAMES
        two, three = (board(one, pool) for pool in POOLS)
        top = one.run("top", "--pool", "atari-3", "--method", "deviation", "--format", "json", "--count", "3")
    expected = {(row["player"], row["strategy"]): float(row["rating"]) for row in golden}
    found = {("agent", row["agent"]): row["rating"] for row in two["rows"]} | {("task", row["task"]): row["rating"] for row in two["tasks"]}
    assert len(expected) == AGENTS + GAMES
    assert found == pytest.approx(expected, abs=1e-7)
    best = [row["agent"] for row in three["rows"] if row["rank"] == 1]
    assert sorted(best) == ["agent57", "muzero", "r2d2(bandit)"]
    assert next(row["rank"] for row in three["rows"] if row["agent"] == "human") == 7
    assert {row["agent"] for row in json.loads(top.stdout)["rows"]} == set(best)
    for solved in (two, three):
        assert solved["status"] == "optimal"
        assert solved["certificate"]["value"] <= 1e-6
