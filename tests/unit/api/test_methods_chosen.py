"""GET and PUT /v1/pools/{pool}/methods."""

from tests.support.api import Running

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
        ({"method": {}}, "method"),
        ({"methods": ["borda"]}, "methods"),
    ):
        answer = api.client.put("/v1/pools/blitz/methods", json=body)
        assert answer.status_code == 422, body
        assert words in answer.json()["detail"]
    assert api.client.put("/v1/pools/nowhere/methods", json={"methods": {}}).status_code == 404
    assert api.client.get("/v1/pools/nowhere/methods").status_code == 404
    assert api.client.get("/v1/pools/blitz/methods").json() == before


def test_choosing_needs_an_admin_key(keyed: Running) -> None:
    keyed.client.put("/v1/pools/blitz", json={"kind": "games"}, headers=ADMIN)
    body = {"methods": {"borda": {}}}
    assert keyed.client.put("/v1/pools/blitz/methods", json=body).status_code == 401
    assert keyed.client.put("/v1/pools/blitz/methods", json=body, headers={"Authorization": "Bearer w-key"}).status_code == 403
    assert keyed.client.put("/v1/pools/blitz/methods", json=body, headers=ADMIN).status_code == 200
