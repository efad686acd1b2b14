"""Streams of `equirank api` as a process, on a real log, Redis and shard: generations, a restart of the store, the end of the API."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from services.boards.store.redis import RedisStore
from services.cli.ports import free_port
from services.control import generations
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.event_streams import Events, fill_buffers, idle_reader, stream
from tests.support.http import PLAIN
from tests.support.processes import child
from tests.support.redis import Server
from tests.support.waiting import PATIENCE
from tests.support.worker import PARTITIONS, SETTINGS, play, published, until, working

PATH = f"/v1/pools/{simulated.POOL}/stream"


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("r")) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, server: Server) -> Settings:
    return Settings(data=tmp_path / "data", redis=server.url, **SETTINGS)


class Api:
    """`equirank api` as a process. url: its address."""

    def __init__(self, settings: Settings) -> None:
        port = free_port("127.0.0.1")
        self.url = f"http://127.0.0.1:{port}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")} | {
            "EQUIRANK_DATA": str(settings.data), "EQUIRANK_REDIS": str(settings.redis), "EQUIRANK_PORT": str(port),
            "EQUIRANK_PARTITIONS": str(PARTITIONS),
        }  # fmt: skip
        self.process = subprocess.Popen([sys.executable, "-m", "services.cli.main", "api"], env=environment, stderr=subprocess.PIPE)

    def answers(self) -> bool:
        assert self.process.poll() is None, "the API ended"
        try:
            return httpx.get(f"{self.url}/livez", timeout=PATIENCE, trust_env=False, verify=PLAIN).status_code == 200
        except httpx.ConnectError:
            return False

    def create_pool(self) -> None:
        created = httpx.put(
            f"{self.url}/v1/pools/{simulated.POOL}", json={"kind": "games"}, timeout=PATIENCE, trust_env=False, verify=PLAIN
        )
        assert created.status_code == 201, created.text


@pytest.fixture
def api(settings: Settings, log: Log) -> Iterator[Api]:
    assert log.outcomes.partitions == PARTITIONS  # it is made before the API opens it
    one = Api(settings)
    with child(one.process):
        until(one.answers, "the API answers")
        one.create_pool()
        yield one


def until_outcomes(opened: Events, outcomes: int) -> dict[str, object]:
    """Data of the first `pool` event with this number of outcomes."""
    return dict(opened.next("pool", lambda data: data["outcomes"] == outcomes).data)


def test_a_reader_that_connects_again_gets_what_it_missed_and_nothing_twice(settings: Settings, log: Log, api: Api) -> None:
    with working(settings, log):
        with stream(api.url, PATH, methods="elo") as opened:
            play(log, 0, 100)
            until_outcomes(opened, 100)
            last = opened.id
        play(log, 100, 200)
        until(lambda: published(settings, log) == 200, "200 outcomes are published")
        with stream(api.url, PATH, last_id=last, methods="elo") as opened:
            events = opened.until_pool()
            assert ([event.name for event in events], events[-1].data["outcomes"]) == (["board", "pool"], 200)
            last = opened.id
        with stream(api.url, PATH, last_id=last, methods="elo") as opened:
            play(log, 200, 300)
            assert opened.until_pool()[-1].data["outcomes"] > 200


def test_a_new_generation_is_streamed_while_it_is_built_and_when_it_serves(settings: Settings, log: Log, api: Api) -> None:
    with working(settings, log), stream(api.url, PATH, methods="elo") as opened:
        play(log, 0, 300)
        assert until_outcomes(opened, 300)["generation"] == 1
        control = ControlLog(log.control)
        newest = control.refresh().newest(simulated.POOL)
        assert newest is not None
        control.append(generations.wish(newest, time=0.0, initial={"elo": {"somebody": 2000.0}}))
        control.close()
        board = opened.next("board", lambda data: data["generation"] == 2).data
        assert board["method"] == "elo"
        pool = opened.next("pool").data
        assert (pool["generation"], pool["outcomes"], pool["building"]) == (2, 300, None)


def test_a_restart_of_the_store_is_reported_and_the_stream_goes_on(settings: Settings, log: Log, api: Api, server: Server) -> None:
    with working(settings, log), stream(api.url, PATH, methods="elo") as opened:
        play(log, 0, 100)
        until_outcomes(opened, 100)
        server.kill()
        assert opened.next("stale").data["pool"] == simulated.POOL
        server.start()
        assert until_outcomes(opened, 100)["stopped"] is None
        play(log, 100, 200)
        until_outcomes(opened, 200)


def test_streams_end_with_an_event_when_the_api_is_stopped(settings: Settings, log: Log, api: Api) -> None:
    with working(settings, log), stream(api.url, PATH) as one, stream(api.url, PATH, methods="elo") as two:
        play(log, 0, 100)
        for opened in (one, two):
            until_outcomes(opened, 100)
        api.process.send_signal(signal.SIGTERM)
        for opened in (one, two):
            last = opened.rest()[-1]
            assert (last.name, last.data["reason"]) == ("end", "shutdown")
        _, errors = api.process.communicate(timeout=PATIENCE)
    assert b"Cancel" not in errors, "no stream had to be cancelled"
    assert b"Traceback" not in errors


def test_a_reader_that_takes_nothing_does_not_keep_the_api_from_its_end(log: Log, api: Api, server: Server) -> None:
    with closing(RedisStore(server.url, log.outcomes.identity)) as store, idle_reader(api.url, store):
        fill_buffers(api.url, store)
        api.process.send_signal(signal.SIGTERM)
        _, errors = api.process.communicate(timeout=PATIENCE)
    assert b"Traceback" not in errors
    assert b"Finished server process" in errors
