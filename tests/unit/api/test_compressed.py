"""JSON answers are compressed for clients that take it, streams are not, and summaries leave out what is as long as a board."""

import gzip

import msgspec
import pytest

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


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("br, gzip; q=0.000", False), ("x-gzip, identity", False), ("", False)],
)
def test_a_client_that_refuses_gzip_gets_none(filled: Running, accepted: str, takes: bool) -> None:
    for path in (BOARD, "/"):
        assert ("content-encoding" in raw(filled, path, accepted)[1]) is takes


def test_a_compressed_poll_is_answered_304_by_its_tag(filled: Running) -> None:
    _, headers, _ = raw(filled, BOARD, "gzip")
    status, _, body = raw(filled, BOARD, "gzip", **{"If-None-Match": headers["etag"]})
    assert (status, body) == (304, b"")


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
