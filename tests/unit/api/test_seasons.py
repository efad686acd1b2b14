"""Seasons over HTTP: their start, their list, their final boards, and solved boards of the season before."""

from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyarrow import ipc

from services.boards.history import kept
from services.boards.store.protocol import Building
from services.control.generations import after_wish, wish
from services.control.log import ControlLog
from services.control.records import Opening, PoolCreated, SeasonStart
from services.demo import simulated
from services.log.partition import partition_of
from services.wire.pools import Kind
from tests.support.api import NOW, Running
from tests.support.boards import solved_of
from tests.support.ended_season import FIRST, FOLD, POOL, SECOND, append, end_first_season, published


@pytest.fixture
def ended(api: Running, tmp_path: Path) -> Running:
    end_first_season(api, tmp_path)
    return api


def test_seasons_are_listed_with_their_spans_and_boards(ended: Running) -> None:
    answer = ended.client.get(f"{POOL}/seasons").json()
    assert answer["seasons"] == [
        {"name": "first", "status": "closed", "generation": 1, "start": 0, "end": 12, "began_at": 0.0, "ended_at": NOW - 60, "keep": None,
         "outcomes": 120, "boards": ["elo", "weng_lin", "copeland"], "waits_for": None},
        {"name": "autumn", "status": "running", "generation": 2, "start": 12, "end": None, "began_at": NOW - 60, "ended_at": None,
         "keep": 0.5, "outcomes": None, "boards": [], "waits_for": None},
    ]  # fmt: skip
    assert ended.client.get("/v1/pools/nobody/seasons").status_code == 404


def season_record(agent: str) -> list[int]:
    """Games, wins, draws and losses of an agent in the 120 games of the first season."""
    games = [simulated.game(i, float(i)).sides for i in range(120)]
    ahead = [other.place - mine.place for one in games for mine, other in (one, one[::-1]) if mine.agents == [agent]]
    return [len(ahead), sum(by > 0 for by in ahead), sum(by == 0 for by in ahead), sum(by < 0 for by in ahead)]


def test_final_boards_show_details_and_leave_out_hidden_agents(ended: Running) -> None:
    changes = [{"agent": "rock", "display_name": "The Rock"}, {"agent": "paper", "hidden": True}]
    assert ended.client.patch(f"{POOL}/agents", json=changes).status_code == 200
    url = f"{POOL}/seasons/first/boards/copeland"
    rows = ended.client.get(url).json()["rows"]
    assert [(row["agent"], row["rank"], row.get("display_name")) for row in rows] == [("rock", 1, "The Rock"), ("stone", 3, None)]
    assert [rows[0][name] for name in ("games", "wins", "draws", "losses")] == season_record("rock"), "of the ended season"
    assert "games" not in rows[1], "an agent of no game"
    assert "games" not in ended.client.get(f"{POOL}/boards/elo").json()["rows"][0]
    assert ended.client.get(url, params={"agents": "rock"}).status_code == 200
    assert ended.client.get(url, params={"agents": ["rock", "paper"]}).status_code == 404


@pytest.mark.parametrize("method", ["elo", "weng_lin", "copeland"])
def test_a_final_board_is_read_page_by_page(ended: Running, method: str) -> None:
    url = f"{POOL}/seasons/first/boards/{method}"
    whole = ended.client.get(url, params={"count": 1000}).json()
    assert (whole["season"], whole["source"], whole["generation"], whole["position"], whole["next"]) == ("first", "season", 1, 12, None)
    rows, page = [], ended.client.get(url, params={"count": 2}).json()
    while True:
        rows += page["rows"]
        if page["next"] is None:
            break
        page = ended.client.get(url, params={"cursor": page["next"], "count": 2}).json()
    assert rows == whole["rows"]
    assert ended.client.get(url, params={"start": 1, "count": 1}).json()["rows"] == whole["rows"][1:2]
    names = [row["agent"] for row in whole["rows"]][2::-2]
    assert [row["agent"] for row in ended.client.get(url, params={"agents": names}).json()["rows"]] == names


@pytest.mark.parametrize("method", ["elo", "copeland"])
def test_provisional_agents_of_a_final_board_are_a_filter(ended: Running, method: str) -> None:
    url = f"{POOL}/seasons/first/boards/{method}"
    whole = ended.client.get(url, params={"count": 1000}).json()["rows"]
    for shown in ("exclude", "only"):
        expected = [row["agent"] for row in whole if row.get("provisional", False) == (shown == "only")]
        page = ended.client.get(url, params={"provisional": shown, "count": 1}).json()
        rows = page["rows"]
        while page["next"] is not None:
            page = ended.client.get(url, params={"provisional": shown, "count": 1, "cursor": page["next"]}).json()
            rows += page["rows"]
        assert [(row["agent"], row["filter_place"]) for row in rows] == [(name, place) for place, name in enumerate(expected, 1)]
        lines = ended.client.get(url, params={"provisional": shown, "format": "csv"}).text.splitlines()
        assert [line.split(",")[1] for line in lines[1:]] == expected


def test_a_final_board_has_all_formats_and_a_tag(ended: Running) -> None:
    url = f"{POOL}/seasons/first/boards/copeland"
    assert ended.client.get(url, params={"format": "csv"}).text.splitlines()[1].startswith("1,rock,3.0")
    table = ipc.open_stream(BytesIO(ended.client.get(url, params={"format": "arrow"}).content)).read_all()
    assert table.column("agent").to_pylist() == ["rock", "paper", "stone"]
    answer = ended.client.get(url)
    assert ended.client.get(url, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("seasons/autumn/boards/elo", 404, "no ended season autumn (ended: first)"),
        ("seasons/nothing/boards/elo", 404, "no ended season nothing"),
        ("seasons/first/boards/borda", 404, "no final board borda (yet); it has elo, weng_lin, copeland"),
        ("seasons/first/boards/Copeland", 422, "must be a-z 0-9 _"),
        ("seasons/first/boards/copeland?agents=nobody", 404, "no row of the agents 'nobody'"),
        ("seasons/first/boards/copeland?agents=rock&start=1", 422, "must not be sent with start"),
    ],
)
def test_what_is_not_there_is_named(ended: Running, path: str, status: int, says: str) -> None:
    answer = ended.client.get(f"{POOL}/{path}")
    assert answer.status_code == status
    assert says in answer.json()["detail"]


def test_a_cursor_of_another_board_is_refused(ended: Running) -> None:
    cursor = ended.client.get(f"{POOL}/seasons/first/boards/elo", params={"count": 1}).json()["next"]
    assert ended.client.get(f"{POOL}/seasons/first/boards/weng_lin", params={"cursor": cursor}).status_code == 422
    assert ended.client.get(f"{POOL}/boards/elo", params={"cursor": cursor}).status_code in (410, 422)


def test_a_season_is_requested_once_and_by_a_new_name(ended: Running) -> None:
    url = f"{POOL}/seasons"
    for name in ("first", "autumn"):
        refused = ended.client.post(url, json={"name": name})
        assert (refused.status_code, "must be the name of no season" in refused.json()["detail"]) == (422, True)
    refused = ended.client.post(url, json={"name": "winter", "start": 12})
    assert (refused.status_code, "must be now, or a log offset of 13 or more" in refused.json()["detail"]) == (422, True)
    assert ended.client.post(url, json={"name": "winter", "keep": 0.25}).status_code == 202
    *_, winter = ended.client.get(url).json()["seasons"]
    assert (winter["name"], winter["status"], winter["keep"]) == ("winter", "requested", 0.25)
    refused = ended.client.post(url, json={"name": "spring"})
    assert (refused.status_code, "must wait until season winter has started" in refused.json()["detail"]) == (422, True)
    waiting = ended.client.get(f"{POOL}/generations").json()["waiting"]
    assert (type(waiting["start"]), waiting["season"]) == (int, {"name": "winter", "keep": 0.25})


def test_a_season_that_starts_now_starts_at_the_end_of_the_log(ended: Running) -> None:
    """The shard may be behind: what was accepted before the request counts in the season before."""
    partition = partition_of(simulated.POOL, ended.log.outcomes.partitions)
    ended.log.outcomes.append(partition, [(simulated.POOL.encode(), b"{}")] * 15)
    end = ended.log.outcomes.end(partition)
    assert end >= 15
    assert ended.client.post(f"{POOL}/seasons", json={"name": "winter", "start": "now"}).status_code == 202
    ended.log.outcomes.append(partition, [(simulated.POOL.encode(), b"{}")])
    *_, winter = ended.client.get(f"{POOL}/seasons").json()["seasons"]
    assert (winter["status"], winter["start"]) == ("requested", end)


def test_a_requested_season_is_withdrawn_until_it_begins(ended: Running) -> None:
    url = f"{POOL}/seasons"
    assert ended.client.delete(f"{url}/winter").status_code == 404
    assert ended.client.post(url, json={"name": "winter"}).status_code == 202
    answer = ended.client.delete(f"{url}/winter")
    assert (answer.status_code, [season["name"] for season in answer.json()["seasons"]]) == (200, ["first", "autumn"])
    assert ended.client.get(f"{POOL}/generations").json()["waiting"] is None
    assert ended.client.delete(f"{url}/winter").status_code == 404
    for name in ("first", "autumn"):
        refused = ended.client.delete(f"{url}/{name}")
        assert (refused.status_code, refused.json()["title"]) == (409, "season began")
    assert ended.client.delete("/v1/pools/nobody/seasons/winter").status_code == 404
    assert ended.client.post(url, json={"name": "winter"}).status_code == 202, "its name is free again"


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ({}, "the shard of the pool: start the engine if it does not run, or withdraw the season by `equirank seasons withdraw"),
        ({"position": 3}, "position 5; the pool is at 3: wait, or withdraw the season by"),
        ({"stopped": "a rating is no number"}, "the pool, which stopped at 20 (a rating is no number): `equirank pools resume"),
        ({"pending": 7}, "a generation that leaves out 7 retracted outcomes"),
        ({"building": Building(generation=3, progress=0.5)}, "generation 3 of the present season, which is at 50%: wait, or withdraw"),
        ({"building": Building(generation=3, progress=0.5, failed="the log lost records")}, "the shard of the pool: start the engine"),
    ],
)
def test_a_season_that_has_not_begun_says_what_it_waits_for(ended: Running, head: dict[str, Any], says: str) -> None:
    append(ended, wish(SECOND, time=0.0, start=5 if "position" in head else 20, season=SeasonStart(name="winter")))
    known = ended.store.live.head(simulated.POOL)
    assert known is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ended.store.live), "head", lambda *_: msgspec.structs.replace(known, **head))
        *_, winter = ended.client.get(f"{POOL}/seasons").json()["seasons"]
    assert (winter["status"], winter["waits_for"][: len(says)]) == ("requested", says)


@pytest.mark.parametrize(
    ("building", "says"),
    [
        (Building(generation=3, progress=0.25), "generation 3, which is at 25%"),
        (
            Building(generation=3, progress=0.5, failed="the log lost records"),
            "generation 3, which cannot be folded (the log lost records): remove the cause; it is tried again after 1, 5, 30 and then",
        ),
        (Building(generation=2, progress=0.5, failed="the log lost records"), "generation 3"),
    ],
)
def test_a_season_that_starts_waits_for_its_own_generation(ended: Running, building: Building, says: str) -> None:
    opening = Opening(generation=2, position=20, keep=0.0, first=3)
    append(ended, msgspec.structs.replace(SECOND, number=3, start=20, season="winter", opening=opening))
    known = ended.store.live.head(simulated.POOL)
    assert known is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ended.store.live), "head", lambda *_: msgspec.structs.replace(known, building=building))
        *_, winter = ended.client.get(f"{POOL}/seasons").json()["seasons"]
    assert (winter["status"], winter["waits_for"][: len(says)]) == ("starting", says)
    assert len(says) > 20 or winter["waits_for"] == says


def test_a_season_without_a_report_of_its_shard_says_so(ended: Running) -> None:
    append(ended, wish(SECOND, time=0.0, start=20, season=SeasonStart(name="winter")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(ended.store.live), "head", lambda *_: None)
        *_, winter = ended.client.get(f"{POOL}/seasons").json()["seasons"]
    assert winter["waits_for"] == "the shard of the pool, of which the store has no report: start the engine"


def test_a_season_whose_generation_fails_is_tried_again_by_a_request(ended: Running) -> None:
    """`equirank pools resume` makes the next generation of the same season, which is built at once."""
    starting = msgspec.structs.replace(
        SECOND, number=3, start=20, season="winter", opening=Opening(generation=2, position=20, keep=0.0, first=3)
    )
    append(ended, starting)
    *_, winter = ended.client.get(f"{POOL}/seasons").json()["seasons"]
    assert (winter["status"], winter["waits_for"]) == ("starting", "generation 3")
    control = ControlLog(ended.log.control)
    control.want(wish(control.standing(simulated.POOL), time=1.0))
    asked = control.refresh().wish(simulated.POOL)
    assert asked is not None
    made = after_wish(control.refresh(), asked, 25, 0, 2.0)
    control.close()
    assert (made.number, made.season, made.start) == (4, "winter", 20)


def test_a_withdrawal_needs_an_admin_key(keyed: Running) -> None:
    assert keyed.client.delete(f"{POOL}/seasons/winter").status_code == 401


@pytest.mark.parametrize("body", [{"name": "a/b"}, {"name": ""}, {"name": "x", "keep": 1.5}, {"name": "x", "start": "same"}, {"keep": 0.5}])
def test_a_season_of_another_form_is_refused(ended: Running, body: dict[str, object]) -> None:
    assert ended.client.post(f"{POOL}/seasons", json=body).status_code == 422


def test_the_start_of_a_pool_with_seasons_is_not_before_its_season(ended: Running) -> None:
    refused = ended.client.post(f"{POOL}/generations", json={"start": 11})
    assert (refused.status_code, "must be at least 12, where season autumn begins" in refused.json()["detail"]) == (422, True)
    assert ended.client.post(f"{POOL}/generations", json={"start": "now"}).status_code == 202


def test_initial_ratings_within_a_season_are_refused(ended: Running) -> None:
    refused = ended.client.post(f"{POOL}/generations", json={"initial": {"elo": {"rock": 1700.0}}})
    assert (refused.status_code, "season autumn begins with the ratings of the season before" in refused.json()["detail"]) == (422, True)


def test_a_stopped_pool_ends_no_season(ended: Running) -> None:
    head = ended.store.live.head(simulated.POOL)
    assert head is not None
    assert ended.store.live.publish(msgspec.structs.replace(head, stopped="for a test"), 1, {})
    refused = ended.client.post(f"{POOL}/seasons", json={"name": "winter"})
    assert (refused.status_code, "resume it first" in refused.json()["detail"]) == (409, True)


def test_a_season_needs_an_admin_key(keyed: Running) -> None:
    assert keyed.client.post(f"{POOL}/seasons", json={"name": "winter"}).status_code == 401


def test_no_solved_board_of_the_season_before_stands_beside_live_boards_of_the_next_one(api: Running) -> None:
    append(api, PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0, fold=FOLD), FIRST)
    published(api, FIRST)
    assert api.store.solved.publish(solved_of(simulated.POOL, method="copeland", position=12))
    url = f"{POOL}/boards/copeland"
    before = api.client.get(url)
    assert len(before.json()["rows"]) == 2
    assert [board["generation"] for board in api.client.get(f"{POOL}/boards", params={"count": 5}).json()["boards"]] == [1, 1]
    published(api, SECOND)
    after = api.client.get(url, headers={"If-None-Match": before.headers["etag"]}).json()
    assert (after["status"], after["rows"], after["total"], after["generation"]) == ("pending", [], 0, 2)
    assert "not solved yet in this season" in after["error"]
    shown = api.client.get(f"{POOL}/boards", params={"count": 5}).json()["boards"]
    assert [(board["method"], board["generation"]) for board in shown] == [("elo", 2), ("copeland", 2)]
    assert api.client.get(f"{url}/around/rock").status_code == 404
    assert api.client.get(url, params={"agents": "rock"}).status_code == 404
    assert "copeland" not in api.client.get(f"{POOL}/agents/rock").text
    assert api.store.solved.publish(solved_of(simulated.POOL, method="copeland", generation=2, position=20))
    assert len(api.client.get(url).json()["rows"]) == 2


def test_solves_of_two_seasons_are_not_compared(ended: Running) -> None:
    solves = [
        msgspec.structs.replace(solved_of(simulated.POOL, method="copeland", position=at, ratings=[("rock", value)]), generation=made)
        for at, value, made in ((8, 1.0, 1), (11, 2.0, 1), (14, 3.0, 2))
    ]
    assert ended.store.solved.publish(solves[-1])
    url = f"{POOL}/boards/copeland/diff"
    for kept_solves in (solves[:2], solves):
        ended.store.solved.publish_history(simulated.POOL, "copeland", map(kept, kept_solves))
        refused = ended.client.get(url)
        assert (refused.status_code, "two kept solves of copeland in this season" in refused.json()["detail"]) == (404, True)
    newest = msgspec.structs.replace(solves[-1], position=18, sequence=9)
    ended.store.solved.publish_history(simulated.POOL, "copeland", map(kept, [*solves, newest]))
    found = ended.client.get(url).json()
    assert (found["before"]["position"], found["after"]["position"]) == (14, 18)
    refused = ended.client.get(url, params={"against": 11})
    assert (refused.status_code, "a kept solve of this season before the newest (14)" in refused.json()["detail"]) == (422, True)
