"""Exports over HTTP, from a real archive and the topic: the rows of `equirank export`, a limited number at once, recognizably cut off."""

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
from pydantic import SecretStr

from services.admin import export
from services.demo import simulated
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from tests.support.archiving import fold, served_api
from tests.support.command_line import Run
from tests.support.forgetting import forget
from tests.support.waiting import PATIENCE
from tests.support.worker import until

PATH = f"/v1/pools/{simulated.POOL}/export"


@pytest.fixture
def client(settings: Settings, log: Log) -> Iterator[httpx.Client]:
    with served_api(settings, log) as client:
        yield client


@pytest.fixture
def keyed(settings: Settings, log: Log) -> Iterator[httpx.Client]:
    with served_api(settings.model_copy(update={"write_keys": (SecretStr("w-key"),)}), log) as client:
        yield client


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_the_stream_is_the_file_that_the_command_writes(tmp_path: Path, client: httpx.Client, run: Run, form: str) -> None:
    run("export", str(file := tmp_path / f"games.{form}"), "--pool", simulated.POOL)
    answer = client.get(PATH, params={"format": form})
    assert answer.status_code == 200
    assert answer.headers["transfer-encoding"] == "chunked"
    assert answer.headers["content-disposition"] == f'attachment; filename="{simulated.POOL}.{form}"'
    if form == "parquet":
        assert pq.read_table(io.BytesIO(answer.content)).equals(pq.read_table(file))
    else:
        assert answer.content == file.read_bytes()


@pytest.mark.usefixtures("half")
def test_ranges_agents_and_columns(client: httpx.Client) -> None:
    asked: list[dict[str, Any]] = [{"from": 5, "to": 25}, {"since": "150", "until": "210"}, {"agent": ["pebble", "paper"]}]
    of = {"pebble", "paper"}
    with_agents = [i for i in range(300) if of & {side.agents[0] for side in simulated.game(i, 0.0).sides}]
    for params, wanted in zip(asked, (range(50, 250), range(150, 210), with_agents), strict=True):
        answer = client.get(PATH, params={"format": "csv", "column": "id", **params})
        assert [line.strip('"') for line in answer.text.splitlines()] == ["id", *(f"demo-{i}" for i in wanted)]


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize(
    ("path", "params", "status", "words"),
    [
        ("/v1/pools/nobody/export", {}, 404, "no pool has the name nobody"),
        (PATH, {"format": "xlsx"}, 422, "format"),
        (PATH, {"column": "elo", "format": "csv"}, 422, "must be one of offset"),
        (PATH, {"column": "id"}, 422, "must be left out for jsonl"),
        (PATH, {"from": 9, "to": 5}, 422, "must be 9 or more"),
        (PATH, {"since": "yesterday"}, 422, "since"),
        (PATH, {"until_": "1"}, 422, "not a query parameter"),
    ],
)
def test_what_cannot_be_is_refused_before_the_stream(
    client: httpx.Client, path: str, params: dict[str, str], status: int, words: str
) -> None:
    answer = client.get(path, params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert words in answer.text


def test_without_an_archive_it_streams_what_the_topic_holds_or_says_what_is_missing(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 200)
    log.archived = None
    with served_api(settings.model_copy(update={"archive": None}), log) as client:
        assert len(client.get(PATH).text.splitlines()) == 200
        forget(settings, 5)
        answer = client.get(PATH)
        assert (answer.status_code, "must be at least 5" in answer.text) == (422, True)
        assert len(client.get(PATH, params={"from": 5}).text.splitlines()) == 150


@pytest.mark.usefixtures("half")
def test_where_keys_are_set_an_export_needs_one(keyed: httpx.Client) -> None:
    assert [keyed.get(PATH, headers=head).status_code for head in ({}, {"Authorization": "Bearer no"})] == [401, 403]
    assert keyed.get(PATH, headers={"Authorization": "Bearer w-key"}).status_code == 200


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_failure_in_the_middle_is_no_complete_answer(client: httpx.Client, log: Log, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    of_topic = export._of_topic

    def broken(*arguments: Any) -> Iterator[Any]:
        yield next(of_topic(*arguments))
        raise LogError("the broker went away", retriable=True)

    monkeypatch.setattr(export, "_of_topic", broken)
    with client.stream("GET", PATH, params={"format": form}) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
            answer.read()
    monkeypatch.undo()
    assert client.get(PATH, params={"format": form}).status_code == 200, "its place is free again"


def slow(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Semaphore]:
    """Exports wait, after their first part, until the event is set. The semaphore counts those that do."""
    goes_on, waits, of_topic = threading.Event(), threading.Semaphore(0), export._of_topic

    def waiting(*arguments: Any) -> Iterator[Any]:
        waits.release()
        assert goes_on.wait(PATIENCE)
        yield from of_topic(*arguments)

    monkeypatch.setattr(export, "_of_topic", waiting)
    return goes_on, waits


@pytest.mark.usefixtures("half")
def test_exports_at_once_are_limited_and_nothing_else_waits_for_them(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, _ = slow(monkeypatch)
    with client.stream("GET", PATH) as first, client.stream("GET", PATH) as second:
        assert (first.status_code, second.status_code) == (200, 200)
        refused = client.get(PATH)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert client.get(f"/v1/pools/{simulated.POOL}/boards").status_code == 200
        assert client.post("/v1/outcomes", json={"v": 1, "pool": simulated.POOL, "sides": [
            {"agents": ["rock"], "place": 1}, {"agents": ["paper"], "place": 2}]}).status_code == 202  # fmt: skip
        goes_on.set()
        assert [len(answer.read().splitlines()) for answer in (first, second)] == [300, 300]
    assert client.get(PATH).status_code == 200


@pytest.mark.usefixtures("half")
def test_the_place_of_a_client_that_leaves_is_free_again(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on, waits = slow(monkeypatch)
    for _ in range(2):
        with client.stream("GET", PATH) as answer:
            assert answer.status_code == 200
            assert waits.acquire(timeout=PATIENCE)
    assert client.get(PATH).status_code == 503
    goes_on.set()
    until(lambda: client.get(PATH).status_code == 200, "its places are free again")
