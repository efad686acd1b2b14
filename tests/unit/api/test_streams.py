"""Streams of server-sent events: which events are sent, to whom, and what a slow or returning reader gets."""

import asyncio
import threading
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from services.api import app, feeds, streams
from services.api.replies import Boards, PoolView
from services.api.stream_events import Reader, State, Wanted, state_of
from services.boards.earlier import DAY
from services.boards.history import kept
from services.boards.reading import Board, Earlier, Methods
from services.boards.result import AgentRow
from services.boards.slice_boards import SliceDimension, SliceName, SliceValue
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.event_streams import Event, fill_buffers, idle_reader, metric, publish_large, stream
from tests.support.redis import Server, flush
from tests.support.waiting import PATIENCE, until

PATH = "/v1/pools/blitz/stream"
NAMES = ["rock", "paper"]
POOLS = [f"pool-{number}" for number in range(5)]


def publish(here: Running, position: int, rating: float, **more: object) -> None:
    boards = {"elo": LiveBoard(NAMES, [rating, 1.0]), ACTIVITY: LiveBoard(NAMES, [9.0, 8.0])}
    head = {"published_at": NOW, "online": ["elo"], **more}
    assert here.store.live.publish(head_of(position=position, **head), 1, boards)


@pytest.fixture
def filled(api: Running) -> Running:
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    publish(api, 1, 1500.0)
    api.store.solved.publish(solved_of(position=1))
    return api


def brief(events: list[Event]) -> list[tuple[str, object]]:
    """Name and subject of each event: the method of a board, the position of a pool, the methods of changed rows."""
    subjects = {
        "board": lambda data: data["method"],
        "pool": lambda data: data["position"],
        "agents": lambda data: [(change["agent"], change["method"]) for change in data["changes"]],
    }
    return [(event.name, subjects[event.name](event.data)) for event in events]


ENGLISH = SliceName("language", "English")


def publish_sliced(here: Running, position: int, rating: float) -> None:
    """Publish the pool with a slice of two agents. rating: that of rock in the slice."""
    dimension = SliceDimension(methods=["elo"], values=[SliceValue(value="English", outcomes=4, agents=2)], most=64)
    boards = {"elo": LiveBoard(NAMES, [1500.0, 1.0]), ACTIVITY: LiveBoard(NAMES, [9.0, 8.0])}
    boards |= {ENGLISH.board("elo"): LiveBoard(NAMES, [rating, 3.0]), ENGLISH.board(ACTIVITY): LiveBoard(NAMES, [4.0, 4.0])}
    head = head_of(position=position, published_at=NOW, online=["elo"], slices={"language": dimension})
    assert here.store.live.publish(head, 1, boards)


def solve_slice(here: Running, rating: float, sequence: int) -> None:
    board = solved_of(method="copeland", position=sequence, ratings=[("rock", rating), ("paper", 0.25)])
    assert here.store.solved.publish(msgspec.structs.replace(board, slice=str(ENGLISH), sequence=sequence))


class TestSlices:
    def test_a_stream_of_a_slice_has_its_boards_and_ratings(self, api: Running) -> None:
        publish_sliced(api, 1, 2000.0)
        solve_slice(api, 0.75, 1)
        with stream(api.url, slice=str(ENGLISH), agents="rock") as opened, stream(api.url) as complete:
            events = opened.until_pool()
            assert brief(events) == [
                ("board", "elo"), ("board", "copeland"),
                ("agents", [("rock", "copeland"), ("rock", "elo")]), ("pool", 1),
            ]  # fmt: skip
            assert {event.data["slice"] for event in events if event.name in ("board", "pool")} == {str(ENGLISH)}
            assert [change["after"]["rating"] for change in events[2].data["changes"]] == [0.75, 2000.0]
            assert brief(complete.until_pool()) == [("board", "elo"), ("pool", 1)]
            solve_slice(api, 0.875, 2)
            assert brief(opened.until_pool()) == [("board", "copeland"), ("agents", [("rock", "copeland")]), ("pool", 1)]
            publish_sliced(api, 2, 2100.0)
            assert brief(opened.until_pool()) == [("board", "elo"), ("agents", [("rock", "elo")]), ("pool", 2)]
            assert brief(complete.until_pool()) == [("pool", 2)]

    def test_a_slice_that_does_not_exist_is_refused_and_one_that_ends_ends_its_streams(self, api: Running) -> None:
        publish_sliced(api, 1, 2000.0)
        path = "/v1/pools/blitz/stream"
        for name, status, words in (("language:Latin", 404, "no slice language:Latin"), ("language", 422, "a colon and a value")):
            refused = api.client.get(path, params={"slice": name})
            assert (refused.status_code, words in refused.json()["detail"]) == (status, True)
        with stream(api.url, slice=str(ENGLISH)) as opened:
            opened.until_pool()
            publish(api, 2, 1500.0, generation=2)
            assert [event.data["reason"] for event in opened.rest()] == ["deleted"]


class TestStates:
    def test_a_stream_begins_with_the_newest_state_which_pool_ends(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            events = opened.until_pool()
        assert brief(events) == [("board", "elo"), ("board", "maximal_lottery"), ("pool", 1)]
        assert [event.id for event in events[:-1]] == ["", ""]
        assert events[-1].id.startswith("1-1-")
        assert events[-1].data["boards"] == ["elo", "maximal_lottery"]

    def test_a_board_is_that_of_its_route_without_the_cursor(self, filled: Running) -> None:
        with stream(filled.url, count=1, methods="elo") as opened:
            board = opened.next("board").data
        page = filled.client.get("/v1/pools/blitz/boards/elo?count=1").json()
        assert page.pop("next")
        assert board == page

    def test_only_boards_with_changed_rows_are_sent(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            opened.until_pool()
            publish(filled, 2, 1600.0)
            assert brief(opened.until_pool()) == [("board", "elo"), ("pool", 2)]
            publish(filled, 3, 1600.0)
            assert brief(opened.until_pool()) == [("pool", 3)]
            filled.store.solved.publish(solved_of(position=3, ratings=[("rock", 1.0), ("paper", 0.0)]))
            assert brief(opened.until_pool()) == [("board", "maximal_lottery"), ("pool", 3)]

    def test_a_head_that_is_written_again_is_no_change(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            opened.until_pool()
            for seconds in range(1, 4):
                publish(filled, 1, 1500.0, published_at=NOW + seconds)
                until(lambda: filled.client.get("/v1/pools/blitz/boards/elo").status_code == 200, "it is read")
            publish(filled, 2, 1500.0)
            assert brief(opened.until_pool()) == [("pool", 2)]

    def test_a_position_that_other_pools_move_is_no_change(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            first = opened.until_pool()[-1]
            for position in range(2, 6):
                publish(filled, position, 1500.0, outcomes=1)
                until(lambda at=position: filled.client.get("/v1/pools/blitz").json()["head"]["position"] == at, "it is read")  # type: ignore[misc]
            with stream(filled.url, last_id=first.id) as resumed:
                publish(filled, 9, 1500.0, outcomes=2)
                for reader in (opened, resumed):
                    (pool,) = reader.until_pool()
                    assert (pool.data["position"], pool.data["outcomes"]) == (9, 2)

    def test_rows_that_change_at_the_same_position_are_sent(self, filled: Running) -> None:
        """An erasure of a name writes live boards again, at the position that readers already see."""
        with stream(filled.url, methods="elo") as opened:
            first = opened.until_pool()[-1]
            publish(filled, 1, 1600.0, published_at=NOW + 1)
            assert brief(again := opened.until_pool()) == [("board", "elo"), ("pool", 1)]
        assert first.id != again[-1].id

    def test_a_clock_that_moves_is_no_change(self, tmp_path: Path, api_redis: str) -> None:
        """The solve of a day before is another one two minutes later, and all else is equal."""
        flush(api_redis)
        now = [NOW]
        with running(tmp_path, api_redis, clock=lambda: now[0]) as here:
            publish(here, 1, 1500.0)
            days_ago, then, newest = solves = [
                msgspec.structs.replace(solved_of(position=at, ratings=[("rock", at), ("paper", 0.0)]), sequence=at, solved_at=NOW - age)
                for at, age in ((1, 2 * DAY), (2, DAY - 60.0), (3, 1.0))
            ]
            assert here.store.solved.publish(newest)
            here.store.solved.publish_history("blitz", newest.result.method, map(kept, solves))
            with stream(here.url) as opened:
                *boards, _ = opened.until_pool()
                assert boards[-1].data["earlier"]["time"] == days_ago.solved_at
                now[0] += 120.0
                board = f"/v1/pools/blitz/boards/{newest.result.method}"
                assert here.client.get(board).json()["earlier"]["time"] == then.solved_at
                publish(here, 2, 1600.0)
                assert brief(opened.until_pool()) == [("board", "elo"), ("pool", 2)]

    def test_a_switch_of_generations_sends_the_boards_of_the_new_one(self, filled: Running) -> None:
        with stream(filled.url, methods="elo") as opened:
            opened.until_pool()
            publish(filled, 1, 1500.0, generation=2)
            board, pool = opened.until_pool()
        assert (board.data["generation"], pool.data["generation"]) == (2, 2)

    def test_a_pool_that_stops_says_why(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            opened.until_pool()
            publish(filled, 1, 1500.0, stopped="a broken outcome")
            (pool,) = opened.until_pool()
        assert pool.data["stopped"] == "a broken outcome"

    def test_a_board_that_is_removed_leaves_the_list(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            opened.until_pool()
            filled.store.solved.remove("blitz", "maximal_lottery")
            (pool,) = opened.until_pool()
        assert pool.data["boards"] == ["elo"]

    def test_a_pool_without_outcomes_is_waited_for(self, api: Running) -> None:
        assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
        with stream(api.url) as opened:
            (empty,) = opened.until_pool()
            assert (empty.data["generation"], empty.data["position"], empty.data["boards"]) == (None, None, [])
            assert empty.id.startswith("0-0-")
            publish(api, 1, 1500.0)
            assert brief(opened.until_pool()) == [("board", "elo"), ("pool", 1)]

    def test_a_pool_without_outcomes_is_not_checked_at_each_comparison(self, api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
        checks, comparisons, check, compare = count(), count(), app.published, feeds.Feed._compare

        def counted_check(*given: object) -> PoolView:
            next(checks)
            return check(*given)  # type: ignore[arg-type]

        async def counted_comparison(feed: feeds.Feed) -> None:
            await compare(feed)
            next(comparisons)

        monkeypatch.setattr(app, "published", counted_check)
        monkeypatch.setattr(feeds.Feed, "_compare", counted_comparison)
        monkeypatch.setattr(feeds, "_CHECK_SECONDS", PATIENCE)
        with stream(api.url) as opened:
            opened.until_pool()
            until(lambda: next(comparisons) > 5, "versions are compared several times")
        assert next(checks) == 1

    def test_streams_with_other_rows_share_a_feed(self, filled: Running) -> None:
        with stream(filled.url, methods="elo", count=1) as one, stream(filled.url, methods="elo", count=2) as two:
            assert [len(opened.until_pool()[0].data["rows"]) for opened in (one, two)] == [1, 2]
            publish(filled, 2, 1600.0)
            assert [len(opened.until_pool()[0].data["rows"]) for opened in (one, two)] == [1, 2]

    def test_streams_of_pools_are_independent(self, api: Running) -> None:
        for position, pool in enumerate(POOLS, 1):
            publish(api, position, 1500.0, pool=pool)
        with ExitStack() as stack:
            opened = {pool: stack.enter_context(stream(api.url, f"/v1/pools/{pool}/stream", methods="elo")) for pool in POOLS}
            assert [opened[pool].until_pool()[-1].data["position"] for pool in POOLS] == [1, 2, 3, 4, 5]
            for pool in POOLS[::-1]:
                publish(api, 9, 1600.0, pool=pool)
                events = opened[pool].until_pool()
                assert ([event.data["pool"] for event in events], events[-1].data["position"]) == ([pool, pool], 9)


class TestAgents:
    def test_changes_have_the_row_that_was_sent_before(self, filled: Running) -> None:
        with stream(filled.url, methods="elo", agents=["rock", "nobody"]) as opened:
            first = opened.next("agents").data["changes"]
            assert [(change["agent"], change["before"], change["after"]["rating"]) for change in first] == [("rock", None, 1500.0)]
            publish(filled, 2, 0.5)
            (change,) = opened.next("agents").data["changes"]
        assert [(change[side]["rating"], change[side]["rank"]) for side in ("before", "after")] == [(1500.0, 1), (0.5, 2)]

    def test_rows_of_another_generation_have_no_row_before(self, filled: Running) -> None:
        with stream(filled.url, agents=["rock", "paper"]) as opened:
            opened.until_pool()
            assert filled.store.live.publish(
                head_of(position=1, published_at=NOW, online=["elo"], generation=2),
                1,
                {"elo": LiveBoard(["rock"], [1500.0], total=1), ACTIVITY: LiveBoard(["rock"], [9.0], total=1)},
            )
            changes = opened.next("agents").data["changes"]
            assert [(change["agent"], change["method"], change["before"]) for change in changes] == [
                ("paper", "elo", None),
                ("rock", "elo", None),
            ]
            assert [change["after"] and change["after"]["rating"] for change in changes] == [None, 1500.0]
            publish(filled, 2, 0.5, generation=2)
            (change, *_) = [one for one in opened.next("agents").data["changes"] if one["agent"] == "rock"]
        assert change["before"]["rating"] == 1500.0

    def test_rows_are_those_of_the_boards_routes(self, filled: Running) -> None:
        with stream(filled.url, agents="rock") as opened:
            changes = opened.next("agents").data["changes"]
        for change in changes:
            page = filled.client.get(f"/v1/pools/blitz/boards/{change['method']}?agents=rock").json()
            assert [change["after"]] == page["rows"]
        assert {change["method"] for change in changes} == {"elo", "maximal_lottery"}

    def test_a_solve_of_a_board_that_a_stream_does_not_send_is_no_state_of_it(self, filled: Running) -> None:
        with stream(filled.url, methods="elo") as one, stream(filled.url, methods="maximal_lottery") as other:
            first = one.until_pool()[-1]
            other.until_pool()
            filled.store.solved.publish(solved_of(position=2, ratings=[("rock", 1.0), ("paper", 0.0)]))
            other.until_pool()
            with stream(filled.url, methods="elo", last_id=first.id) as resumed:
                publish(filled, 2, 0.5)
                assert [opened.until_pool()[-1].data["position"] for opened in (one, resumed)] == [2, 2]

    def test_a_solve_changes_the_rows_of_its_board(self, filled: Running) -> None:
        with stream(filled.url, agents="rock") as opened:
            opened.until_pool()
            filled.store.solved.publish(solved_of(position=2, ratings=[("rock", 1.0), ("paper", 0.0)]))
            assert ("agents", [("rock", "maximal_lottery")]) in brief(opened.until_pool())

    def test_the_agents_that_a_process_follows_in_a_pool_are_limited(self, filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feeds, "_FOLLOWED", 3)
        with stream(filled.url, agents=["a", "b", "c"]) as opened, stream(filled.url, agents=["a", "b"]) as other:
            opened.until_pool()
            other.until_pool()
            refused = filled.client.get(f"{PATH}?agents=d")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
        until(lambda: metric(filled.url, "equirank_api_streams") == 0, "all places are free")

    def test_an_agent_added_during_a_read_is_not_reported_as_absent(self, filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        began, go_on, read = threading.Event(), threading.Event(), filled.store.live.pages

        def held(*arguments: object) -> object:
            began.set()
            assert go_on.wait(PATIENCE)
            return read(*arguments)  # type: ignore[arg-type]

        with stream(filled.url, methods="elo") as other:
            other.until_pool()
            with stream(filled.url, methods="elo", agents="rock") as first:
                first.until_pool()
            until(lambda: metric(filled.url, "equirank_api_streams") == 1, "the agent is followed by no stream")
            monkeypatch.setattr(filled.store.live, "pages", held)
            publish(filled, 2, 1600.0)
            assert began.wait(PATIENCE)
            with stream(filled.url, methods="elo", agents="rock") as late:
                late.until_pool()
                go_on.set()
                (change,) = late.next("agents").data["changes"]
        assert (change["before"]["rating"], change["after"] and change["after"]["rating"]) == (1500.0, 1600.0)


class TestReconnects:
    def test_with_the_id_of_the_present_state_nothing_is_repeated(self, filled: Running) -> None:
        with stream(filled.url, agents="rock") as opened:
            last = opened.until_pool()[-1].id
        with stream(filled.url, last_id=last, agents="rock") as opened:
            publish(filled, 2, 1600.0)
            events = opened.until_pool()
        assert brief(events) == [("board", "elo"), ("agents", [("rock", "elo")]), ("pool", 2)]
        assert events[1].data["changes"][0]["before"]["rating"] == 1500.0

    def test_with_an_older_id_the_newest_state_is_sent(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            last = opened.until_pool()[-1].id
        for position in (2, 3):
            publish(filled, position, 1500.0 + position)
        with stream(filled.url, last_id=last) as opened:
            assert brief(opened.until_pool())[-1] == ("pool", 3)

    @pytest.mark.parametrize("last", ["1-1-0", "\u00e9", "x" * 4000])
    def test_with_an_id_of_another_source_the_newest_state_is_sent(self, filled: Running, last: str) -> None:
        with stream(filled.url, last_id=last.encode("latin-1")) as opened:  # type: ignore[arg-type]
            assert len(opened.until_pool()) == 3

    def test_with_other_parameters_the_newest_state_is_sent(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            last = opened.until_pool()[-1].id
        with stream(filled.url, last_id=last, count=1) as opened:
            assert len(opened.until_pool()) == 3


class TestRefusals:
    def test_an_unknown_pool_is_not_found(self, filled: Running) -> None:
        found = filled.client.get("/v1/pools/nobody/stream")
        assert (found.status_code, found.json()["title"]) == (404, "no such pool")

    @pytest.mark.parametrize(
        "query",
        ["methods=elos", "count=0", "count=201", "agents=%00", "agents=", "method=elo", "&".join(f"agents=a{i}" for i in range(51))],
    )
    def test_parameters_that_break_a_rule_are_refused(self, filled: Running, query: str) -> None:
        assert filled.client.get(f"{PATH}?{query}").status_code == 422

    def test_head_has_the_headers_alone_and_gives_its_place_back(self, filled: Running) -> None:
        head = filled.client.head(PATH)
        assert (head.status_code, head.headers["content-type"].split(";")[0], head.content) == (200, "text/event-stream", b"")
        until(lambda: metric(filled.url, "equirank_api_streams") == 0.0, "the place is given back")

    def test_more_streams_than_half_of_the_connections_are_refused_until_one_ends(self, tmp_path: Path, api_redis: str) -> None:
        flush(api_redis)
        with running(tmp_path, api_redis, api_connections=16) as here:
            publish(here, 1, 1500.0)
            opened = [stream(here.url) for _ in range(8)]
            for one in opened:
                one.__enter__()
            refused = here.client.get(PATH)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert metric(here.url, "equirank_api_streams") == 8
            for one in opened:
                one.__exit__(None, None, None)
            until(lambda: metric(here.url, "equirank_api_streams") == 0, "the places are free")
            with stream(here.url) as again:
                again.until_pool()

    def test_a_pool_that_the_store_lost_is_not_there_at_the_moment(self, filled: Running, api_redis: str) -> None:
        assert filled.client.get("/v1/pools/blitz").status_code == 200
        flush(api_redis)
        lost = filled.client.get(PATH)
        assert (lost.status_code, lost.headers["retry-after"], lost.json()["title"]) == (503, "1", "not there at the moment")

    def test_a_stream_that_was_refused_takes_no_place(self, filled: Running) -> None:
        for _ in range(3):
            assert filled.client.get("/v1/pools/nobody/stream").status_code == 404
        assert metric(filled.url, "equirank_api_streams") == 0


class TestSharing:
    def test_all_readers_of_a_pool_cost_one_read_of_a_change(self, filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        built = count()
        read = filled.store.live.pages

        def counted(*arguments: object) -> object:
            next(built)
            return read(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(filled.store.live, "pages", counted)
        opened = [stream(filled.url, count=7) for _ in range(20)]
        readers = [one.__enter__() for one in opened]
        for position in (1, 2, 3):
            if position > 1:
                publish(filled, position, float(position))
            assert {reader.next("pool").data["position"] for reader in readers} == {position}
        for one in opened:
            one.__exit__(None, None, None)
        assert next(built) == 3

    def test_events_are_counted(self, filled: Running) -> None:
        with stream(filled.url) as opened:
            opened.until_pool()
            assert metric(filled.url, "equirank_api_stream_events_total") == 3


class TestSilence:
    def test_comments_are_sent_while_nothing_changes(self, filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "_KEEP_ALIVE_SECONDS", 0.01)
        with stream(filled.url) as opened:
            assert opened.comment() == "pool blitz"
            assert [opened.comment() for _ in range(3)] == ["keep-alive"] * 3

    def test_a_store_that_ends_is_reported_and_the_stream_goes_on_after_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feeds, "_STALE_SECONDS", 0.0)
        monkeypatch.setattr(streams, "_KEEP_ALIVE_SECONDS", 0.01)
        with Server(tmp_path) as server, running(tmp_path, server.url) as here:
            assert here.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
            publish(here, 1, 1500.0)
            with stream(here.url) as opened:
                opened.until_pool()
                server.kill()
                stale = opened.next("stale").data
                assert (stale["pool"], "Redis" in stale["reason"], stale["stale_seconds"] >= 0) == ("blitz", True, True)
                assert "keep-alive, stale" in [opened.comment() for _ in range(2)]
                with stream(here.url) as late:
                    assert [event.name for event in late.until_pool()] == ["board", "pool"]
                    late.next("stale")
                server.start()
                here.store.live._committed.clear()  # as a writer that has noticed the loss
                publish(here, 1, 1500.0)
                assert opened.next("pool").data["position"] == 1
                publish(here, 2, 1600.0)
                assert opened.next("board").data["rows"][0]["rating"] == 1600.0

    def test_a_pool_that_was_removed_ends_the_stream(self, api: Running) -> None:
        publish(api, 1, 1500.0)
        with stream(api.url) as opened:
            opened.until_pool()
            api.store.live.remove(["blitz"])
            (end,) = opened.rest()
        assert (end.name, end.data) == ("end", {"pool": "blitz", "reason": "deleted"})

    def test_a_defect_ends_the_stream(self, filled: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError

        with stream(filled.url) as opened:
            opened.until_pool()
            monkeypatch.setattr(feeds, "state_of", broken)
            publish(filled, 2, 1600.0)
            assert [event.data["reason"] for event in opened.rest()] == ["failed"]
            monkeypatch.undo()
            with stream(filled.url) as again:
                assert again.next("pool").data["position"] == 2


class TestSlowReaders:
    def test_they_get_the_newest_state_and_miss_those_between(self, api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feeds, "_PERIOD_SECONDS", 0.01)
        with idle_reader(api.url, api.store) as slow:
            last = fill_buffers(api.url, api.store)
            received = b""
            while f'"position":{last},"outcomes"'.encode() not in received:
                part = slow.recv(1 << 20)
                assert part
                received = (received + part)[-(1 << 21) :]
            until(lambda: metric(api.url, "equirank_api_stream_dropped_states_total") > 0, "states were dropped")

    def test_those_that_take_nothing_lose_their_stream(self, api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feeds, "_PERIOD_SECONDS", 0.01)
        monkeypatch.setattr(streams, "_SEND_SECONDS", 0.01)
        with idle_reader(api.url, api.store):
            positions = count(2)
            until(lambda: publish_large(api.store, next(positions)) or metric(api.url, "equirank_api_streams") == 0, "its place is free")


def state(
    number: int, rating: float, *, rows: dict[str, dict[str, AgentRow]] | None = None, fields: Mapping[str, Any] = MappingProxyType({})
) -> State:  # fmt: skip
    """A state of one board. rows: of agents. fields: other fields of the board."""
    board = Board(
        pool="blitz", method="elo", source="live", generation=1, position=number, total=1, ranked=1, age_seconds=0.0,
        rows=[AgentRow(agent="rock", rating=rating, rank=1)],
    )  # fmt: skip
    board = msgspec.structs.replace(board, **fields)
    view = PoolView(pool="blitz", kind="games", label="", head=head_of(position=number))
    return state_of(number, Boards(pool=view, methods=Methods(live=["elo"], solved=[]), boards=[board]), 10, rows or {})


class TestReader:
    WANTED = Wanted("blitz", None, 10, ("rock",))

    def test_a_day_before_and_games_up_to_a_checkpoint_are_no_change_by_themselves(self) -> None:
        row = AgentRow(agent="rock", rating=1.0, rank=1, earlier_rank=2, earlier_rating=0.5)
        later = msgspec.structs.replace(row, earlier_rank=1, earlier_rating=0.75)
        first, second, played = (
            state(1, 1.0, fields={"rows": [one], "earlier": Earlier(time=time, day=True), "age_seconds": time, "games_position": int(time)})
            for time, one in ((1.0, row), (61.0, later), (61.0, msgspec.structs.replace(later, games=1.0)))
        )
        assert first.id_of(self.WANTED) == second.id_of(self.WANTED) != played.id_of(self.WANTED)
        reader = Reader(self.WANTED, "")
        assert [bool(reader.events(one)) for one in (first, second, played)] == [True, False, True]

    def test_states_between_two_sent_ones_are_dropped(self) -> None:
        reader = Reader(self.WANTED, "")
        for number in (3, 4, 9):
            assert reader.events(state(number, float(number)))
        assert reader.dropped == 4

    def test_a_state_that_was_sent_is_not_kept(self) -> None:
        reader, one = Reader(self.WANTED, ""), state(1, 1.0)
        reader.events(one)
        kept = weakref.ref(one)
        del one
        assert kept() is None

    def test_events_are_released_after_they_were_sent(self) -> None:
        class Feed:
            changed, trouble, ended, state = None, None, None, state(1, 1.0)

            def covers(self, _: Wanted) -> bool:
                return True

        class Unrecorded:
            def record(self, _: Reader) -> None:
                pass

        async def check() -> None:
            sent = streams._events(Unrecorded(), Feed(), Reader(self.WANTED, ""))  # type: ignore[arg-type]
            await anext(sent)
            assert b"event: pool" in await anext(sent)
            assert (await anext(sent), sent.ag_frame.f_locals["events"]) == (b"", b"")  # type: ignore[attr-defined]

        asyncio.run(check())

    def test_equal_rows_after_dropped_states_are_not_sent(self) -> None:
        reader = Reader(self.WANTED, "")
        reader.events(state(1, 5.0))
        assert b"event: board" not in reader.events(state(3, 5.0))

    def test_before_is_the_row_that_was_sent_not_one_that_was_dropped(self) -> None:
        reader = Reader(self.WANTED, "")
        first, last = (AgentRow(agent="rock", rating=rating, rank=1) for rating in (1.0, 3.0))
        reader.events(state(1, 1.0, rows={"rock": {"elo": first}}))
        assert b'"before":{"agent":"rock","rating":1.0' in reader.events(state(3, 3.0, rows={"rock": {"elo": last}}))

    def test_an_interruption_is_reported_once_and_the_same_state_after_it_ends_it(self) -> None:
        reader, one = Reader(self.WANTED, ""), state(1, 1.0)
        reader.events(one)
        assert reader.events(one) == b""
        assert b"event: stale" in reader.stale(2.0, "no answer")
        assert reader.stale(3.0, "no answer") == b""
        again = reader.events(one)
        assert (b"event: pool" in again, b"event: board" in again) == (True, False)

    def test_readers_with_equal_parameters_share_encoded_boards(self) -> None:
        one = state(1, 1.0)
        assert one.board_events(self.WANTED)["elo"] is one.board_events(self.WANTED)["elo"]
