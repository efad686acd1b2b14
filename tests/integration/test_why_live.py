"""Why an agent has its rating, on an installation with a real engine: sums, flips, and what changed between two positions."""

import json
from pathlib import Path
from typing import Any

from services.demo import simulated
from tests.support.installation import Installation, installation, until

POOL = "blitz"


def send(one: Installation, start: int, stop: int) -> None:
    body = [
        {
            "v": 1,
            "id": f"g{i}",
            "pool": POOL,
            "time": float(i),
            "sides": [{"agents": list(side.agents), "place": side.place} for side in game.sides],
        }
        for i in range(start, stop)
        for game in [simulated.game(i, float(i))]
    ]
    status, answer = one.post("/v1/outcomes", body)
    assert (status, answer["accepted"]) == (202, len(body)), answer


def explained(one: Installation, method: str, agent: str, outcomes: int, query: str = "") -> Any:
    """The explanation once the newest checkpoint has as many outcomes; None before."""
    found = one.get(f"/v1/pools/{POOL}/boards/{method}/why/{agent}{query}")
    return found if found is not None and found["outcomes"] == outcomes else None


def test_ratings_of_a_running_installation_are_explained(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with installation(data, environment={"EQUIRANK_CHECKPOINTS_KEPT": "100"}) as one:
        send(one, 0, 300)
        for method in ("bradley_terry", "copeland", "maximal_lottery", "iterated_maximal_lotteries"):
            found = until(lambda method=method: explained(one, method, "rock", 300), f"rock by {method} is explained")
            assert found["sums"], found
            for terms in found["sums"]:
                assert abs(terms["sum"] - terms["total"]) <= terms["allowed"]
        first = until(lambda: explained(one, "bradley_terry", "rock", 300, "?flips=true"), "rock is explained with flips")
        for flip in first["flips"]:
            assert flip["verified"] is (flip["count"] > 0)
        board = until(lambda: one.get(f"/v1/pools/{POOL}/boards/bradley_terry"), "a board")
        rows = {row["agent"]: row for row in board["rows"]}
        if board["position"] == first["position"]:
            assert (rows["rock"]["rank"], round(rows["rock"]["rating"], 6)) == (first["rank"], round(first["rating"], 6))
        send(one, 300, 400)
        query = f"?from={first['position']}"
        later = until(lambda: explained(one, "bradley_terry", "rock", 400, query), "the change is explained")
        change = later["change"]
        assert (change["outcomes"], change["before"]["rating"]) == (100, first["rating"])
        total = sum(move["effect"] for move in change["moves"]) + change["other_effect"] + change["joined_effect"]
        assert abs(total - (later["rating"] - first["rating"])) < 1e-6
        told = one.run("why", POOL, "rock", "--method", "copeland", "--format", "json")
        assert told.returncode == 0, told.stderr
        assert json.loads(told.stdout)["agent"] == "rock"
        planned = one.answer(f"/v1/pools/{POOL}/next?target=all")
        assert one.answer(f"/v1/pools/{POOL}/next?target=all") == planned, "kept for its position, with the duration of its computation"
