"""GET and PUT /v1/pools/{pool}/methods."""

import threading

import httpx
import pytest

from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.control.log import ControlLog
from services.control.records import ControlState
from tests.support.api import Running
from tests.support.boards import head_of
from tests.support.waiting import PATIENCE

ADMIN = {"Authorization": "Bearer a-key"}


def chosen(answer: dict) -> dict:
    return {row["method"]: row["chosen"] for row in answer["methods"] if row["chosen"] is not None}


def test_methods_are_listed_and_chosen(api: Running) -> None:
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    listed = api.client.get("/v1/pools/blitz/methods").json()
    assert "maximal_lottery" in chosen(listed)
    answer = api.client.put("/v1/pools/blitz/methods", json={"methods": {"borda": {}, "approval": {"k": 3}}})
    assert (answer.status_code, chosen(answer.json())) == (200, {"borda": {}, "approval": {"k": 3}})
    assert chosen(api.client.get("/v1/pools/blitz/methods").json()) == {"borda": {}, "approval": {"k": 3}}


def test_what_cannot_be_chosen_changes_nothing(api: Running) -> None:
    api.client.put("/v1/pools/blitz", json={"kind": "games"})
    before = api.client.get("/v1/pools/blitz/methods").json()
    for body, words in (
        ({"methods": {"stv": {}}}, "ballots"),
        ({"methods": {"approval": {"k": -1}}}, "whole number"),
        ({"methods": {"maximal_lottery": {"mode": "any"}}}, "or set margins=observed"),
        ({"methods": {"alpharank": {"margins": "observed"}}}, "one of drop_agents, prior, zero"),
        ({"method": {}}, "method"),
        ({"methods": ["borda"]}, "methods"),
    ):
        answer = api.client.put("/v1/pools/blitz/methods", json=body)
        assert answer.status_code == 422, body
        assert words in answer.json()["detail"]
    assert api.client.put("/v1/pools/nowhere/methods", json={"methods": {}}).status_code == 404
    assert api.client.get("/v1/pools/nowhere/methods").status_code == 404
    assert api.client.get("/v1/pools/blitz/methods").json() == before


def test_the_leading_method_is_chosen_and_shown_at_once_and_folds_nothing(api: Running) -> None:
    board = LiveBoard(["ann"], [1500.0])
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    assert api.store.live.publish(head_of(online=["elo", "sco"]), 1, {"elo": board, "sco": board, ACTIVITY: board})
    boards = api.client.get("/v1/pools/blitz/boards")
    assert boards.json()["pool"]["leading_method"] == ""
    answer = api.client.put("/v1/pools/blitz/leading_method", json={"method": "sco"})
    assert (answer.status_code, answer.json()["leading_method"]) == (200, "sco")
    polled = api.client.get("/v1/pools/blitz/boards", headers={"If-None-Match": boards.headers["etag"]})
    assert (polled.status_code, polled.json()["pool"]["leading_method"]) == (200, "sco"), "a poll learns it although no board changed"
    assert api.client.get("/v1/pools").json()["pools"][0]["leading_method"] == "sco"
    answer = api.client.put("/v1/pools/blitz/leading_method", json={"method": "scoo"})
    assert (answer.status_code, "must be a method of the pool: elo, sco" in answer.json()["detail"]) == (422, True)
    assert api.client.put("/v1/pools/nowhere/leading_method", json={"method": "elo"}).status_code == 404
    assert api.client.put("/v1/pools/blitz/leading_method", json={"method": ""}).json()["leading_method"] == ""
    assert api.client.get("/v1/pools/blitz").json()["head"]["generation"] == 1


def test_choosing_needs_an_admin_key(keyed: Running) -> None:
    keyed.client.put("/v1/pools/blitz", json={"kind": "games"}, headers=ADMIN)
    body = {"methods": {"borda": {}}}
    assert keyed.client.put("/v1/pools/blitz/methods", json=body).status_code == 401
    assert keyed.client.put("/v1/pools/blitz/methods", json=body, headers={"Authorization": "Bearer w-key"}).status_code == 403
    assert keyed.client.put("/v1/pools/blitz/methods", json=body, headers=ADMIN).status_code == 200


def test_a_log_that_hangs_holds_no_board_up(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    api.client.put("/v1/pools/blitz", json={"kind": "games"})
    go_on, asked, refresh = threading.Event(), threading.Semaphore(0), ControlLog.refresh

    def hanging(self: ControlLog) -> ControlState:
        asked.release()
        go_on.wait(PATIENCE)
        return refresh(self)

    monkeypatch.setattr(ControlLog, "refresh", hanging)
    url, options = f"{api.url}/v1/pools/blitz/methods", {"headers": dict(api.client.headers), "trust_env": False, "timeout": PATIENCE}
    asking = [threading.Thread(target=httpx.get, args=(url,), kwargs=options) for _ in range(4)]
    try:
        for thread in asking:
            thread.start()
        for _ in asking:
            assert asked.acquire(timeout=PATIENCE)
        assert api.client.get("/v1/pools/blitz", timeout=PATIENCE).status_code == 200
    finally:
        go_on.set()
        for thread in asking:
            thread.join()


def test_methods_of_slices_are_chosen_and_stay_without_the_field(api: Running) -> None:
    fold = {"online": {"elo": {}}, "slices": {"language": ["elo"]}}
    assert api.client.put("/v1/pools/arena", json={"kind": "games", "fold": fold}).status_code == 201
    url, methods = "/v1/pools/arena/methods", {"borda": {}, "copeland": {}}

    def sliced(body: dict) -> dict:
        answer = api.client.put(url, json=body)
        assert answer.status_code == 200, answer.text
        return {row["method"]: row["slices"] for row in answer.json()["methods"] if row["slices"]}

    assert sliced({"methods": methods, "slices": {"language": ["borda"]}}) == {"borda": ["language"]}
    assert sliced({"methods": methods}) == {"borda": ["language"]}
    assert sliced({"methods": methods, "slices": {}}) == {}
    for slices, words in (({"map": ["borda"]}, "must be a tag"), ({"language": ["elo"]}, "must be one of the methods")):
        refused = api.client.put(url, json={"methods": methods, "slices": slices})
        assert (refused.status_code, words in refused.json()["detail"]) == (422, True), refused.text
