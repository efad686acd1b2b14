"""Live boards of any past position, folded again from the archive: those that were served at the position, bit for bit."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import msgspec
import pytest

from ratings_core.errors import InputError
from ratings_core.records.times import seconds, written
from services.archive import records as archived_records
from services.boards.history import kept
from services.boards.past_contents import NotFolded, StillFolding, When
from services.checkpoints.checkpoint import CheckpointStore
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard.generations.past_states import PastStates
from services.solve.registry.methods import problem_for, solve
from services.wire import events
from services.wire.pools import Kind
from tests.support.archiving import archive, fold, served_api
from tests.support.boards import solved_of
from tests.support.command_line import Run
from tests.support.forgetting import forget
from tests.support.worker import (
    HOME,
    PARTITIONS,
    counted,
    folded_without,
    head_of,
    newest_digest,
    play,
    published,
    retract,
    store_of,
    until,
    working,
)

POOL = simulated.POOL
METHODS = ("elo", "sco", "weng_lin")
RECORD = 10
"""Games of a record."""


@pytest.fixture
def client(settings: Settings, log: Log) -> Iterator[httpx.Client]:
    with served_api(settings, log) as client:
        yield client


def board(client: httpx.Client, method: str = "elo", **when: Any) -> dict[str, Any]:
    answer = client.get(f"/v1/pools/{POOL}/boards/{method}", params={"count": 1000, **when})
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def rows(client: httpx.Client, method: str, **when: Any) -> list[tuple[Any, ...]]:
    """Agent, rating, deviation, rank and mark of each row, by agent: equal ratings are in any order."""
    names = ("agent", "rating", "deviation", "rank", "provisional")
    return sorted(tuple(row.get(name) for name in names) for row in board(client, method, **when)["rows"])


def difference(client: httpx.Client, method: str = "elo", **query: Any) -> dict[str, Any]:
    answer = client.get(f"/v1/pools/{POOL}/boards/{method}/diff", params={"count": 1000, **query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ratings(client: httpx.Client, **when: Any) -> dict[str, float]:
    return {row["agent"]: row["rating"] for row in board(client, **when)["rows"]}


def test_a_past_board_is_the_one_that_was_served(settings: Settings, log: Log, client: httpx.Client) -> None:
    with closing(ControlLog(log.control)) as control:
        online: dict[str, dict[str, float]] = {"elo": {}, "sco": {}, "weng_lin": {}}
        control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings(online=online)))
    was, at = dict[int, list[Any]](), list[tuple[float, int]]()
    for stop in (50, 120, 130, 300):
        fold(settings, log, published(settings) if was else 0, stop)
        was[head_of(settings).position] = [rows(client, method) for method in METHODS]
        at.append((time.time(), head_of(settings).position))
        if stop == 130:
            forget(settings, archive(settings))  # the last records are in the topic alone
    assert sorted(was) == [stop // RECORD for stop in (50, 120, 130, 300)]
    for position in (12, 5, 30, 13):
        assert [rows(client, method, position=position) for method in METHODS] == was[position]
    for moment, position in at:
        assert rows(client, "elo", at=str(moment)) == was[position][0]
    found = board(client, position=12)
    assert (found["source"], found["position"], found["generation"], found["outcomes"]) == ("past", 12, 1, 120)
    assert board(client, position=10**9)["position"] == 30
    assert without_outcomes(client, "elo", 0) == 1


def neighbour() -> str:
    """Name of another pool of the same partition."""
    return next(name for name in (f"neighbour-{i}" for i in range(1000)) if partition_of(name, PARTITIONS) == HOME)


def play_neighbour(log: Log, settings: Settings, records: int) -> None:
    """Append records of the neighbour, and wait until the partition has folded them."""
    name = neighbour()
    for _ in range(records):
        games = [msgspec.structs.replace(simulated.game(0, 0.0), pool=name, id=f"neighbour-{log.outcomes.end(HOME)}")]
        log.outcomes.append(HOME, [(name.encode(), record) for record in events.encode_records(games)])
    with working(settings, log):
        until(lambda: published_position(settings, name) == log.outcomes.end(HOME), "the neighbour is folded")


def published_position(settings: Settings, pool: str) -> int:
    with store_of(settings) as store:
        head = store.live.head(pool)
    return -1 if head is None else head.position


def without_outcomes(client: httpx.Client, method: str, position: int) -> int:
    """The generation that had counted no outcome at a position, as the answer says."""
    answer = client.get(f"/v1/pools/{POOL}/boards/{method}", params={"position": position})
    assert answer.status_code == 404, answer.text
    says = rf"At position {position}, generation (\d+) of pool {POOL} had counted no outcome\."
    found = re.fullmatch(says, answer.json()["detail"])
    assert found is not None, answer.text
    return int(found[1])


def nothing_yet(client: httpx.Client, path: str, **moments: float) -> str:
    """The time at which the log took the first outcome of the pool, as an answer about an earlier moment names it."""
    answer = client.get(f"/v1/pools/{POOL}/{path}", params=moments)
    assert (answer.status_code, answer.json()["title"]) == (404, "nothing yet"), answer.text
    asked = written(max(moments.values()))
    says = f"At {asked}, generation 1 of pool {POOL} had counted no outcome: the log took the pool's next record at (.+?)\\. "
    found = re.match(f"{says}`equirank solve --pool {POOL} --until {asked}` rates outcomes", answer.json()["detail"])
    assert found is not None, answer.text
    return found[1]


@pytest.mark.parametrize("archived", [False, True])
def test_a_board_by_time_names_no_position_that_the_log_reached_later(
    settings: Settings, log: Log, client: httpx.Client, run: Run, archived: bool
) -> None:
    play_neighbour(log, settings, 2)
    before = time.time()
    fold(settings, log, 0, 100)
    was, quiet = ratings(client), time.time()
    play_neighbour(log, settings, 3)
    until(lambda: head_of(settings).position == 15, "the quiet pool has the position of its partition")
    busy = time.time()
    with store_of(settings) as store:
        newest = msgspec.structs.replace(solved_of(POOL, method="bradley_terry", position=15), log=log.outcomes.identity, solved_at=busy)
        store.solved.publish(newest)
        store.solved.publish_history(POOL, "bradley_terry", [kept(newest)])
    if archived:
        forget(settings, archive(settings))
    assert board(client, position=15)["position"] == 15, "its content is kept, and is no board by time of this position"
    for _ in range(2):  # a content that is kept answers as one that is folded
        found = board(client, at=str(quiet))
        assert (found["position"], found["outcomes"]) == (12, 100)
        assert ratings(client, at=str(quiet)) == ratings(client, position=12) == was
        solved = board(client, "bradley_terry", at=str(quiet))
        assert (solved["position"], solved["outcomes"], solved["source"]) == (12, 100, "past")
        assert 12 <= board(client, at=str(busy))["position"] <= 15
        assert [board(client, position=position)["position"] for position in (14, 13, 15)] == [14, 13, 15]
        assert ratings(client, position=14) == was
    first = nothing_yet(client, "boards/elo", at=before)
    assert seconds(first, "first") == pytest.approx(before, abs=quiet - before + 1.0), "the time is written in full seconds"
    assert nothing_yet(client, "boards/bradley_terry", at=before) == first
    assert nothing_yet(client, "boards/elo/diff", since=before - 1.0, until=before) == first
    assert nothing_yet(client, "boards/elo/why/pebble", until=before) == first
    assert nothing_yet(client, "boards/bradley_terry/why/pebble", since=before) == first
    assert {row["agent"] for row in difference(client, since=str(before))["joined"]} == set(was), "all are new since then"
    rule = f"must not be before the first outcome that generation 1 of pool {POOL} counts; the log took the pool's next record at {first}; "
    with pytest.raises(InputError, match=rule):
        run("top", "--pool", POOL, "--at", str(before))


def test_a_position_between_publications_has_a_board_and_a_cursor(settings: Settings, log: Log, client: httpx.Client) -> None:
    fold(settings, log, 0, 300)
    forget(settings, archive(settings))
    for position in (1, 7, 29):
        assert ratings(client, position=position) == folded_without(range(RECORD * position, 300), 300)
    first = board(client, position=7, count=2)
    following = board(client, cursor=first["next"], count=1000)
    assert [*first["rows"], *following["rows"]] == board(client, position=7)["rows"]


def test_by_default_it_is_by_the_rules_of_now_and_on_request_by_those_of_then(settings: Settings, log: Log, client: httpx.Client) -> None:
    quick = settings.model_copy(update={"retraction_seconds": 0.0})
    fold(quick, log, 0, 200)
    was = ratings(client)
    with working(quick, log):
        retract(log, [15])
        until(lambda: counted(quick, 199, 2), "it is folded again")
        play(log, 200, 300)
        until(lambda: published(quick) == 299, "it goes on")
    forget(quick, archive(quick))
    assert ratings(client, position=20) == folded_without([15], 200)
    assert ratings(client, position=20, generation=1) == was
    assert ratings(client, position=1, generation=2) == ratings(client, position=1) == folded_without(range(10, 200), 200)
    with store_of(quick) as store:
        solves = [
            msgspec.structs.replace(
                solved_of(POOL, method="bradley_terry", generation=number, position=position), log=log.outcomes.identity
            )
            for number, position in ((2, 31), (1, 20))
        ]
        store.solved.publish(solves[0])
        store.solved.publish_history(POOL, "bradley_terry", [kept(solve) for solve in solves])
    found = [board(client, "bradley_terry", position=20, **which) for which in ({}, {"generation": 1})]
    assert [(one["generation"], one["outcomes"]) for one in found] == [(2, 199), (1, 20)], "solved again, and what readers saw"
    answer = client.get(f"/v1/pools/{POOL}/boards/elo", params={"position": 5, "generation": 3})
    assert (answer.status_code, "readers saw no generation 3" in answer.text) == (410, True)
    log.archived = None
    assert board(client, "bradley_terry", position=20)["generation"] == 1, "the kept one is all there is"


def test_what_changed_between_two_positions_is_the_difference_of_their_boards(
    settings: Settings, log: Log, client: httpx.Client, run: Run
) -> None:
    fold(settings, log, 0, 300)
    forget(settings, archive(settings))
    found = difference(client, against=7, position=20)
    old, new = (ratings(client, position=position) for position in (7, 20))
    assert [found[end]["position"] for end in ("before", "after")] == [7, 20]
    assert (found["outcomes"], found["because"], found["compared"]) == (130, ["outcomes"], 10_000)
    assert {row["agent"]: (row["rating_before"], row["rating"]) for row in found["moved"]} == {
        name: (old[name], rating) for name, rating in new.items()
    }
    assert difference(client, against=7)["after"] == difference(client, against=0, position=30)["after"]
    first = difference(client, against=0, position=30)
    assert {row["agent"] for row in first["joined"]} == set(ratings(client))
    same = difference(client, against=20, position=20)
    assert (same["because"], same["moved"], same["outcomes"]) == ([], [], 0)
    shown = run("top", "--pool", POOL, "--diff", "--against", "7", "--position", "20", "--format", "json")
    assert json.loads(shown) == found | {"moved": json.loads(shown)["moved"]}
    with pytest.raises(InputError, match="must not be used with --position or --at"):
        run("top", "--pool", POOL, "--diff", "--against", "7", "--at", "2026-01-01")
    assert '"position":12' in run("top", "--pool", POOL, "--position", "12", "--format", "json")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "must be sent: elo is an online method, and every position has a board"),
        ({"against": 21, "position": 20}, "must be at most the position of the later board, 20"),
        ({"against": 5, "since": "10"}, "must be one of the two"),
        ({"against": 5, "position": 7, "until": "10"}, "must be one of the two"),
        ({"since": "20", "until": "10"}, "must be at most `until`"),
        ({"since": "2100-01-01", "position": 10}, "must be at most the position of the later board, 10"),
        ({"against": "2026-11-26"}, "against is '2026-11-26': must be a whole number, a position of the log; send since for a time"),
        ({"against": 5, "position": "2026-11-26"}, "must be a whole number, a position of the log; send until for a time"),
    ],
)
def test_a_difference_that_cannot_be_is_refused(
    settings: Settings, log: Log, client: httpx.Client, params: dict[str, Any], words: str
) -> None:
    fold(settings, log, 0, 200)
    answer = client.get(f"/v1/pools/{POOL}/boards/elo/diff", params=params)
    assert (answer.status_code, words in answer.text) == (422, True), answer.text


def test_what_changed_between_two_times_is_the_difference_of_their_positions(
    settings: Settings, log: Log, client: httpx.Client, run: Run
) -> None:
    moments = list[str]()
    for start, stop in ((0, 70), (70, 200), (200, 300)):
        fold(settings, log, start, stop)
        moments.append(str(time.time()))
    with store_of(settings) as store:
        newest = msgspec.structs.replace(solved_of(POOL, method="bradley_terry", position=30), log=log.outcomes.identity)
        store.solved.publish(newest)
        store.solved.publish_history(POOL, "bradley_terry", [kept(newest)])
    forget(settings, archive(settings))
    for method in ("elo", "bradley_terry"):
        by_position, by_time = (
            difference(client, method, **query) for query in ({"against": 7, "position": 20}, {"since": moments[0], "until": moments[1]})
        )
        assert by_time == by_position
        assert [by_time[end]["position"] for end in ("before", "after")] == [7, 20]
        assert difference(client, method, since=moments[1]) == difference(client, method, against=20, position=30)
        assert difference(client, method, against=7, until=moments[1]) == by_position
        options = "top", "--pool", POOL, "--method", method, "--diff", "--format", "json"
        shown = json.loads(run(*options, "--since", moments[0], "--until", moments[1], "--count", "1000"))
        assert [shown[end]["position"] for end in ("before", "after")] == [7, 20]
        assert shown["moved"] == by_time["moved"]
        for words in (["--until", moments[1]], ["--since", moments[0], "--against", "7"]):
            with pytest.raises(InputError, match="must be used"):
                run(*options, *words)
    with pytest.raises(InputError, match="--since must be used with --diff"):
        run("top", "--pool", POOL, "--since", moments[0])


@pytest.mark.parametrize("method", ["elo", "bradley_terry", "copeland"])
def test_a_rating_is_explained_at_any_two_positions(settings: Settings, log: Log, client: httpx.Client, run: Run, method: str) -> None:
    moments = list[str]()
    for start, stop in ((0, 70), (70, 200), (200, 300)):
        fold(settings, log, start, stop)
        moments.append(str(time.time()))
    forget(settings, archive(settings))
    with store_of(settings) as store:
        store.solved.publish(msgspec.structs.replace(solved_of(POOL, method=method, position=30), log=log.outcomes.identity))
    answer = client.get(f"/v1/pools/{POOL}/boards/{method}/why/pebble", params={"from": 7, "to": 20, "count": 1000})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    change = found["change"]
    assert (found["position"], found["outcomes"], change["outcomes"]) == (20, 200, 130)
    assert [change[end]["position"] for end in ("before", "after")] == [7, 20]
    if method == "elo":
        assert [change[end]["rating"] for end in ("before", "after")] == [ratings(client, position=at)["pebble"] for at in (7, 20)]
    if method != "copeland":
        effects = sum(move["effect"] for move in change["moves"]) + change["joined_effect"]
        assert effects == pytest.approx(change["after"]["rating"] - change["before"]["rating"])
    shown = json.loads(run("why", POOL, "pebble", "--method", method, "--from", "7", "--to", "20", "--count", "1000", "--format", "json"))
    assert shown["change"] == change
    by_time = client.get(f"/v1/pools/{POOL}/boards/{method}/why/pebble", params={"since": moments[0], "until": moments[1], "count": 1000})
    assert by_time.json()["change"] == change
    shown = json.loads(
        run("why", POOL, "pebble", "--method", method, "--since", moments[0], "--to", "20", "--count", "1000", "--format", "json")
    )
    assert shown["change"] == change
    for params in ({"from": 7, "since": moments[0]}, {"since": moments[1], "until": moments[0]}, {"since": "soon"}):
        assert client.get(f"/v1/pools/{POOL}/boards/{method}/why/pebble", params=params).status_code == 422
    answer = client.get(f"/v1/pools/{POOL}/boards/{method}/why/pebble", params={"from": 0})
    assert answer.status_code == (200 if method == "elo" else 404), "nobody can be solved before the first outcome"


@pytest.mark.parametrize("method", ["bradley_terry", "maximal_lottery"])
def test_a_solved_method_is_solved_again_where_no_newestis_kept(
    settings: Settings, log: Log, client: httpx.Client, run: Run, method: str
) -> None:
    was = dict[int, dict[str, float | None]]()
    for start, stop in ((0, 120), (120, 300)):
        fold(settings, log, start, stop)
        files = CheckpointStore(settings.checkpoint_url)
        newest = files.newest(HOME)
        assert newest is not None
        solved = solve(method, problem_for(method, Kind.GAMES, files.read_pool(newest.pools[0])))
        was[stop // RECORD] = {row.agent: row.rating for row in solved.agents}
    forget(settings, archive(settings))
    with store_of(settings) as store:
        published = msgspec.structs.replace(solved_of(POOL, method=method, position=30), log=log.outcomes.identity)
        store.solved.publish(published)
        earlier = msgspec.structs.replace(published, position=5, solved_at=published.solved_at - 3600.0)
        store.solved.publish_history(POOL, method, [kept(earlier)] + [kept(published)] * settings.solves_kept)
    kept_rows = [row.agent for row in published.result.agents]
    for position in (5, 30):
        assert [row["agent"] for row in board(client, method, position=position)["rows"]] == kept_rows, "a kept solve is not solved again"
    found = board(client, method, position=12)
    assert (found["source"], found["position"], found["outcomes"]) == ("past", 12, 120)
    assert {row["agent"]: row["rating"] for row in found["rows"]} == was[12]
    shown = json.loads(run("top", "--pool", POOL, "--method", method, "--position", "12", "--format", "json"))
    assert {row["agent"]: row["rating"] for row in shown["rows"]} == was[12]
    change = client.get(f"/v1/pools/{POOL}/boards/{method}/diff", params={"against": 12, "position": 30, "count": 1000})
    assert change.status_code == 200, change.text
    assert {row["agent"]: row["rating"] for row in change.json()["moved"]}.items() <= was[30].items()
    assert [change.json()[end]["outcomes"] for end in ("before", "after")] == [120, 300]
    refused = [{"position": 20}, {"against": 12, "generation": 1}, {"against": 12, "position": 5}]
    assert [client.get(f"/v1/pools/{POOL}/boards/{method}/diff", params=params).status_code for params in refused] == [422] * 3
    log.archived = None
    assert board(client, method, position=13)["position"] == 5, "the kept one is nearest"
    shown = json.loads(run("top", "--pool", POOL, "--method", method, "--position", "5", "--format", "json"))
    assert shown["position"] == 5
    answer = client.get(f"/v1/pools/{POOL}/boards/{method}", params={"position": 4})
    assert (answer.status_code, "need an archive" in answer.text) == (410, True)


def test_a_position_of_an_ended_season_has_the_board_of_that_season(settings: Settings, log: Log, client: httpx.Client, run: Run) -> None:
    fold(settings, log, 0, 200)
    was, at = ratings(client), time.time()
    with working(settings, log):
        assert "generation 2 serves" in run("seasons", "start", POOL, "autumn", "--keep", "0.5")
        play(log, 200, 300)
        until(lambda: published(settings) == 100, "the season counts")
    present, position = ratings(client), head_of(settings).position
    forget(settings, archive(settings))
    assert ratings(client, position=19) == folded_without(range(190, 200), 200)
    assert ratings(client, at=str(at)) == was
    assert board(client, position=19)["generation"] == 1
    assert ratings(client, position=position) == present
    first = board(client, position=20)
    assert (first["generation"], first["outcomes"], first["total"]) == (2, 0, len(was))
    with store_of(settings) as store:
        solved = msgspec.structs.replace(solved_of(POOL, method="bradley_terry", generation=2, position=30), log=log.outcomes.identity)
        store.solved.publish(solved)
        store.solved.publish_history(POOL, "bradley_terry", [kept(solved)])
    assert without_outcomes(client, "bradley_terry", 20) == 2, "carried ratings are no outcomes, so nothing can be solved"
    for method in ("elo", "bradley_terry"):
        assert client.get(f"/v1/pools/{POOL}/boards/{method}/diff", params={"against": 25, "position": 30}).status_code == 200
        assert client.get(f"/v1/pools/{POOL}/boards/{method}/why/pebble", params={"from": 25, "to": 30}).status_code == 200
        for path, asked in (
            ("diff", {"against": 19}), ("diff", {"since": at}), ("why/pebble", {"from": 19}), ("why/pebble", {"since": at}),
            ("why/pebble", {"to": 19}), ("why/pebble", {"until": at}),
        ):  # fmt: skip
            answer = client.get(f"/v1/pools/{POOL}/boards/{method}/{path}", params={"position": 30, **asked} if path == "diff" else asked)
            assert answer.status_code == 422, answer.text
            detail = answer.json()["detail"]
            assert detail.startswith(f"{next(iter(asked))} must not be before season autumn, which began at position 20 ("), detail
            assert "send a moment from its start on" in detail
    with pytest.raises(InputError, match="must not be before season autumn"):
        run("why", POOL, "pebble", "--method", "elo", "--from", "19")
    with working(settings, log):
        assert "generation 3 serves" in run("seasons", "start", POOL, "winter")
        play(log, 300, 320)
        until(lambda: published(settings) == 20, "the season counts")
    assert without_outcomes(client, "elo", 30) == 3, "a season that keeps no ratings begins there"


def test_an_erased_name_is_in_no_past_board(settings: Settings, log: Log, client: httpx.Client) -> None:
    fold(settings, log, 0, 200)
    was = ratings(client, position=10)
    with closing(ControlLog(log.control)) as control, working(settings, log):
        erased = erased_name("pebble", ())
        control.append(ErasureRequest(pool=POOL, name=erased, by="ann", time=1.0))
        until(lambda: head_of(settings).generation == 2, "a generation without the name")
    forget(settings, archive(settings))
    expected = {erased.token if name == "pebble" else name: rating for name, rating in was.items()}
    assert ratings(client, position=10) == expected
    assert ratings(client, position=10, generation=1) == expected


def test_a_long_fold_goes_on_with_the_next_request(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived_records, "_ROWS", 100)
    fold(settings, log, 0, 300)
    archive(settings)
    with closing(ControlLog(log.control)) as control:
        files, head = CheckpointStore((settings.data / "other").as_uri()), head_of(settings)
        states = PastStates(log, control.refresh, files, most=100)
        for reached in (10, 20):
            with pytest.raises(StillFolding, match=rf"position {reached} of 30: send the request again .* `equirank solve --pool {POOL}"):
                states.content(head, When(30))
        found = states.content(head, When(30))
        assert (found.entry.outcomes, found.entry.digest) == (300, newest_digest(settings))
        assert states.content(head, When(30)) is found, "it is kept"
        states.stop()
        assert states.content(head, When(30)) is found


def test_without_an_archive_only_kept_boards_can_be_read(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 200)
    log.archived = None
    bare = settings.model_copy(update={"archive": "off"})
    with served_api(bare, log) as client:
        assert board(client, position=25)["position"] == 20
        answer = client.get(f"/v1/pools/{POOL}/boards/elo", params={"position": 5})
        assert answer.status_code == 410
        assert "positions 20" in answer.text
        assert "need an archive (EQUIRANK_ARCHIVE)" in answer.text


def test_records_that_log_and_archive_lost_are_named(settings: Settings, log: Log, client: httpx.Client) -> None:
    fold(settings, log, 0, 200)
    forget(settings, 10)
    answer = client.get(f"/v1/pools/{POOL}/boards/elo", params={"position": 5})
    assert answer.status_code == 410
    assert "has no offset 0: the log holds 10 to 20" in answer.text
    with closing(ControlLog(log.control)) as control:
        states = PastStates(log, control.refresh, CheckpointStore((settings.data / "other").as_uri()))
        with pytest.raises(NotFolded, match="has no offset 0"):
            states.content(head_of(settings), When(15))
