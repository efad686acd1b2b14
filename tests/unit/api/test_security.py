"""Host, Origin, headers, request ids."""

import socket
from urllib.parse import urlsplit

import pytest
from litestar.datastructures import Headers

from services.api.problems import ApiError
from services.api.security import Access
from services.runtime.settings import Settings
from tests.support.api import Running
from tests.support.waiting import PATIENCE

GAME = {"v": 1, "id": "g1", "pool": "blitz", "time": 5.0, "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 400),
        ("", 400),
        ("a:b:c", 400),
        ("evil.example/localhost", 400),
    ],
)
def test_only_names_of_this_service_are_answered(api: Running, host: str, status: int) -> None:
    assert api.client.get("/v1/pools", headers={"Host": host}).status_code == status


def test_probes_are_answered_by_address(api: Running) -> None:
    for path in ("/livez", "/readyz", "/metrics"):
        assert api.client.get(path, headers={"Host": "10.0.0.7:8000"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 202),
        ({"Origin": "http://127.0.0.1:8000"}, 202),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9000"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_pages_of_others_cannot_write(api: Running, headers: dict[str, str], status: int) -> None:
    answer = api.client.post("/v1/outcomes", json=GAME, headers=headers)
    assert answer.status_code == status
    assert len(api.records()) == (status == 202)


@pytest.mark.parametrize("path", ["/", "/v1/pools", "/nothing", "/v1/pools/none"])
def test_every_answer_carries_the_headers(api: Running, path: str) -> None:
    answer = api.client.get(path)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe-eval" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_request_ids_are_echoed_or_made(api: Running) -> None:
    assert api.client.get("/livez", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert len(api.client.get("/livez", headers={"X-Request-ID": "no spaces!"}).headers["x-request-id"]) == 32
    refused = api.client.get("/nothing", headers={"X-Request-ID": "abc-2"})
    assert refused.json()["request_id"] == "abc-2"


def test_a_fault_of_ours_is_a_problem_too(api: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(api.store.live, "pools", lambda: 1 / 0)
    answer = api.client.get("/v1/pools", headers={"X-Request-ID": "abc-3"})
    assert answer.status_code == 500
    assert answer.json()["request_id"] == "abc-3"
    assert "ZeroDivisionError" in caplog.text


def test_beyond_loopback_without_keys_is_refused() -> None:
    with pytest.raises(ValueError, match="EQUIRANK_WRITE_KEYS"):
        Settings(host="192.0.2.1")


@pytest.mark.parametrize("key", ["", " ", " k", "k "])
def test_a_key_that_everybody_knows_is_refused(key: str) -> None:
    for setting in ("write_keys", "admin_keys"):
        with pytest.raises(ValueError, match="must not be empty"):
            Settings(**{setting: ("good", key)})


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//a]b["])
def test_an_origin_that_is_no_url_is_foreign(origin: str) -> None:
    access = Access(Settings())
    with pytest.raises(ApiError):
        access.check_origin(Headers({"origin": origin, "host": "127.0.0.1:8000"}), "POST")


def test_two_host_headers_are_refused(api: Running) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(api.url).port or 0), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /v1/pools HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 400 " in connection.recv(4096)
