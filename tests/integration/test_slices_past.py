"""Live boards of slices at the positions of kept checkpoints: equal to an independent fold of the slice's outcomes until then."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from tests.support.sliced_pools import FOLD, GAMES, POOL, append, client_of, installation, ratings, slice_ratings, values_of
from tests.support.worker import HOME, published, until, working

STAGES = (40, 150, 300)


@pytest.mark.parametrize("folds", [True, False])
def test_past_boards_of_slices_are_those_of_their_outcomes_until_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folds: bool) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        if not folds:
            log.archived = None  # then the checkpoints are read
        sent = 0
        for count in STAGES:
            append(log, GAMES[sent:count])
            sent = count
            with working(settings, log):
                until(lambda count=count: published(settings) == count, "the games are published")  # type: ignore[misc]
        kept = {entry.position: entry.outcomes for entry, _ in CheckpointStore(settings.checkpoint_url).kept_entries(HOME, POOL)}
        assert len(kept) >= len(STAGES)
        for position, outcomes in kept.items():
            for tag, methods in FOLD.slices.items():
                for value in values_of(GAMES[:outcomes], tag):
                    own = [one for one in GAMES[:outcomes] if isinstance(one.tags, dict) and one.tags.get(tag) == value]
                    for method in methods:
                        answer = client.get(f"/boards/{method}", params={"slice": f"{tag}:{value}", "position": position, "count": 100})
                        assert ratings(answer) == slice_ratings(GAMES[:outcomes], tag, value, method)
                        board = answer.json()
                        assert (board["source"], board["position"], board["slice"]) == ("past", position, f"{tag}:{value}")
                        assert board["outcomes"] == len(own)
        newest, value = max(kept), values_of(GAMES, "language")[0]
        name = {"slice": f"language:{value}", "count": 100}
        for method in ("elo", "glicko2"):
            live, past = (client.get(f"/boards/{method}", params={**name, **more}).json() for more in ({}, {"position": newest}))
            columns = ("agent", "rating", "rank", "deviation", "low", "high", "provisional")
            shown = [
                sorted(({column: row.get(column) for column in columns} for row in board["rows"]), key=lambda row: row["agent"])
                for board in (live, past)
            ]
            assert shown[0] == shown[1], "the newest checkpoint has the live board"
        first = client.get("/boards/elo", params={**name, "position": newest, "count": 3}).json()
        then = client.get("/boards/elo", params={**name, "cursor": first["next"]}).json()
        assert first["rows"] + then["rows"] == client.get("/boards/elo", params={**name, "position": newest}).json()["rows"]
        assert client.get("/boards/elo", params={**name, "at": "2100-01-01"}).json()["position"] == newest
        assert client.get("/boards/glicko2", params={"slice": "map:a/b", "position": newest}).status_code == 404, "the tag has elo alone"
        assert client.get("/boards/elo", params={"slice": "map:c", "position": newest}).status_code == 404
        for key, setting in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))
        words = ["top", "--pool", POOL, "--method", "elo", "--slice", f"language:{value}", "--position", str(newest)]
        shown_there = CliRunner(env={"COLUMNS": "200"}).invoke(application("top"), words, catch_exceptions=False).output
        assert f"elo (past) · language:{value}" in shown_there
