"""Slices of a live pool: boards in the store and over HTTP, at the pool's position, as an independent fold of their outcomes gives them."""

import json
from collections import Counter
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from ratings_core.errors import InputError
from services.cli.main import application
from services.runtime.settings import PROVISIONAL
from services.wire.events import GameEvent, RetractEvent
from tests.support.sliced_pools import FOLD, GAMES, POOL, append, client_of, installation, ratings, slice_ratings, values_of
from tests.support.worker import differences, published, until, working


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
                assert ratings(answer) == slice_ratings(sent, dimension, value, method)
                assert (answer.json()["slice"], answer.json()["position"]) == (name["slice"], found["position"])
                assert len(answer.json()["rows"]) == one["agents"]
        listed = client.get("/boards", params={"slice": f"{dimension}:{values[0]}", "count": 3}).json()
        assert listed["methods"] == {"live": list(methods), "solved": []}
        assert [board["method"] for board in listed["boards"]] == list(methods)
        counted = client.get(f"/boards/{methods[0]}", params={"slice": f"{dimension}:{values[0]}", "count": 100}).json()["rows"]
        assert sum(row["outcomes"] for row in counted) == 2 * shown["values"][0]["outcomes"]


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
        name, wanted = {"slice": f"language:{value}"}, slice_ratings(GAMES, "language", value, "elo")
        played = Counter(
            name
            for one in GAMES
            if isinstance(one.tags, dict) and one.tags.get("language") == value
            for side in one.sides
            for name in side.agents
        )
        order = sorted(wanted, key=lambda agent: (played[agent] < PROVISIONAL.outcomes, -wanted[agent], agent))
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
        monkeypatch.setenv("EQUIRANK_DATA", str(settings.data))
        monkeypatch.setenv("EQUIRANK_REDIS", str(settings.redis))
        monkeypatch.setenv("EQUIRANK_PARTITIONS", str(settings.partitions))
        shown = top("--slice", f"language:{value}", "--count", "5", "--format", "json").output
        assert [row["agent"] for row in json.loads(shown)["rows"]] == order[:5]
        assert f"elo (live) · language:{value}" in top("--slice", f"language:{value}").output
        for words, rule in (
            (("--slice", "map:c"), "must be a slice with the board elo: language:"),
            (("--slice", f"language:{value}", "--diff"), "--against, --since must be used: elo is an online method"),
            (("--slice", "x:y", "--season", "first"), "must be an ended season"),
        ):
            with pytest.raises(InputError, match=rule):
                top(*words)


def top(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(application("top"), ["top", "--pool", POOL, *words], catch_exceptions=False)


REFUSED = [
    ("/boards/elo", {"slice": "language:Latin"}, 404, "has no slice language:Latin: GET /v1/pools/"),
    (
        "/boards/elo",
        {"slice": "size:7b"},
        404,
        "no slices by the tag size: its setting `slices` names the tags that divide it (language, map)",
    ),
    ("/boards/elo/around/a1", {"slice": "size:7b"}, 404, "no slices by the tag size"),
    ("/boards", {"slice": "size:7b"}, 404, "no slices by the tag size"),
    ("/agents", {"slice": "size:7b"}, 404, "no slices by the tag size"),
    ("/boards/sco", {"slice": "language:English"}, 404, "board sco"),
    ("/boards/maximal_lottery", {"slice": "language:English"}, 404, "board maximal_lottery"),
    ("/boards", {"slice": "language:Latin"}, 404, "lists its slices"),
    ("/boards/elo", {"slice": "language"}, 422, "a colon and a value"),
    ("/boards/elo", {"slice": "language:Latin", "position": "999"}, 404, "must have an outcome in generation 1"),
    ("/boards/elo", {"slice": "language:English", "min_games": "3", "position": "999"}, 422, "details and games are those of now"),
    ("/boards/elo~language~0123456789abcdef", {}, 422, "must be the name of a method"),
    ("/agents", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/agents/a1/fair-opponents", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/agents/a1", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/agents/a1/opponents", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/agents/nobody", {"slice": "language:English"}, 404, "slice language:English of pool"),
    ("/agents/a1/history", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/agents/a1/history", {"slice": "", "method": "copeland"}, 422, "a colon and a value"),
    ("/agents/a1/history", {"slice": "language:English", "method": "copeland"}, 422, "of slice language:English"),
    ("/agents/a1/outcomes", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/insight", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/next", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/boards/elo/why/a1", {"slice": "language:Latin"}, 404, "has no slice language:Latin"),
    ("/boards/elo/history", {"slice": "language:English"}, 404, "no solved board elo of the slice language:English"),
    ("/boards/elo/diff", {"slice": "language:English"}, 422, "must be sent: elo is an online method"),
    ("/boards/elo/diff", {"slice": "language:Latin", "against": "1"}, 404, "must have an outcome in generation 1"),
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
