"""What boards of slices show of agents: games, wins, draws and losses in the slice, and the agents that filters leave."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from services.boards import reading
from services.cli.main import application
from services.control.details import DetailsChange
from services.control.log import ControlLog
from services.wire.events import GameEvent
from tests.support.sliced_pools import GAMES, POOL, append, client_of, installation, values_of
from tests.support.worker import published, until, working

COLUMNS = ("games", "wins", "draws", "losses")
LANGUAGE, OTHER = values_of(GAMES, "language")
SLICE = f"language:{LANGUAGE}"


def counted(sent: list[GameEvent], value: str | None) -> dict[str, dict[str, float]]:
    """Agent -> its games, wins, draws and losses among the outcomes of a language, or of all for None."""
    sums = {name: Counter[str]() for name in COLUMNS}
    for one in sent:
        if value is not None and (not isinstance(one.tags, dict) or one.tags.get("language") != value):
            continue
        level = len({side.place for side in one.sides}) == 1
        for side in one.sides:
            sums["games"][side.agents[0]] += 1
            sums["draws" if level else "wins" if side.place == 1 else "losses"][side.agents[0]] += 1
    return {agent: {name: float(sums[name][agent]) for name in COLUMNS} for agent in sums["games"]}


def rows_of(answer: httpx.Response) -> dict[str, dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return {row["agent"]: row for row in answer.json()["rows"]}


def test_columns_and_filters_count_the_games_of_the_slice(tmp_path: Path) -> None:
    own, other, whole = counted(GAMES, LANGUAGE), counted(GAMES, OTHER), counted(GAMES, None)
    assert own != other
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
        name = {"slice": SLICE, "count": 100}

        def games(path: str, **query: Any) -> dict[str, dict[str, float]]:
            found = rows_of(client.get(path, params=query))
            return {agent: {column: row.get(column) for column in COLUMNS} for agent, row in found.items()}

        until(lambda: games("/boards/elo", **name) == own, "a checkpoint has the games")
        for wanted, query in ((own, name), (other, {"slice": f"language:{OTHER}", "count": 100}), (whole, {"count": 100})):
            until(lambda query=query, wanted=wanted: games("/boards/elo", **query) == wanted, "each board has its own games")  # type: ignore[misc]
        board = client.get("/boards/elo", params=name).json()
        assert (board["games_position"], board["slice"]) == (board["position"], SLICE)
        listed = client.get("/boards", params=name).json()["boards"]
        assert {row["agent"]: row["games"] for row in listed[0]["rows"]} == {agent: row["games"] for agent, row in own.items()}
        around = rows_of(client.get("/boards/elo/around/a1", params={"slice": SLICE}))
        assert {agent: row["wins"] for agent, row in around.items()} == {agent: own[agent]["wins"] for agent in around}
        lines = client.get("/boards/elo", params={**name, "format": "csv"}).text.splitlines()
        assert {"games", "wins", "draws", "losses"} <= set(lines[0].split(","))
        least = sorted(row["games"] for row in own.values())[len(own) // 2]
        enough = {agent for agent, row in own.items() if row["games"] >= least}
        assert enough != set(own)
        for method in ("elo", "glicko2"):
            chosen = rows_of(client.get(f"/boards/{method}", params={**name, "min_games": int(least)}))
            everyone = rows_of(client.get(f"/boards/{method}", params=name))
            assert chosen.keys() == enough, "games in the slice decide"
            assert {agent: row["rank"] for agent, row in chosen.items()} == {agent: everyone[agent]["rank"] for agent in enough}
        first = client.get("/boards/elo", params={"slice": SLICE, "count": 1, "min_games": int(least)}).json()
        then = client.get("/boards/elo", params={"slice": SLICE, "min_games": int(least), "cursor": first["next"], "count": 100}).json()
        assert {row["agent"] for row in (*first["rows"], *then["rows"])} == enough
        assert client.get("/boards/elo", params={"min_games": int(least), "cursor": first["next"]}).status_code == 422, "another board"


def test_filters_of_details_and_games_are_of_the_board_that_is_asked(tmp_path: Path) -> None:
    own, whole = counted(GAMES, LANGUAGE), counted(GAMES, None)
    least = int(max(row["games"] for row in own.values()))
    with installation(tmp_path) as (settings, log):
        with closing(ControlLog(log.control, details=True)) as control:
            control.refresh()
            control.write_details(POOL, {agent: DetailsChange(country="DE") for agent in whole if agent != "a1"}, 1.0, most_agents=100)
            control.write_details(POOL, {"a2": DetailsChange(hidden=True)}, 1.0, most_agents=100)
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
        with client_of(settings, log) as client:

            def agents(**query: Any) -> set[str]:
                return set(rows_of(client.get("/boards/elo", params={"count": 100, **query})))

            assert agents(country="DE", slice=SLICE) == own.keys() - {"a1", "a2"}
            both: dict[str, Any] = {"country": "DE", "min_games": least}
            until(lambda: client.get("/boards/elo", params={**both, "slice": SLICE}).status_code == 200, "a checkpoint has the slice")
            for _ in range(2):  # the pool's answer and the slice's do not stand for each other
                assert agents(**both, slice=SLICE) == {agent for agent in own.keys() - {"a1", "a2"} if own[agent]["games"] >= least}
                assert agents(**both) == {agent for agent in whole.keys() - {"a1", "a2"} if whole[agent]["games"] >= least}


def test_agents_with_few_outcomes_in_the_slice_are_provisional_on_its_boards(tmp_path: Path) -> None:
    few = {agent for agent, row in counted(GAMES[:60], LANGUAGE).items() if row["games"] < 5}
    with installation(tmp_path) as (settings, log):
        append(log, GAMES[:60])
        with working(settings.model_copy(update={"provisional_outcomes": 5}), log):
            until(lambda: published(settings) == 60, "the games are published")
        with client_of(settings, log) as client:
            rows = rows_of(client.get("/boards/elo", params={"slice": SLICE, "count": 100}))
            marked = {agent for agent, row in rows.items() if row.get("provisional")}
            assert few <= marked < rows.keys()
            assert [row["rank"] is None for row in rows.values()] == [agent in marked for agent in rows]
            for choice, agents in (("exclude", rows.keys() - marked), ("only", marked)):
                assert rows_of(client.get("/boards/elo", params={"slice": SLICE, "provisional": choice})).keys() == agents


def test_all_rows_of_a_large_board_of_a_slice_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS_A_READ", 4)
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
        answer = client.get("/boards/elo", params={"slice": SLICE, "format": "jsonl"})
        assert answer.status_code == 200, answer.text
        assert len(answer.text.splitlines()) == len(counted(GAMES, LANGUAGE))


def test_an_agent_has_a_record_and_opponents_in_the_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, whole = counted(GAMES, LANGUAGE), counted(GAMES, None)
    games = [one for one in GAMES if isinstance(one.tags, dict) and one.tags.get("language") == LANGUAGE]
    met = Counter(side.agents[0] for one in games if ["a1"] in [s.agents for s in one.sides] for side in one.sides if side.agents != ["a1"])
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
        name = {"slice": SLICE}
        until(lambda: client.get("/agents/a1", params=name).json()["games"] is not None, "a checkpoint has the slice")
        profile = client.get("/agents/a1", params=name).json()
        assert {column: profile["games"][column] for column in COLUMNS} == own["a1"]
        assert (profile["outcomes"], profile["slice"], profile["no_record"]) == (own["a1"]["games"], SLICE, None)
        assert client.get("/agents/a1").json()["games"]["games"] == whole["a1"]["games"]
        answer = client.get("/agents/a1/opponents", params={**name, "count": 100}).json()
        assert {row["agent"]: row["games"] for row in answer["opponents"]} == dict(met)
        assert (answer["slice"], answer["method"]) == (SLICE, "elo")
        assert all(0.0 < row["expected_score"] < 1.0 for row in answer["opponents"])
        first = client.get("/agents/a1/opponents", params={**name, "count": 3}).json()
        then = client.get("/agents/a1/opponents", params={**name, "count": 100, "cursor": first["next"]}).json()
        assert first["opponents"] + then["opponents"] == answer["opponents"]
        assert client.get("/agents/a1/opponents", params={"cursor": first["next"]}).status_code == 422, "the pool is another list"
        assert client.get("/agents/a1/opponents", params={**name, "count": 100, "method": "elo"}).json()["opponents"] == answer["opponents"]
        for path in ("/agents/a1", "/agents/a1/opponents", "/boards/elo"):
            assert client.get(path, params={"slice": "language:Klingon"}).status_code == 404, path
        for key, setting in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{key}", str(setting))

        def printed(*words: str) -> str:
            done = CliRunner(env={"COLUMNS": "200"}).invoke(application(words[0]), list(words))
            return done.output + str(done.exception or "")

        record = f"{own['a1']['games']:g} games: {own['a1']['wins']:g} won"
        assert record in (shown := printed("agent", POOL, "a1", "--slice", SLICE))
        assert f"a1 · {SLICE}" in shown
        assert f"{len(met)} opponents" in printed("agent", POOL, "a1", "--opponents", "--slice", SLICE)
        assert "must be a slice of pool" in printed("agent", POOL, "a1", "--slice", "language:Klingon")
        table = printed("top", "--pool", POOL, "--method", "elo", "--slice", SLICE, "--details", "--format", "json")
        assert {row["agent"]: row["games"] for row in json.loads(table)["rows"]} == {agent: row["games"] for agent, row in own.items()}
