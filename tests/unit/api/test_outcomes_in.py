"""POST /v1/outcomes: durable where accepted, nothing written where refused."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from services.api.context import WRITERS
from services.log.partition import partition_of
from services.log.protocol import LogError
from services.wire.events import decode
from tests.support.api import NOW, Running
from tests.support.http import PLAIN
from tests.support.waiting import PATIENCE

GAME = {"v": 1, "id": "g1", "pool": "blitz", "time": 5.0, "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}
SCORE = {"v": 1, "id": "s1", "pool": "atari", "time": 5.0, "task": "pong", "scores": {"a": 1.0}}
RETRACT = {"v": 1, "id": "r1", "pool": "blitz", "time": 5.0, "retracts": "g1"}


def post(api: Running, body: object, **headers: str):
    return api.client.post("/v1/outcomes", content=json.dumps(body), headers={"Content-Type": "application/json", **headers})


def test_one_outcome_is_in_the_log_under_its_pools_key(api: Running) -> None:
    answer = post(api, GAME)
    assert answer.status_code == 202
    assert answer.json() == {"accepted": 1, "ids": ["g1"], "positions": {"blitz": 1}}
    [(partition, key, value)] = api.records()
    assert (partition, key) == (partition_of("blitz", 8), b"blitz")
    assert [event.id for event in decode([value]).events] == ["g1"]


def test_an_array_is_kept_in_order_in_records_of_at_most_500(api: Running) -> None:
    answer = post(api, [GAME | {"id": f"g{i}"} for i in range(1201)])
    assert answer.json()["accepted"] == 1201
    assert answer.json()["ids"][-1] == "g1200"
    sizes = [len(decode([value]).events) for _, _, value in api.records()]
    assert sizes == [500, 500, 201]
    assert answer.json()["positions"]["blitz"] == 3
    assert [event.id for event in decode([value for _, _, value in api.records()]).events] == [f"g{i}" for i in range(1201)]


def test_id_and_time_are_filled_in(api: Running) -> None:
    answer = post(api, {name: value for name, value in GAME.items() if name not in {"id", "time"}})
    [event] = decode([value for _, _, value in api.records()]).events
    assert answer.json()["ids"] == [event.id]
    assert len(event.id) == 32
    assert event.time == NOW


def test_one_bad_item_refuses_all(api: Running) -> None:
    bad = GAME | {"id": "g2", "sides": [{"agents": ["a"], "place": 1}, {"agents": ["a"], "place": 2}]}
    answer = post(api, [GAME, bad])
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert [refusal["item"] for refusal in problem["refusals"]] == [1]
    assert problem["refusals"][0]["path"].startswith("$[1]")
    assert "nothing was written" in problem["detail"]
    assert api.records() == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000])
def test_what_is_no_outcome_is_refused(api: Running, body: bytes) -> None:
    answer = api.client.post("/v1/outcomes", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["refusals"]
    assert api.records() == []


def test_a_time_too_far_ahead_is_refused(api: Running) -> None:
    assert post(api, GAME | {"time": NOW + 299.0}).status_code == 202
    answer = post(api, GAME | {"id": "g2", "time": NOW + 301.0})
    assert answer.status_code == 422
    assert answer.json()["refusals"][0]["path"] == "$.time"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_other_content_types_are_refused(api: Running, kind: str) -> None:
    assert api.client.post("/v1/outcomes", content=json.dumps(GAME), headers={"Content-Type": kind}).status_code == 415
    assert api.records() == []


def test_json_with_a_charset_is_json(api: Running) -> None:
    assert post(api, GAME, **{"Content-Type": "application/json; charset=utf-8"}).status_code == 202


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(api: Running, chunked: bool) -> None:
    body = b" " * (1 << 20) + json.dumps(GAME).encode()
    content = (body[i : i + 65536] for i in range(0, len(body), 65536)) if chunked else body
    answer = api.client.post("/v1/outcomes", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert api.records() == []


def test_the_first_outcome_makes_the_pool_and_its_kind(api: Running) -> None:
    assert post(api, SCORE).status_code == 202
    assert api.client.get("/v1/pools/atari").json()["kind"] == "scores"
    answer = post(api, [SCORE | {"id": "s2"}, GAME | {"id": "g2", "pool": "atari"}])
    assert answer.status_code == 422
    [refusal] = answer.json()["refusals"]
    assert (refusal["item"], refusal["path"], refusal["reason"]) == (1, "$[1].sides", "wrong_kind")
    assert len(api.records()) == 1


def test_mixed_kinds_make_no_pool(api: Running) -> None:
    assert post(api, [SCORE, GAME | {"pool": "atari"}]).status_code == 422
    assert api.client.get("/v1/pools/atari").status_code == 404


def test_a_retraction_makes_no_pool(api: Running) -> None:
    assert post(api, RETRACT).status_code == 404
    assert api.records() == []


def test_the_answer_to_a_retraction_says_what_becomes_of_it(api: Running) -> None:
    assert "note" not in post(api, GAME).json()
    told = post(api, RETRACT | {"retracts": "never seen"}).json()
    assert "a new generation without the retracted outcomes starts" in told["note"]
    assert "an unknown id takes effect when an outcome with this id arrives" in told["note"]
    assert "the pool's head counts such ids as `unmatched`" in told["note"]


def test_a_log_that_fails_says_how_to_go_on(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[int]:
        raise LogError("the disk is full", retriable=True)

    assert post(api, GAME).status_code == 202
    monkeypatch.setattr(type(api.log.outcomes), "append", broken)
    answer = post(api, GAME)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert "same ids" in answer.json()["detail"]
    assert b"equirank_api_log_failures_total 1.0" in api.client.get("/metrics").content


def test_slow_appends_do_not_block_other_requests(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    release, entered = threading.Event(), threading.Event()
    append = type(api.log.outcomes).append

    def slow(*arguments):
        entered.set()
        assert release.wait(PATIENCE)
        return append(*arguments)

    post(api, GAME)
    monkeypatch.setattr(type(api.log.outcomes), "append", slow)
    writer = threading.Thread(target=post, args=(api, GAME | {"id": "g2"}))
    writer.start()
    assert entered.wait(PATIENCE)
    assert api.client.get("/livez").text == "ok\n"
    assert writer.is_alive(), "answered while the log hung"
    release.set()
    writer.join()
    assert len(api.records()) == 2


class TestKeys:
    @pytest.fixture(autouse=True)
    def pool(self, keyed: Running) -> None:
        made = keyed.client.put("/v1/pools/blitz", json={"kind": "games"}, headers={"Authorization": "Bearer a-key"})
        assert made.status_code == 201

    @pytest.mark.parametrize(
        ("key", "status"), [(None, 401), ("Basic w-key", 401), ("Bearer nope", 403), ("Bearer w-key", 202), ("bearer a-key", 202)]
    )
    def test_writing_needs_a_key(self, keyed: Running, key: str | None, status: int) -> None:
        assert post(keyed, GAME, **({"Authorization": key} if key else {})).status_code == status
        assert len(keyed.records()) == (status == 202)

    @pytest.mark.parametrize(("key", "status"), [("w-key", 403), ("a-key", 202)])
    def test_retracting_needs_the_admin_key(self, keyed: Running, key: str, status: int) -> None:
        assert post(keyed, RETRACT, Authorization=f"Bearer {key}").status_code == status

    def test_an_unknown_pool_is_not_created(self, keyed: Running) -> None:
        answer = post(keyed, GAME | {"pool": "typo"}, Authorization="Bearer w-key")
        assert answer.status_code == 404
        assert "PUT /v1/pools" in answer.json()["detail"]
        assert keyed.records() == []

    def test_reading_needs_none(self, keyed: Running) -> None:
        assert keyed.client.get("/v1/pools").json()["total"] == 1


def test_pages_metrics_and_boards_are_answered_while_every_writer_waits_for_the_log(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    go, waiting = threading.Event(), threading.Semaphore(0)
    append = api.log.outcomes.append

    def hanging(*arguments: object) -> list[int]:
        waiting.release()
        assert go.wait(PATIENCE)
        return append(*arguments)

    api.client.post("/v1/outcomes", json={**GAME, "id": "first"})
    monkeypatch.setattr(api.log.outcomes, "append", hanging)
    client = httpx.Client(base_url=api.url, headers={"Host": "127.0.0.1:8000"}, trust_env=False, verify=PLAIN)
    with client, ThreadPoolExecutor(WRITERS) as threads:
        sent = [threads.submit(client.post, "/v1/outcomes", json={**GAME, "id": f"g{i}"}, timeout=PATIENCE) for i in range(WRITERS)]
        try:
            assert all(waiting.acquire(timeout=PATIENCE) for _ in range(WRITERS))
            for path in ("/metrics", "/", "/docs", "/livez", "/readyz", "/v1/pools"):
                assert api.client.get(path, timeout=PATIENCE).status_code == 200, path
        finally:
            go.set()
        assert {one.result().status_code for one in sent} == {202}
