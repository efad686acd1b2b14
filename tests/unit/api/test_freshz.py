"""/freshz: whether folding goes on. /readyz: whether boards can be served. Neither waits for a store that hangs."""

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

from services.boards.folding import Heartbeat
from services.log.partition import partition_of
from tests.support.api import Running, running
from tests.support.redis import Server
from tests.support.waiting import until

PARTITIONS = 8


def beat(api: Running, *partitions: int, lag: int = 0, waits: float = 0.0, idle: float = 0.0) -> None:
    common = {"epoch": 1, "shard": "shard-0/9", "position": 4, "stopped": False}
    common |= {"lag": lag, "lag_seconds": waits, "idle_seconds": idle}
    api.store.heartbeats.write([Heartbeat(partition=number, **common) for number in partitions])


def test_without_any_shard_nothing_is_folded_though_boards_are_served(api: Running) -> None:
    answer = api.client.get("/freshz")
    assert answer.status_code == 503
    assert (answer.json()["status"], answer.json()["silent"], answer.json()["shards"]) == ("silent", list(range(PARTITIONS)), 0)
    assert api.client.get("/readyz").status_code == 200


def test_it_is_200_once_every_partition_is_reported(api: Running) -> None:
    beat(api, *range(PARTITIONS - 1))
    assert api.client.get("/freshz").json()["silent"] == [PARTITIONS - 1]
    beat(api, PARTITIONS - 1)
    answer = api.client.get("/freshz")
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["partitions"], answer.json()["limit_seconds"]) == ("fresh", PARTITIONS, 30.0)
    schemas = api.client.get("/openapi.json").json()
    jsonschema.validate(answer.json(), {**schemas, "$ref": "#/components/schemas/Freshness"})


def test_records_that_wait_and_a_fold_that_hangs_are_told(api: Running) -> None:
    beat(api, *range(PARTITIONS))
    beat(api, 2, lag=7, waits=40.0)
    answer = api.client.get("/freshz")
    assert (answer.status_code, answer.json()["status"], answer.json()["lagging"], answer.json()["lag_records"]) == (503, "lagging", [2], 7)
    beat(api, 3, idle=40.0)
    assert api.client.get("/freshz").json()["silent"] == [3]


def test_a_writer_may_ask_about_its_pool_alone(api: Running) -> None:
    home = partition_of("blitz", PARTITIONS)
    beat(api, home)
    answer = api.client.get("/freshz?pool=blitz")
    assert (answer.status_code, answer.json()["partitions"]) == (200, 1)
    other = next(name for name in ("a", "b", "c", "d") if partition_of(name, PARTITIONS) != home)
    assert api.client.get(f"/freshz?pool={other}").status_code == 503
    assert api.client.get("/freshz?pool=No Pool").status_code == 422


def test_scrapers_ask_by_address(api: Running) -> None:
    assert api.client.get("/freshz", headers={"Host": "10.1.2.3:8000"}).status_code == 503
    assert api.client.get("/v1/pools", headers={"Host": "10.1.2.3:8000"}).status_code == 421


@pytest.mark.parametrize(("path", "says"), [("/freshz", '"status":"unknown"'), ("/readyz", "did not answer within 2 s")])
def test_probes_answer_in_time_while_the_store_hangs(tmp_path: Path, path: str, says: str) -> None:
    server = Server(tmp_path)
    with running(tmp_path, server.url) as api:
        beat(api, *range(PARTITIONS))
        until(lambda: api.client.get(path).status_code == 200, "the store answers")
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(6) as threads:  # more than the API has for it
                answers = list(threads.map(api.client.get, [path] * 6))
            assert [(answer.status_code, says in answer.text) for answer in answers] == [(503, True)] * 6
            assert api.client.get("/livez").status_code == 200
        finally:
            os.kill(server.pid, signal.SIGCONT)
        until(lambda: api.client.get(path).status_code == 200, "the store answers again")
    server.kill()


def paths(caplog: pytest.LogCaptureFixture) -> list[object]:
    """Paths that our own log records name."""
    own = [record for record in caplog.records if record.name.startswith("equirank")]
    return [record.args[1] for record in own if isinstance(record.args, tuple) and len(record.args) > 1]


def test_a_probe_that_fails_again_and_again_writes_no_error(api: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "equirank.api"):
        assert api.client.get("/freshz").status_code == 503
        assert api.client.get("/v1/pools/nobody").status_code == 404
        until(lambda: "/v1/pools/nobody" in paths(caplog), "the log has the request")  # it is written after the answer
    assert "/freshz" not in paths(caplog)
    counted = 'equirank_http_requests_total{method="GET",route="/freshz",status="503"} 1.0'
    assert counted in api.client.get("/metrics").text
