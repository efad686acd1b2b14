"""JSON answers are compressed for clients that take it, streams are not, and summaries leave out what is as long as a board."""

import asyncio
import gzip
import random
from typing import Any, cast

import msgspec
import pytest
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from services.api.compressed import _kept_gzip, compressed
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running
from tests.support.boards import head_of, solved_of

NAMES = [f"agent-{i:03}" for i in range(200)]
LEVELS = [{"agents": [name], "share": 1.0} for name in NAMES]
BOARD = "/v1/pools/cup/boards/elo?count=200"


@pytest.fixture
def filled(api: Running) -> Running:
    boards = {"elo": LiveBoard(NAMES, [1500.0 - i for i in range(200)]), ACTIVITY: LiveBoard(NAMES, [1.0] * 200)}
    assert api.store.live.publish(head_of("cup", position=9, published_at=NOW, online=["elo"], outcomes=9, agents=200), 1, boards)
    solved = solved_of("cup", method="iterated_maximal_lotteries", position=9, ratings=[(name, 1.0) for name in NAMES])
    result = msgspec.structs.replace(solved.result, extra={"levels": LEVELS, "tie_tolerance": 1e-9, "mode": "all"})
    assert api.store.solved.publish(msgspec.structs.replace(solved, result=result))
    return api


def raw(here: Running, path: str, accepts: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    with here.client.stream("GET", path, headers={"Accept-Encoding": accepts, **headers}) as answer:
        return answer.status_code, dict(answer.headers), b"".join(answer.iter_raw())


@pytest.mark.parametrize("path", [BOARD, "/v1/pools/cup/agents?count=200", "/openapi.json"])
def test_a_long_answer_is_the_same_with_and_without_compression(filled: Running, path: str) -> None:
    for _ in range(2):  # by the route, and then as a poll without it
        status, headers, body = raw(filled, path, "gzip, deflate")
        _, plain_headers, plain = raw(filled, path, "identity")
        assert (status, headers["content-encoding"], headers["content-length"]) == (200, "gzip", str(len(body)))
        assert gzip.decompress(body) == plain
        assert len(body) < len(plain) / 3
        assert "content-encoding" not in plain_headers
        assert "accept-encoding" in headers["vary"]
        assert plain_headers["vary"] == headers["vary"]


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("br, gzip; q=0.000", False),
        ("gzip;Q=0", False),
        ("x-gzip, identity", False),
        ("", False),
    ],
)
def test_a_client_that_refuses_gzip_gets_none(filled: Running, accepted: str, takes: bool) -> None:
    for path in (BOARD, "/"):
        assert ("content-encoding" in raw(filled, path, accepted)[1]) is takes


def test_a_compressed_poll_is_answered_304_by_its_tag(filled: Running) -> None:
    _, headers, _ = raw(filled, BOARD, "gzip")
    status, again, body = raw(filled, BOARD, "gzip", **{"If-None-Match": headers["etag"]})
    assert (status, body) == (304, b"")
    assert again["vary"] == headers["vary"], "a cache puts the headers of a 304 in place of those of the answer that it keeps"


@pytest.mark.parametrize("path", ["/v1/pools", "/v1/pools/cup/insight", "/"])
def test_all_answers_that_can_be_compressed_depend_on_the_codings_once(filled: Running, path: str) -> None:
    for accepted in ("gzip", "identity"):
        _, headers, _ = raw(filled, path, accepted)
        assert headers["vary"].lower().count("accept-encoding") == 1


@pytest.mark.parametrize("size", [5_000, 1 << 19])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_body_is_compressed_if_it_is_sent_at_once(size: int, parts: int) -> None:
    body = random.Random(1).randbytes(size // 2).hex().encode()
    start, *bodies = _answered(compressed(_sends(body, parts)))
    headers = dict(start["headers"])
    sent = b"".join(one["body"] for one in bodies)
    assert headers[b"content-length"] == str(len(sent)).encode()
    if parts == 1:
        assert (headers[b"content-encoding"], gzip.decompress(sent)) == (b"gzip", body)
    else:
        assert b"content-encoding" not in headers
        assert sent == body


def test_compressed_bodies_of_up_to_256_kib_are_kept_and_longer_ones_are_not() -> None:
    for size, hits in ((256 << 10, 1), ((256 << 10) + 1, 0)):
        body = random.Random(size).randbytes(size).hex().encode()[:size]
        before = _kept_gzip.cache_info()
        assert _answered(compressed(_sends(body, 1))) == _answered(compressed(_sends(body, 1)))
        after = _kept_gzip.cache_info()
        assert (after.misses - before.misses, after.hits - before.hits) == (hits, hits)


def _answered(app: ASGIApp) -> list[Any]:
    """What an application sends to a client that takes gzip."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("the request has no body")

    asyncio.run(app(cast("Any", {"type": "http", "headers": [(b"accept-encoding", b"gzip")]}), receive, send))
    return sent


def _sends(body: bytes, parts: int) -> ASGIApp:
    """An application that answers with JSON of a known length in one or several parts."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        step = -(-len(body) // parts)
        for at in range(0, len(body), step):
            await send({"type": "http.response.body", "body": body[at : at + step], "more_body": at + step < len(body)})

    return app


def test_short_answers_files_and_streams_are_sent_as_they_are(filled: Running) -> None:
    _, headers, body = raw(filled, "/v1/pools/nowhere", "gzip")
    assert "content-encoding" not in headers
    assert b"no such pool" in body
    _, headers, body = raw(filled, "/", "gzip")
    assert gzip.decompress(body).startswith(b"<!doctype html>")  # compressed once
    with filled.client.stream("GET", "/v1/pools/cup/stream", headers={"Accept-Encoding": "gzip"}) as answer:
        assert "content-encoding" not in answer.headers
        assert "event-stream" in answer.headers["content-type"]
        assert next(answer.iter_raw())
    answer = filled.client.head(BOARD, headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.content, answer.headers["content-encoding"]) == (200, b"", "gzip")


def test_a_summary_has_single_values_and_the_board_has_all(filled: Running) -> None:
    path = "/v1/pools/cup/boards"
    for _ in range(2):
        summary = next(one for one in filled.client.get(f"{path}?count=1").json()["boards"] if one["method"].startswith("iterated"))
        assert summary["extra"] == {"tie_tolerance": 1e-9, "mode": "all"}
        assert filled.client.get(f"{path}/iterated_maximal_lotteries?count=1").json()["extra"]["levels"] == LEVELS
