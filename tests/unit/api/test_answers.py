"""Polled answers: built once for each publication, looked up otherwise, and never older than the store."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from pathlib import Path

import httpx
import msgspec
import pytest
import redis

from services.api import polls
from services.api.answers import Answers, Asked
from services.api.boards import built
from services.api.polls import Polls
from services.api.replies import Boards, PoolView
from services.api.workers import Workers
from services.boards.agent_columns import AgentColumns
from services.boards.agent_index import NoIndex
from services.boards.reading import Board, Methods
from services.boards.store.protocol import ACTIVITY, LiveBoard, PoolVersion, StoreLost
from services.boards.store.redis import RedisStore
from services.control.details_records import PoolDetails
from services.control.records import PoolCreated
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.http import PLAIN
from tests.support.redis import Server
from tests.support.waiting import PATIENCE, until

PATHS = ["/v1/pools/blitz/boards?count=2", "/v1/pools/blitz/boards/elo", "/v1/pools/blitz/boards/maximal_lottery"]


class Api:
    """The API on a Redis of its own, with a count of how often a board was read from it."""

    def __init__(self, here: Running, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.here, self.server, self.reads, self.solved_reads = here, server, 0, 0
        live, solved = here.store.live.page, here.store.solved.page

        def counted(*arguments: object) -> object:
            self.reads += 1
            return live(*arguments)

        def counted_solved(*arguments: object) -> object:
            self.solved_reads += 1
            return solved(*arguments)

        monkeypatch.setattr(here.store.live, "page", counted)
        monkeypatch.setattr(here.store.solved, "page", counted_solved)

    def get(self, path: str, tag: str = "") -> httpx.Response:
        return self.here.client.get(path, headers={"If-None-Match": tag} if tag else {})

    def publish(self, position: int, rating: float, **more: object) -> None:
        boards = {"elo": LiveBoard(["rock", "paper"], [rating, 1.0]), ACTIVITY: LiveBoard(["rock", "paper"], [9.0, 8.0])}
        assert self.here.store.live.publish(head_of(position=position, published_at=NOW, online=["elo"], **more), 1, boards)


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    server = Server(tmp_path)
    with running(tmp_path, server.url) as here:
        one = Api(here, server, monkeypatch)
        one.publish(1, 1500.0)
        here.store.solved.publish(solved_of(position=1))
        yield one
    server.kill()


@pytest.mark.parametrize("path", PATHS)
def test_a_publication_is_built_once(api: Api, path: str) -> None:
    first = api.get(path)
    reads = api.reads
    tag = first.headers["etag"]
    assert [api.get(path).content for _ in range(5)] == [first.content] * 5
    assert [api.get(path, tag).status_code for _ in range(5)] == [304] * 5
    assert api.reads == reads


def test_many_at_once_share_one_build(api: Api) -> None:
    answers: list[bytes] = []
    url = f"{api.here.url}{PATHS[1]}"
    threads = [threading.Thread(target=lambda: answers.append(httpx.get(url, verify=PLAIN, timeout=PATIENCE).content)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 1
    assert api.reads == 1


@pytest.mark.parametrize("path", PATHS[:2])
def test_a_poll_after_a_publication_sees_it(api: Api, path: str) -> None:
    for position in range(2, 60):
        api.publish(position, float(position))
        answer = api.get(path).json()
        board = answer["boards"][0] if "boards" in answer else answer
        assert (board["position"], board["rows"][0]["rating"]) == (position, float(position))


def test_a_summary_reads_a_solved_board_once_for_each_solve(api: Api) -> None:
    def shown() -> dict[str, tuple[int, float]]:
        return {board["method"]: (board["position"], board["rows"][0]["rating"]) for board in api.get(PATHS[0]).json()["boards"]}

    assert shown() == {"elo": (1, 1500.0), "maximal_lottery": (1, 0.5)}
    for position in range(2, 6):
        api.publish(position, float(position))
        assert shown() == {"elo": (position, float(position)), "maximal_lottery": (1, 0.5)}
    assert api.solved_reads == 1
    api.here.store.solved.publish(solved_of(position=2, ratings=[("rock", 1.0), ("paper", 0.0)]))
    assert shown() == {"elo": (5, 5.0), "maximal_lottery": (2, 1.0)}
    assert api.solved_reads == 2
    api.publish(6, 6.0)
    api.here.store.solved.remove("blitz", "maximal_lottery")
    assert shown() == {"elo": (6, 6.0)}


def test_the_boards_of_a_summary_are_of_its_head_also_where_another_is_published_meanwhile(api: Api) -> None:
    class Publishes:
        """Reading the pools of the log takes so long that the shard publishes."""

        def seen(self) -> dict[str, PoolCreated]:
            api.publish(2, 2.0)
            return {}

        def leading_method(self, _: str) -> str:
            return ""

    class NothingKnown:
        """Of agents."""

        def columns(self, *_: object) -> AgentColumns:
            return AgentColumns(PoolDetails(), NoIndex("no checkpoint", retriable=True))

        def compared(self, board: Board, *_: object) -> Board:
            return board

        def last_day(self, *_: object) -> None:
            return None

    asked = Asked("boards", "blitz", rows=2)
    found = built(api.here.store, Publishes(), lambda: NOW, NothingKnown(), asked)  # type: ignore[arg-type]
    assert isinstance(found, Boards)
    assert found.pool.head is not None
    assert {board.position for board in found.boards if board.source == "live"} == {found.pool.head.position}


def test_a_solve_changes_its_board_and_the_summary_only(api: Api) -> None:
    tags = [api.get(path).headers["etag"] for path in PATHS]
    assert api.here.store.solved.publish(solved_of(position=2, ratings=[("rock", 1.0), ("paper", 0.0)]))
    assert [api.get(path, tag).status_code for path, tag in zip(PATHS, tags, strict=True)] == [200, 304, 200]


def test_the_bytes_that_are_counted_are_those_that_are_kept_however_old_answers_become() -> None:
    """Bodies grow with the digits of their ages. What was counted too little would let ever more be kept."""
    now, heads = [0.0], count()

    class Published:
        def read(self, pools: Collection[str]) -> dict[str, PoolVersion]:
            return {pool: PoolVersion(str(next(heads) // 2), {}, listed=True) for pool in pools}

    def build(asked: Asked, _: object) -> Board:
        head = {"pool": asked.pool, "method": asked.method, "source": "live", "generation": 1, "position": 1}
        return Board(total=0, ranked=0, age_seconds=0.0, rows=[], **head)

    async def polled() -> int:
        readers = Workers("the store", threads=1, places=4, seconds=60.0)
        answers = Answers(Published(), readers, build, lambda: now[0])  # type: ignore[arg-type]
        asked = Asked("board", "blitz", "elo", 0, 10)
        for _ in range(10):
            await answers.get(asked)
            now[0] += 10_000.0
        return answers._bytes

    assert asyncio.run(polled()) == len(msgspec.json.encode(build(Asked("board", "blitz", "elo", 0, 10), {})))


def test_a_summary_is_built_again_if_an_agent_was_hidden_after_its_boards_were_looked_up() -> None:
    """A board of the cache that was built before must not stay under the version of after."""
    changes, runs, changes_at = [1], [0], [0]

    class Published:
        def read(self, pools: Collection[str]) -> dict[str, PoolVersion]:
            return {pool: PoolVersion("{}", {"sco": "1"}, listed=True) for pool in pools}

    class Agents:
        leading_method = str  # the same for a pool at all times

        def version(self, *_: str) -> tuple[object, ...]:
            return (changes[0],)

        def note(self, _: object) -> None:
            pass

        async def ready(self, *_: object) -> None:
            pass

    class Readers:
        async def run(self, work: Callable[[], object]) -> object:
            runs[0] += 1
            if runs[0] == changes_at[0]:
                changes[0] += 1
            return work()

    def build(asked: Asked, known: Mapping[str, Board]) -> Board | Boards:
        about = {"pool": "blitz", "method": "sco", "source": "solved", "generation": 1, "position": changes[0]}
        board = known.get("sco") or Board(total=0, ranked=0, age_seconds=0.0, rows=[], **about)
        if asked.kind == "board":
            return board
        view = PoolView(pool="blitz", kind="games", label="", head=None)
        return Boards(pool=view, methods=Methods(live=[], solved=["sco"]), boards=[board])

    async def polled() -> bytes:
        answers = Answers(Published(), Readers(), build, lambda: 0.0, Agents())  # type: ignore[arg-type]
        await answers.get(Asked("board", "blitz", "sco", 0, 10))
        changes_at[0] = runs[0] + 2  # the read of versions is the first, and the build is the second one
        await answers.get(Asked("boards", "blitz", rows=10))
        answer = await answers.get(Asked("boards", "blitz", rows=10))
        assert answer is not None
        return answer.body

    (board,) = msgspec.json.decode(asyncio.run(polled()))["boards"]
    assert (board["position"], changes) == (2, [2])


def test_a_pool_that_was_removed_is_gone(api: Api) -> None:
    assert api.get(PATHS[1]).status_code == 200
    assert api.here.store.live.forget("blitz", 2**40)
    assert [api.get(path).status_code for path in PATHS] == [404] * 3


def test_of_a_store_that_was_emptied_readers_get_what_was_last_known_until_it_is_filled(tmp_path: Path) -> None:
    """For half a minute: its owner writes a pool anew within seconds."""
    server, now = Server(tmp_path), [NOW]
    with running(tmp_path, server.url, clock=lambda: now[0]) as here:
        board = LiveBoard(["rock"], [1.0])

        def publish(position: int) -> None:
            head = head_of(position=position, published_at=NOW, online=["elo"])
            assert here.store.live.publish(head, 1, {"elo": board, ACTIVITY: board})

        publish(1)
        known = {path: here.client.get(path).json() for path in PATHS[:2]}
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        now[0] += 29.0
        for path, before in known.items():
            answer = here.client.get(path)
            assert answer.json().pop("stale_seconds") == 29.0, path
            assert answer.headers["warning"].startswith("110 ")
            assert answer.json()["pool"] == before["pool"]
        now[0] += 2.0
        assert [here.client.get(path).status_code for path in PATHS[:2]] == [404, 404]
        with contextlib.suppress(StoreLost):
            publish(2)
        publish(2)
        assert here.client.get(PATHS[1]).json()["position"] == 2
    server.kill()


def test_of_a_store_that_is_filled_again_readers_get_the_solved_board_that_was_last_known_until_it_is_solved_again(tmp_path: Path) -> None:
    """Live boards come back first; solved ones some seconds later."""
    server, now = Server(tmp_path), [NOW]
    with running(tmp_path, server.url, clock=lambda: now[0]) as here:
        board, solved = LiveBoard(["rock"], [1.0]), f"{PATHS[1].rpartition('/')[0]}/maximal_lottery"
        head = head_of(position=1, published_at=NOW, online=["elo"])
        assert here.store.live.publish(head, 1, {"elo": board, ACTIVITY: board})
        assert here.store.solved.publish(solved_of(position=1))
        known = here.client.get(solved).json()
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        with contextlib.suppress(StoreLost):
            here.store.live.publish(head, 1, {"elo": board, ACTIVITY: board})
        assert here.store.live.publish(head, 1, {"elo": board, ACTIVITY: board})
        now[0] += 3.0
        answer = here.client.get(solved)
        assert answer.headers["warning"].startswith("110 ")
        assert (answer.json()["rows"], answer.json()["stale_seconds"]) == (known["rows"], 3.0)
        now[0] += 30.0
        assert here.client.get(solved).status_code == 404
        assert here.store.solved.publish(solved_of(position=1))
        assert "stale_seconds" not in here.client.get(solved).json()
    server.kill()


def lose_patience(here: Running) -> None:
    """From now on the API waits for its store for 0.2 s."""
    connection = here.store.connection
    connection._patience = 0.2
    connection.client.connection_pool.connection_kwargs |= {"socket_timeout": 0.2, "socket_connect_timeout": 0.2}
    connection.client.connection_pool.disconnect()


def test_while_the_store_hangs_readers_get_what_was_last_known_and_see_that(tmp_path: Path) -> None:
    server = Server(tmp_path)
    with running(tmp_path, server.url, patience=PATIENCE) as here:
        store = RedisStore(server.url, here.log.outcomes.identity)
        board = LiveBoard(["rock"], [1.0])
        store.live.publish(head_of(position=1, online=["elo"]), 1, {"elo": board, ACTIVITY: board})
        known = {path: here.client.get(path) for path in (*PATHS[:2], "/v1/pools")}
        os.kill(server.pid, signal.SIGSTOP)
        lose_patience(here)
        try:
            for path, before in known.items():
                answer = here.client.get(path, headers={"If-None-Match": before.headers["etag"]})
                assert answer.status_code == 200, path
                stale = answer.json()
                assert stale.pop("stale_seconds") >= 0.0
                assert stale == before.json()
            assert here.client.get("/v1/pools/blitz/boards/elo?count=7").status_code == 503
            pool = here.client.get("/v1/pools/blitz").json()
            assert pool["head"] == known["/v1/pools"].json()["pools"][0]["head"]
            assert (pool["folding"]["status"], pool["stale_seconds"] >= 0.0) == ("unknown", True)
            assert here.client.get("/v1/pools/nobody").status_code == 503
            assert here.client.get("/").status_code == 200
        finally:
            os.kill(server.pid, signal.SIGCONT)

        def fresh() -> httpx.Response | None:
            if "stale_seconds" not in (answer := here.client.get(PATHS[1])).json():
                return answer
            assert answer.headers["warning"].startswith("110 ")
            assert "etag" not in answer.headers
            return None

        assert until(fresh, "the store is read again").json() == known[PATHS[1]].json()
    store.close()
    server.kill()


@pytest.mark.parametrize("path", PATHS)
def test_an_address_is_answered_alike_by_its_route_and_without_it(api: Api, path: str) -> None:
    first, second = api.get(path), api.get(path)
    kept = ("content-type", "etag", "cache-control", "content-length")
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert [first.headers[name] for name in kept] == [second.headers[name] for name in kept]
    counted = api.get("/metrics").text
    route = "/v1/pools/{pool}/boards/{method}" if "boards/" in path else "/v1/pools/{pool}/boards"
    assert f'equirank_http_requests_total{{method="GET",route="{route}",status="200"}} 2.0' in counted


def test_only_addresses_that_a_route_answered_are_remembered_and_few_and_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "_ADDRESSES", 2)
    known = Polls(None)  # type: ignore[arg-type]
    asked = Asked("boards", "blitz")
    for address in (b"/a", b"/" + b"b" * 600, b"/c", b"/d"):
        known.remember({"raw_path": address, "query_string": b"", "path_template": ""}, asked)  # type: ignore[typeddict-item]
    assert list(known._known) == [(b"/c", b""), (b"/d", b"")]


@pytest.mark.parametrize("path", PATHS)
def test_every_spelling_of_a_poll_gets_the_same_answer(api: Api, path: str) -> None:
    usual, *others = (api.get(one) for one in (path, *[path.replace("blitz", "bl%69tz")] * 2))
    for other in others:
        assert (usual.status_code, usual.content, usual.headers["etag"]) == (other.status_code, other.content, other.headers["etag"])


@pytest.mark.parametrize(
    ("path", "status"),
    [("boards?count=200", 200), ("boards?count=201", 422), ("boards?count=0", 200), ("boards?start=1", 422), ("boards/elo?count=1000", 200),
     ("boards/elo?start=2147483647", 200), ("boards/elo?start=2147483648", 422), ("boards/elo?count=1001", 422),
     ("boards/elo?count=0", 422), ("boards/elo?count=", 422), ("boards/elo?count=1&count=2", 422), ("boards/ELO", 422),
     ("insight?count=1", 422)],
)  # fmt: skip
def test_parameters_have_bounds(api: Api, path: str, status: int) -> None:
    assert api.get(f"/v1/pools/blitz/{path}").status_code == status


def test_an_error_has_the_parameter_and_its_value(api: Api) -> None:
    for sent, rule in (
        ("boards/elo?count=-1", "count is '-1': must be a whole number from 1 to 1000"),
        ("boards/elo?position=-1", "position is '-1': must be a whole number of at least 0"),
        ("agents/ann/history?points=3", "points is '3': must be a whole number from 4 to 5000"),
        ("agents?cursor=" + "x" * 401, f"cursor is '{'x' * 401}': must have at most 400 characters"),
        ("boards/elo?count=x", "count is 'x': must be a whole number"),
        ("boards/elo?position=2026-03-01", "position is '2026-03-01': must be a whole number, a position of the log; send at for a time"),
        ("boards/elo?all=maybe", "all is 'maybe': must be true or false"),
        ("next?floor=x", "floor is 'x': must be a number"),
    ):
        assert api.get(f"/v1/pools/blitz/{sent}").json()["detail"] == rule
    empty = api.here.client.put("/v1/pools/new", headers={"Content-Type": "application/json"})
    assert (empty.status_code, empty.json()["detail"]) == (422, "the body is empty: send what /openapi.json describes")


def test_no_page_lies_below_the_description(api: Api) -> None:
    lost = api.get("/openapi.json/swagger")
    assert (lost.status_code, lost.json()["detail"]) == (404, "/openapi.json lists all routes")


def test_a_foreign_host_gets_no_cached_answer_either(api: Api) -> None:
    assert api.get(PATHS[0]).status_code == 200
    assert api.here.client.get(PATHS[0], headers={"Host": "evil.example"}).status_code == 421
