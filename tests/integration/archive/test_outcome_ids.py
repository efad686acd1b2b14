"""Ids of an agent's outcomes, from archive and topic, over HTTP and by the command: by them an outcome is found again and retracted."""

import json
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import GameEvent
from tests.support.archiving import fold, served_api
from tests.support.command_line import Run
from tests.support.forgetting import forget
from tests.support.worker import HOME, published, until, working

AGENT = "pebble"
PATH = f"/v1/pools/{simulated.POOL}/agents/{AGENT}/outcomes"
TWINS = ("one", "two")


def ids_by_time(client: httpx.Client, **query: Any) -> dict[float, list[str]]:
    answer = client.get(PATH, params={"count": 1000, "ids": True, **query})
    assert answer.status_code == 200, answer.text
    return {one["time"]: one["ids"] for one in answer.json()["outcomes"]}


def games_of(agent: str, games: range) -> dict[float, list[str]]:
    drawn = [simulated.game(i, float(i)) for i in games]
    return {game.time: [game.id] for game in drawn if any(agent in side.agents for side in game.sides)}


@pytest.mark.usefixtures("half")
def test_each_outcome_has_the_id_by_which_it_was_sent(settings: Settings, log: Log, run: Run) -> None:
    with served_api(settings, log) as client:
        found = ids_by_time(client)
        assert found == games_of(AGENT, range(300)), "200 games are in the archive alone, 100 in the topic"
        assert "ids" not in client.get(PATH).json()["outcomes"][0]
        line = client.get(PATH, params={"count": 1, "ids": True, "format": "jsonl"}).json()
        assert line["ids"] == found[line["time"]]
    printed = json.loads(run("agent", simulated.POOL, AGENT, "--outcomes", "--ids", "--count", "1000", "--format", "json"))
    assert {one["time"]: one["ids"] for one in printed["outcomes"]} == found
    assert found[line["time"]][0] in run("agent", simulated.POOL, AGENT, "--outcomes", "--ids", "--count", "1")


def test_equal_outcomes_have_all_their_ids_and_lost_records_none(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 20)
    game = simulated.game(0, 1000.0)
    twins = [GameEvent(v=1, id=id_, pool=simulated.POOL, time=game.time, sides=game.sides) for id_ in (*TWINS, TWINS[0])]
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records(twins, 1)])
    with working(settings, log):
        until(lambda: published(settings) == 22, "all published, one sent twice")
    agent = game.sides[0].agents[0]
    path = f"/v1/pools/{simulated.POOL}/agents/{agent}/outcomes"
    log.archived = None
    with served_api(settings.model_copy(update={"archive": None}), log) as client:
        newest = client.get(path, params={"count": 2, "ids": True}).json()["outcomes"]
        assert [one["ids"] for one in newest] == [list(TWINS)] * 2
        forget(settings, 3)
        answer = client.get(path, params={"count": 1000, "ids": True})
        assert answer.status_code == 200, answer.text
        assert [] in [one["ids"] for one in answer.json()["outcomes"]]


@pytest.mark.usefixtures("half")
def test_ids_need_a_key_where_keys_are_set(settings: Settings, log: Log) -> None:
    with served_api(settings.model_copy(update={"write_keys": (SecretStr("w-key"),)}), log) as client:
        assert client.get(PATH).status_code == 200
        assert client.get(PATH, params={"ids": True}).status_code == 401
        assert client.get(PATH, params={"ids": True}, headers={"Authorization": "Bearer w-key"}).status_code == 200
