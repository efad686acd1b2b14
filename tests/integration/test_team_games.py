"""A pool of games 2:2 on a real shard, a real store and the API: records, and what does not apply to it. A stranger's report."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.solve.registry.methods import defaults
from services.wire.pools import Kind
from tests.support.sliced_pools import POOL, append, client_of, installation
from tests.support.sliced_solves import Solver, solving
from tests.support.team_games import records, team_games
from tests.support.worker import HOME, counted, differences, published, until, working

GAMES = [msgspec.structs.replace(game, tags={"map": ("north", "south")[at % 2]}) for at, game in enumerate(team_games(POOL, 200))]
FOLD = FoldSettings(online={"elo": {}, "sco": {}}, slices={"map": ("elo",)})
PLACES_METHODS = {"borda": {}}
RECORD = ("games", "wins", "draws", "losses")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, Log]]:
    """The pool with its games, folded and checkpointed."""
    with installation(tmp_path_factory.mktemp("teams"), FOLD) as (settings, log):
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES), "all games are published")
            until(lambda: _checkpointed(settings) == len(GAMES), "all games are in a checkpoint")
        yield settings, log


@pytest.fixture
def client(installed: tuple[Settings, Log]) -> Iterator[httpx.Client]:
    with client_of(*installed) as client:
        yield client


def _checkpointed(settings: Settings) -> int:
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    return -1 if manifest is None or not manifest.pools else manifest.pools[0].outcomes


def get(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_every_agent_has_the_record_of_its_sides(installed: tuple[Settings, Log], client: httpx.Client) -> None:
    wanted = records(GAMES)
    for row in get(client, "/boards/elo", count=100)["rows"]:
        games = get(client, f"/agents/{row['agent']}")["games"]
        assert {name: games[name] for name in wanted[row["agent"]]} == wanted[row["agent"]]
        assert {name: row[name] for name in RECORD} == {name: games[name] for name in RECORD}
        met = get(client, f"/agents/{row['agent']}/opponents")
        assert (met["opponents"], met["team_games"]) == ([], games["games"])
    assert len(get(client, "/boards/elo", count=100, min_games=1)["rows"]) == len(wanted)
    assert differences(*installed) == []


def test_a_slice_has_the_records_of_its_games(client: httpx.Client) -> None:
    wanted = records(game for game in GAMES if game.tags == {"map": "north"})
    for agent, record in wanted.items():
        games = get(client, f"/agents/{agent}", slice="map:north")["games"]
        assert {name: games[name] for name in record} == record


def test_methods_of_pairs_and_places_do_not_apply_and_insight_does_not_compare_them(
    installed: tuple[Settings, Log], client: httpx.Client
) -> None:
    methods = {**defaults(Kind.GAMES), **PLACES_METHODS}
    with solving(*installed) as solver:
        solver.choose({"map": ["copeland"]}, methods)
        solver.until(lambda: _answered(solver, client, methods), "every method has an answer, and so has insight")
        for method in methods:
            board = get(client, f"/boards/{method}")
            assert (board["status"], board["rows"], board["certificate"]["value"]) == ("not_applicable", [], None)
            assert "of teams are not counted" in board["error"]
        sliced = get(client, "/boards/copeland", slice="map:north")
        assert (sliced["status"], sliced["rows"]) == ("not_applicable", [])
        found = get(client, "/insight")["findings"]
    assert sorted((row["method"], row["shape"]) for row in found["prequential"]["forecasts"]) == [("elo", "2:2"), ("sco", "2:2")]
    assert [row["method"] for row in found["disagreement"]["methods"]] == ["elo", "sco"]
    assert found["disagreement"]["left_out"] == []
    assert {pair for row in found["disagreement"]["distances"] for pair in row["methods"]} == {"elo", "sco"}
    for part in ("connectivity", "cyclicity", "order", "cycles", "clones", "top"):
        assert "games of teams are not counted by pairs" in found[part]["not_applicable"]


def _answered(solver: Solver, client: httpx.Client, methods: dict[str, Any]) -> bool:
    if set(get(client, "/boards")["methods"]["solved"]) < methods.keys() or client.get("/insight").json().get("findings") is None:
        return False
    return client.get("/boards/copeland", params={"slice": "map:north"}).status_code == 200


def predicted(client: httpx.Client, *matches: list[list[str]], **query: str) -> dict[str, Any]:
    answer = client.post("/predict", json={"matches": [{"sides": sides} for sides in matches], "methods": ["elo"]}, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("query", [{}, {"slice": "map:north"}])
def test_games_of_teams_have_forecasts_and_duels_have_none(client: httpx.Client, query: dict[str, str]) -> None:
    [elo] = predicted(client, [["a1", "a2"], ["a3", "a4"]], [["a1"], ["a2"]], **query)["methods"]
    known, unknown = elo["matches"]
    assert (known["shape"], known["no_forecast"]) == ("2:2", None)
    assert 0 < known["sides"][0]["win"] < 1
    assert "forecasts of games 1:1 need 100 results of this shape, and there are 0, beside games 2:2" in unknown["no_forecast"]
    assert (unknown["tie"], unknown["evenness"], [side["win"] for side in unknown["sides"]]) == (None, None, [None, None])
    assert sorted(side["rank"] for side in unknown["sides"]) == [1, 2]
    there, missing = elo["records"]
    assert (there["shape"], there["pairs"], there["enough"]) == ("2:2", sum(game.weight for game in GAMES), True)
    assert sum(one[0] for one in there["classes"]) == pytest.approx(there["pairs"])
    assert (missing["shape"], missing["pairs"], missing["log_loss"], missing["enough"], missing["classes"]) == ("1:1", 0.0, None, False, [])
    for path, asked in (("/matchups", {"agents": ["a1", "a2"], "method": "elo"}), ("/agents/a1/fair-opponents", {})):
        refused = client.get(path, params={**asked, **query})
        assert (refused.status_code, "forecasts of games 1:1 need 100 results" in refused.text) == (422, True), refused.text


@pytest.mark.parametrize("target", ["all", "top:3", "agent:a1"])
def test_no_pair_of_players_is_recommended(client: httpx.Client, target: str) -> None:
    found = get(client, "/next", target=target)
    assert "games of teams are not counted by pairs" in found["not_applicable"]
    assert not found.get("matches")


def test_a_pool_of_an_earlier_release_counts_them_from_its_next_generation_on(tmp_path: Path) -> None:
    """Its checkpoints go on as they are: nothing is folded again before somebody asks for it."""
    with installation(tmp_path, FoldSettings(online={"elo": {}}, by_shape=False)) as (settings, log):
        append(log, GAMES[:50])
        with working(settings, log):
            until(lambda: _checkpointed(settings) == 50, "the first games are in a checkpoint")
        append(log, GAMES[50:100])
        with working(settings, log), client_of(settings, log) as client, closing(ControlLog(log.control)) as control:
            until(lambda: published(settings) == 100, "all games are published")
            until(lambda: get(client, "/agents/a1")["games"], "a record is known")
            assert get(client, "/agents/a1")["games"]["team_games"] is None
            teams = [["a1", "a2"], ["a3", "a4"]]
            assert "does not tell shapes of games apart" in predicted(client, teams)["without"]["elo"]
            standing = control.standing(POOL)
            control.want(generations.wish(standing, time=1.0, fold=msgspec.structs.replace(standing.fold, by_shape=True)))
            until(lambda: counted(settings, 100, 2), "the next generation serves")
            record = records(GAMES[:100])["a1"]
            until(lambda: _record(client, "a1") == record, "the record of all games")
            assert predicted(client, teams)["methods"][0]["matches"][0]["no_forecast"] is None
        assert differences(settings, log) == []


def _record(client: httpx.Client, agent: str) -> dict[str, float]:
    games = get(client, f"/agents/{agent}")["games"] or {}
    return {name: games.get(name) for name in (*RECORD, "team_games")}
