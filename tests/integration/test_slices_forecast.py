"""Search, forecasts and fair opponents in a slice: of its agents, by the ratings on its boards."""

import math
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.sliced_pools import FOLD, GAMES, POOL, append, client_of, installation, ratings, values_of
from tests.support.worker import published, store_of, until, working

VALUE = values_of(GAMES, "language")[0]
SLICE = f"language:{VALUE}"
OWN = [one for one in GAMES if isinstance(one.tags, dict) and one.tags.get("language") == VALUE]
AGENTS = {agent for one in OWN for side in one.sides for agent in side.agents}


def asked(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(path, params={"slice": SLICE, **query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["slice"] == SLICE
    return found


def test_agents_are_found_and_forecast_in_a_slice(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES), "the games are published")
        board = ratings(client.get("/boards/elo", params={"slice": SLICE, "count": 1000}))
        with store_of(settings) as store:
            head = store.live.head(POOL)
        assert head is not None

        found = asked(client, "/agents", count=200)
        assert {row["agent"]: row["rating"] for row in found["agents"]} == board
        assert {row["agent"] for row in found["agents"]} == AGENTS
        assert (found["total"], found["method"]) == (len(AGENTS), FOLD.slices["language"][0])
        played = {agent: sum(agent in side.agents for one in OWN for side in one.sides) for agent in AGENTS}
        assert {row["agent"]: row["outcomes"] for row in found["agents"]} == played
        first = asked(client, "/agents", count=2)
        then = asked(client, "/agents", count=200, cursor=first["next"])
        assert [*first["agents"], *then["agents"]] == found["agents"]
        refused = client.get("/agents", params={"cursor": first["next"]})
        assert refused.status_code == 422, "the cursor is one of the slice"
        missing = client.get("/agents", params={"slice": SLICE, "method": "weng_lin"})
        assert (missing.status_code, f"a board of slice {SLICE}" in missing.text) == (422, True)

        assert head.forecasts_by_shape["elo"].shapes is not None
        scale = head.forecasts_by_shape["elo"].shapes["1:1"].scale

        def expected(one: str, other: str) -> float:
            log_odds = scale * math.log(10) / 400 * (board[one] - board[other])
            return 1 / (1 + math.exp(-log_odds))

        a, b, *_ = sorted(AGENTS)
        table = asked(client, "/matchups", agents=[a, b], method="elo")
        assert table["expected_scores"][0][1] == pytest.approx(expected(a, b))
        forecast = client.post("/predict", params={"slice": SLICE}, json={"matches": [{"sides": [[a], [b]]}]})
        assert forecast.status_code == 200, forecast.text
        assert forecast.json()["slice"] == SLICE
        by_method = {one["method"]: one["matches"][0]["sides"][0]["expected_score"] for one in forecast.json()["methods"]}
        assert by_method.keys() == set(FOLD.slices["language"])
        assert by_method["elo"] == pytest.approx(table["expected_scores"][0][1])
        (met,) = forecast.json()["met"]
        against = asked(client, f"/agents/{a}/opponents", opponent=b)
        (row,) = against["opponents"]
        assert {name: met[name] for name in ("games", "wins", "draws", "losses")} == {
            name: row[name] for name in ("games", "wins", "draws", "losses")
        }
        assert (against["method"], row["expected_score"]) == ("elo", pytest.approx(expected(a, b)))
        fair = asked(client, f"/agents/{a}/fair-opponents", method="elo", count=5)
        nearest = sorted((other for other in board if other != a), key=lambda other: abs(expected(a, other) - 0.5))[:5]
        assert [one["agent"] for one in fair["opponents"]] == nearest
        assert [one["expected_score"] for one in fair["opponents"]] == pytest.approx([expected(a, other) for other in nearest])

        for path, query, status, words in (
            ("/matchups", {"agents": [a, b], "method": "weng_lin"}, 422, f"an online method of slice {SLICE}"),
            ("/matchups", {"agents": [a, "nobody"], "method": "elo"}, 404, f"slice {SLICE} of the pool has no agents 'nobody'"),
            ("/matchups", {"agents": [a, b], "method": "elo", "slice": "language:none"}, 404, "no slice language:none"),
            ("/agents", {"slice": "language:none"}, 404, "no slice language:none"),
            ("/agents/nobody/fair-opponents", {}, 404, f"slice {SLICE} of the pool has no agents"),
            (f"/agents/{a}/fair-opponents", {"method": "weng_lin"}, 422, "none of its online methods"),
        ):
            answer = client.get(path, params={"slice": SLICE, **query})
            assert (answer.status_code, words in answer.text) == (status, True), answer.text
