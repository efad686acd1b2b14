"""Explanations, insight and recommendations of a slice: from its checkpoint, equal to those of a pool of its outcomes alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from typer.testing import CliRunner

from services.cli.main import application
from services.control.records import FoldSettings
from services.runtime.settings import Settings
from services.solve.insight import job, on_request
from services.solve.next_matches import _pairs
from services.solve.problems.checkpointed import problem
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.sliced_pools import GAMES, POOL, append, client_of, installation, ratings, values_of
from tests.support.sliced_solves import SLICES, solving
from tests.support.worker import published, store_of, until, working

VALUE = values_of(GAMES, "language")[0]
SLICE = f"language:{VALUE}"
OWN = [one for one in GAMES if isinstance(one.tags, dict) and one.tags.get("language") == VALUE]


@contextmanager
def solved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Settings, httpx.Client]]:
    """The sliced pool after all games, with its solved boards of slices."""
    with installation(folder) as (settings, log), client_of(settings, log) as client, solving(settings, log) as solver:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES), "the games are published")
        solver.choose(SLICES)
        with store_of(settings, log) as store:
            solver.until(lambda: len(store.solved.slice_boards(POOL)) == 6, "every slice is solved")
        for key, setting in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))
        yield settings, client


def printed(*words: str) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(application(words[0]), list(words))
    return done.output + str(done.exception or "")


def alone() -> dict[str, Any]:
    """The content of a pool of the slice's outcomes alone."""
    state = state_of(fold=FoldSettings(online={"elo": {}, "glicko2": {}}))
    fold_events(state, OWN)
    return state.arrays()


def test_a_solved_rating_in_a_slice_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with solved(tmp_path, monkeypatch) as (_, client):
        board = ratings(client.get("/boards/bradley_terry", params={"slice": SLICE, "count": 100}))
        for agent in list(board)[:3]:
            shown = client.get(f"/boards/bradley_terry/why/{agent}", params={"slice": SLICE, "flips": agent == next(iter(board))}).json()
            assert (shown["slice"], shown["method"], shown["outcomes"]) == (SLICE, "bradley_terry", len(OWN))
            assert shown["rating"] == pytest.approx(board[agent], abs=1e-9)
            assert shown["agents"] == len(board)
            for one in shown["sums"]:
                assert abs(one["sum"] - one["total"]) <= one["allowed"]
            opponents = {term["name"] for one in shown["sums"] if one["by"] == "opponent" for term in one["terms"]}
            assert opponents <= {s.agents[0] for one in OWN if [agent] in [x.agents for x in one.sides] for s in one.sides} - {agent}
        whole = client.get(f"/boards/bradley_terry/why/{agent}").json()
        assert "slice" not in whole
        assert whole["outcomes"] == len(GAMES)
        since = client.get(f"/boards/bradley_terry/why/{agent}", params={"slice": SLICE, "from": shown["position"]}).json()
        assert since["change"]["outcomes"] == 0
        text = printed("why", POOL, agent, "--method", "bradley_terry", "--slice", SLICE)
        assert f"{POOL} · {SLICE} · {agent} by bradley_terry" in text
        refused = [
            ("copeland", SLICE, 404, "no solved board copeland of this slice"),
            ("bradley_terry", "language:Klingon", 404, "has no slice language:Klingon"),
            ("bradley_terry", "language", 422, "a colon and a value"),
        ]
        for method, part, status, words in refused:
            answer = client.get(f"/boards/{method}/why/{agent}", params={"slice": part})
            assert (answer.status_code, words in answer.text) == (status, True), (method, part, answer.text)
        assert "must be a method with a board of slice" in printed("why", POOL, agent, "--method", "copeland", "--slice", SLICE)


def test_next_games_and_insight_of_a_slice_are_those_of_its_outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = alone()
    given = problem(Kind.GAMES, arrays)
    with solved(tmp_path, monkeypatch) as (_, client):
        planned = client.get("/next", params={"slice": SLICE, "target": "top:3", "games": 20}).json()
        wanted = _pairs(given.by_name(), "top", "3", 20, 0.1, 10)  # type: ignore[arg-type]
        assert planned["slice"] == SLICE
        assert planned["before"] == pytest.approx(wanted["before"], rel=1e-9)
        assert [one["agents"] for one in planned["matches"]] == [one.agents for one in wanted["matches"]]
        assert "slice" not in client.get("/next", params={"target": "top:3"}).json()
        assert f"{POOL} · {SLICE} · top:3" in printed("next", "--pool", POOL, "--target", "top:3", "--slice", SLICE)

        report = client.get("/insight", params={"slice": SLICE}).json()
        found = job.solve(given, len(OWN), [], job.sums_of(arrays, ["elo", "glicko2"]))
        assert (report["slice"], report["outcomes"], report["status"]) == (SLICE, len(OWN), "optimal")
        for part in ("cyclicity", "order", "cycles", "clones", "prequential"):
            assert report["findings"][part] == msgspec.json.decode(msgspec.json.encode(found.extra[part])), part
        again = client.get("/insight", params={"slice": SLICE}).json()
        assert again["seconds"] == report["seconds"], "it is computed once for a checkpoint"
        assert f"{POOL} · {SLICE}" in printed("insight", "--pool", POOL, "--slice", SLICE)
        for path in ("/next", "/insight"):
            assert client.get(path, params={"slice": "language:Klingon"}).status_code == 404
        assert "must be a slice of pool" in printed("insight", "--pool", POOL, "--slice", "language:Klingon")
        monkeypatch.setattr(on_request, "MOST_AGENTS", 3)
        assert "must have at most 3 agents" in client.get("/insight", params={"slice": SLICE}).text
