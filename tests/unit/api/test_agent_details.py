"""Details of agents through HTTP: changes, columns and filters of boards, hidden agents, search and streams."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pyarrow as pa
import pytest

from services.boards import agent_search, filtered
from services.boards.formats import COLUMNS
from services.boards.history import kept
from services.boards.store.protocol import LiveBoard
from services.control.details import DetailsChange
from services.control.details_records import DetailsWritten
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.control.records import encode
from services.wire.events import GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.api import Running, running
from tests.support.boards import head_of, solved_of
from tests.support.folds import fold_events
from tests.support.pools import pool_of, state_of
from tests.support.redis import flush
from tests.support.served_pools import ServedPool
from tests.support.waiting import until

AGENTS = "/v1/pools/blitz/agents"
ELO = "/v1/pools/blitz/boards/elo"
LOTTERY = "/v1/pools/blitz/boards/maximal_lottery"
COUNTRIES = ("DE", "FR", "AT")
COUNT = 60
NAMES = [f"agent-{i:02}" for i in range(COUNT)]


def games() -> list[GameEvent]:
    """Games in which an earlier agent mostly wins. Agent i plays the more, the smaller i is; agent 0 and the last one draw once."""
    made = []
    for i in range(COUNT):
        for j in range(i + 1, COUNT, 1 + i // 4):
            sides = [Side(agents=[NAMES[i]], place=0), Side(agents=[NAMES[j]], place=int((i + j) % 5 > 0))]
            made.append(GameEvent(v=1, id=f"{i}-{j}", pool="blitz", time=0.0, sides=sides))
    return made


def publish(api: Running, folder: Path) -> None:
    """The pool with its checkpoint, live boards, and a solved lottery whose support is the first ten agents."""
    api.log.control.append(0, [encode(pool_of("blitz", Kind.GAMES))])
    served, state = ServedPool(api.store, folder), state_of("blitz")
    assert fold_events(state, games()) == []
    served.checkpoint(state, len(games()))
    served.publish(state, len(games()))
    solve(api)


def solve(api: Running, position: int = 10) -> None:
    ratings = [(name, max(0.0, (10 - i) / 55)) for i, name in enumerate(NAMES)]
    board = solved_of(position=position, ratings=ratings)
    extra = {"support": NAMES[:10], "agent_dist": dict.fromkeys(NAMES[:10], 0.1)}
    assert api.store.solved.publish(msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, extra=extra)))


@pytest.fixture
def pool(api: Running, tmp_path: Path) -> Running:
    publish(api, tmp_path)
    return api


@pytest.fixture
def described(pool: Running) -> Running:
    """Every agent but the last has a country and a tag; agent 1 has a display name."""
    changes = [{"agent": name, "country": COUNTRIES[i % 3], "tags": {"half": str(i // 30)}} for i, name in enumerate(NAMES[:-1])]
    changes[1] |= {"display_name": "Ann Lee", "organisation": "Lee & Co"}
    assert sent(pool.client, changes).json() == {"pool": "blitz", "agents": COUNT - 1, "changed": COUNT - 1}
    return pool


def sent(client: httpx.Client, changes: Any, **headers: str) -> httpx.Response:
    return client.patch(AGENTS, json=changes, headers=headers)


def change(client: httpx.Client, agent: str, /, **fields: object) -> dict[str, Any]:
    answer = client.patch(f"{AGENTS}/{quote(agent, safe='')}", json=fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def board(api: Running, path: str = ELO, **parameters: object) -> dict[str, Any]:
    answer = api.client.get(path, params=parameters)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def names_of(found: dict[str, Any]) -> list[str]:
    return [row["agent"] for row in found["rows"]]


def pages(api: Running, path: str, **parameters: object) -> list[dict[str, Any]]:
    found = [board(api, path, **parameters)]
    while (cursor := found[-1]["next"]) is not None:
        found.append(board(api, path, **parameters, cursor=cursor))
        assert len(found) <= COUNT + 1
    return found


def test_a_change_shows_on_the_profile_and_on_all_boards_and_moves_no_rank(pool: Running) -> None:
    before = board(pool)
    answer = change(
        pool.client, NAMES[0], display_name="Ann Lee", country="DE", licence="MIT", tags={"team": "red"}, url="https://example.org/ann"
    )
    details = {"display_name": "Ann Lee", "country": "DE", "licence": "MIT", "tags": {"team": "red"}, "url": "https://example.org/ann"}
    assert answer == {"pool": "blitz", "agent": NAMES[0], "changed": True, "details": details}
    assert change(pool.client, NAMES[0], country="DE")["changed"] is False
    assert pool.client.get(f"{AGENTS}/{NAMES[0]}").json()["details"] == details
    shown = {"display_name": "Ann Lee", "country": "DE", "licence": "MIT", "tags": {"team": "red"}}
    after = board(pool)
    assert [{key: value for key, value in row.items() if key not in shown} for row in after["rows"]] == before["rows"]
    (row,) = [row for row in after["rows"] if row["agent"] == NAMES[0]]
    assert {key: row[key] for key in shown} == shown
    assert board(pool, LOTTERY)["rows"][0] | shown == board(pool, LOTTERY)["rows"][0]
    summary = pool.client.get("/v1/pools/blitz/boards?count=60").json()["boards"]
    assert {part["method"] for part in summary if any("display_name" in row for row in part["rows"])} >= {"elo", "sco", "maximal_lottery"}
    assert change(pool.client, NAMES[0], display_name=None, licence=None, tags=None, url=None)["details"] == {"country": "DE"}
    assert "display_name" not in str(board(pool)["rows"])


def test_a_name_with_slashes_has_details_and_need_not_have_played(pool: Running) -> None:
    assert change(pool.client, "team/new one", country="DE")["changed"] is True
    assert pool.client.get(f"{AGENTS}/team%2Fnew%20one").status_code == 404, "it has no outcomes"


def test_boards_have_games_results_and_times_as_profiles_do(pool: Running) -> None:
    for path in (ELO, "/v1/pools/blitz/boards/sco", LOTTERY):
        found = board(pool, path, count=1000)
        assert found["games_position"] == len(games())
        for row in (found["rows"][0], found["rows"][-1]):
            profile = pool.client.get(f"{AGENTS}/{row['agent']}").json()
            record = profile["games"]
            assert row["last_played"] == profile["last_played"]
            assert {name: row[name] for name in ("games", "wins", "draws", "losses")} == {
                name: record[name] for name in ("games", "wins", "draws", "losses")
            }
    around = board(pool, f"{ELO}/around/{NAMES[5]}")
    assert all(row["games"] == row["wins"] + row["draws"] + row["losses"] > 0 for row in around["rows"])
    assert board(pool, ELO, agents=NAMES[3])["rows"][0]["games"] > 0


def test_boards_without_a_checkpoint_or_of_scores_have_no_games(api: Running) -> None:
    head = head_of(position=3, online=["elo"], agents=1)
    assert api.store.live.publish(head, 1, {})
    assert "games_position" not in api.client.get("/v1/pools/blitz/boards?count=3").text


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("path", [ELO, LOTTERY])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_pages_of_a_filter_are_the_rows_of_the_board_that_match(
    described: Running, monkeypatch: pytest.MonkeyPatch, path: str, size: int, *, few: bool
) -> None:
    monkeypatch.setattr(filtered, "_RARE", 1 if few else 10 * COUNT)
    monkeypatch.setattr(filtered, "_ROWS_A_READ", 8)
    everything = board(described, path, count=1000, all=True)["rows"]
    for wanted in ({"country": "DE"}, {"country": "FR", "tag": "half:1"}, {"min_games": 30}, {"country": "AT", "min_games": 20}):
        expected = [row for row in everything if matches(row, wanted)]
        found = pages(described, path, **wanted, count=size, all=True)
        rows = [row for page in found for row in page["rows"]]
        assert [row.pop("filter_place") for row in rows] == list(range(1, len(expected) + 1))
        assert rows == expected
        assert all(page.get("changed") in (None, False) for page in found)
        assert {page["total"] for page in found} == {COUNT}
        if size == 60:
            assert len(found) == 1


def matches(row: dict[str, Any], wanted: dict[str, Any]) -> bool:
    tag = wanted.get("tag")
    return (
        ("country" not in wanted or row.get("country") == wanted["country"])
        and (tag is None or row.get("tags", {}).get(tag.partition(":")[0]) == tag.partition(":")[2])
        and row["games"] >= wanted.get("min_games", 0)
    )


@pytest.mark.parametrize("few", [True, False])
def test_a_filtered_lottery_has_its_support_alone_unless_all_are_asked_for(
    described: Running, monkeypatch: pytest.MonkeyPatch, *, few: bool
) -> None:
    monkeypatch.setattr(filtered, "_RARE", 1 if few else 10 * COUNT)
    assert names_of(board(described, LOTTERY, country="DE")) == NAMES[0:10:3]
    assert len(names_of(board(described, LOTTERY, country="DE", all=True))) == COUNT // 3
    assert [names_of(page) for page in pages(described, LOTTERY, country="DE", count=3)] == [NAMES[0:9:3], NAMES[9:10]]


@pytest.mark.parametrize("count", [{}, {"count": 1000}])
def test_a_filtered_file_of_a_lottery_leaves_nobody_out(described: Running, count: dict[str, int]) -> None:
    for wanted in ({}, {"country": "DE"}):
        text = described.client.get(LOTTERY, params={**wanted, **count, "format": "csv"}).text
        assert len(list(csv.DictReader(io.StringIO(text, newline="")))) == (COUNT // 3 if wanted else COUNT)


def test_a_filter_without_a_match_has_no_rows(described: Running) -> None:
    for wanted in ({"country": "IS"}, {"organisation": "nobody"}, {"tag": "half:9"}, {"min_games": 1000}):
        found = board(described, ELO, **wanted)
        assert (found["rows"], found["next"], found["total"]) == ([], None, COUNT)
    assert names_of(board(described, ELO, organisation="Lee & Co")) == [NAMES[1]]


def test_a_page_ends_after_the_rows_that_one_request_may_examine(described: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtered, "_RARE", 10 * COUNT)
    monkeypatch.setattr(filtered, "_ROWS_A_READ", 4)
    monkeypatch.setattr(filtered, "MOST_EXAMINED", 8)
    found = pages(described, ELO, organisation="Lee & Co")
    assert len(found) > 3
    assert [name for page in found for name in names_of(page)] == [NAMES[1]]


def test_a_cursor_says_whether_the_board_or_the_matches_changed(described: Running, tmp_path: Path) -> None:
    first = board(described, ELO, country="DE", count=2)
    assert board(described, ELO, country="DE", count=2, cursor=first["next"])["changed"] is False
    change(described.client, NAMES[-1], country="DE")
    assert board(described, ELO, country="DE", count=2, cursor=first["next"])["changed"] is True
    before = board(described, LOTTERY, country="DE", count=2)["next"]
    solve(described, position=11)
    answer = described.client.get(LOTTERY, params={"country": "DE", "cursor": before})
    assert (answer.status_code, answer.json()["title"]) == (410, "board replaced")


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"country": "DE", "start": 0}, "must not be sent with start"),
        ({"country": "DE", "position": 5}, "must not be sent with position or at"),
        ({"country": "DE", "agents": "agent-01"}, "must not be sent with start or agents"),
        ({"country": "de"}, "two capital letters"),
        ({"tag": "team"}, "must be key:value"),
        ({"tag": "Team:red"}, "keys of a-z"),
        ({"min_games": 0}, "min_games"),
        ({"country": "DE", "cursor": "x"}, "with the same filters"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(described: Running, parameters: dict[str, Any], rule: str) -> None:
    answer = described.client.get(ELO, params=parameters)
    assert (answer.status_code, rule in answer.json()["detail"]) == (422, True), answer.text


def test_a_cursor_of_one_filter_is_none_of_another_one(described: Running) -> None:
    cursor = board(described, ELO, country="DE", count=2)["next"]
    for wanted in ({"country": "FR"}, {}, {"country": "DE", "min_games": 1}):
        assert described.client.get(ELO, params={**wanted, "cursor": cursor}).status_code == 422
    plain = board(described, ELO, count=2)["next"]
    assert described.client.get(ELO, params={"country": "DE", "cursor": plain}).status_code == 422


def test_a_cursor_by_names_ends_when_too_many_agents_match(described: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtered, "_RARE", 1)
    cursor = board(described, ELO, country="DE", count=2)["next"]
    monkeypatch.setattr(filtered, "_MOST_NAMED", 5)
    assert described.client.get(ELO, params={"country": "DE", "cursor": cursor}).status_code == 410


def test_a_number_of_games_needs_a_checkpoint_and_a_pool_of_games(api: Running, tmp_path: Path) -> None:
    assert api.store.live.publish(head_of(position=3, online=["elo"], agents=1), 1, {"elo": LiveBoard(["ann"], [1.0])})
    answer = api.client.get(ELO, params={"min_games": 1})
    assert (answer.status_code, "games are counted in checkpoints" in answer.json()["detail"]) == (503, True)
    scores = state_of("marks", Kind.SCORES)
    served = ServedPool(api.store, tmp_path)
    assert fold_events(scores, [ScoreEvent(v=1, id="1", pool="marks", time=0.0, task="t", scores={"ann": 1.0})]) == []
    served.checkpoint(scores, 1)
    served.publish(scores, 1)
    assert api.store.solved.publish(solved_of("marks", method="copeland", ratings=[("ann", 1.0)]))
    found = board(api, "/v1/pools/marks/boards/copeland")
    assert ("games_position" in found, "games" in found["rows"][0]) == (False, False)
    answer = api.client.get("/v1/pools/marks/boards/copeland", params={"min_games": 1})
    assert (answer.status_code, "pool of games only" in answer.json()["detail"]) == (422, True)


def test_games_appear_with_the_first_checkpoint(api: Running, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz")
    assert fold_events(state, games()) == []
    served.publish(state, len(games()))
    first = api.client.get(ELO)
    assert "games_position" not in first.json()
    served.checkpoint(state, len(games()))
    found = until(lambda: (answer := board(api)).get("games_position") and answer, "the checkpoint is read")
    assert found["rows"][0]["games"] > 0
    assert api.client.get(ELO, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_games_on_a_solved_board_are_of_the_generation_that_serves(pool: Running, tmp_path: Path) -> None:
    found = until(lambda: (answer := board(pool, LOTTERY)).get("games_position") and answer, "the checkpoint is read")
    before = found["rows"][1]["games"]
    served, state = ServedPool(pool.store, tmp_path), state_of("blitz", number=2)
    assert fold_events(state, [game for game in games() if game.sides[0].agents != [NAMES[0]]]) == []
    served.checkpoint(state, len(games()) + 1)
    served.publish(state, len(games()) + 1)
    assert board(pool, LOTTERY).get("games_position") != len(games()), "the generation before is not shown from the cache"
    found = until(lambda: (answer := board(pool, LOTTERY)).get("games_position") and answer, "the checkpoint is read")
    assert (found["rows"][1]["agent"], found["rows"][1]["games"]) == (NAMES[1], before - 1)


def test_files_have_the_columns_and_the_filters_of_json(described: Running) -> None:
    rows = board(described, ELO, country="DE", count=1000)["rows"]
    text = described.client.get(ELO, params={"country": "DE", "format": "csv"}).text
    cells = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(cells[0]) == COLUMNS
    assert [(cell["agent"], cell["country"], cell["filter_place"], float(cell["games"])) for cell in cells] == [
        (row["agent"], "DE", str(row["filter_place"]), row["games"]) for row in rows
    ]
    assert json.loads(cells[0]["tags"]) == rows[0]["tags"]
    lines = described.client.get(ELO, params={"country": "DE", "format": "jsonl"}).text.splitlines()
    shown = [{name: cell for name, cell in row.items() if name not in ("earlier_rank", "earlier_rating")} for row in rows]
    assert [json.loads(line) for line in lines] == shown, "files have no column of an earlier time"
    stream = described.client.get(ELO, params={"country": "DE", "format": "arrow", "count": 5})
    table = pa.ipc.open_stream(stream.content).read_all()
    assert table.column_names == list(COLUMNS)
    assert dict(table["tags"][0].as_py()) == rows[0]["tags"]
    following = described.client.get(ELO, params={"country": "DE", "format": "csv", "cursor": stream.headers["equirank-next"]})
    assert [cell["agent"] for cell in csv.DictReader(io.StringIO(following.text, newline=""))] == [row["agent"] for row in rows[5:]]


def test_an_answer_is_kept_until_details_change(described: Running) -> None:
    for parameters in ({}, {"country": "DE"}, {"country": "DE", "format": "csv"}):
        first = described.client.get(ELO, params=parameters)
        kept_answer = described.client.get(ELO, params=parameters, headers={"If-None-Match": first.headers["etag"]})
        assert (first.status_code, kept_answer.status_code) == (200, 304)
        change(described.client, NAMES[0], organisation=f"by {parameters}")
        after = described.client.get(ELO, params=parameters, headers={"If-None-Match": first.headers["etag"]})
        assert after.status_code == 200


def test_a_change_by_another_process_is_read_within_moments(described: Running) -> None:
    other = ControlLog(described.log.control, details=True)
    other.write_details("blitz", {NAMES[2]: DetailsChange(country="JP")}, 1.0, most_agents=100)
    until(lambda: names_of(board(described, ELO, country="JP")) == [NAMES[2]], "the change is read")


def test_hidden_agents_are_left_out_and_ranks_count_them(described: Running) -> None:
    before = board(described, ELO, count=1000)
    hidden = before["rows"][0]["agent"]
    change(described.client, hidden, hidden=True)
    after = board(described, ELO, count=1000)
    assert after["rows"] == before["rows"][1:]
    assert (after["total"], after["rows"][0]["rank"]) == (COUNT, 2)
    assert hidden not in described.client.get("/v1/pools/blitz/boards?count=200").text
    assert hidden not in described.client.get(ELO, params={"format": "csv"}).text
    assert hidden not in described.client.get(ELO, params={"min_games": 1, "count": 1000}).text
    assert hidden not in described.client.get(LOTTERY, params={"all": True}).text
    assert hidden not in described.client.get(f"{ELO}/around/{before['rows'][1]['agent']}").text
    for path in (f"{ELO}/around/{hidden}", f"{AGENTS}/{hidden}", f"{AGENTS}/{hidden}/opponents", f"{ELO}?agents={hidden}"):
        assert described.client.get(path).status_code == 404, path
    assert described.client.get(AGENTS, params={"query": hidden}).json()["agents"] == []
    assert hidden not in described.client.get(AGENTS, params={"count": 200}).text
    assert hidden not in described.client.get(f"{AGENTS}/{before['rows'][1]['agent']}/opponents?count=200").text
    assert board(described, ELO, count=1000, hidden=True)["rows"][0]["agent"] == hidden
    assert hidden in names_of(board(described, ELO, count=1000, hidden=True, min_games=1))
    assert described.client.get(f"{AGENTS}/{hidden}", params={"hidden": True}).json()["details"]["hidden"] is True
    assert [row["agent"] for row in described.client.get(AGENTS, params={"query": hidden, "hidden": True}).json()["agents"]] == [hidden]
    change(described.client, hidden, hidden=None)
    assert board(described, ELO, count=1000)["rows"] == before["rows"]


def test_fields_of_extra_with_the_name_of_a_hidden_agent_are_left_out(described: Running) -> None:
    solved = solved_of(position=11, ratings=[(name, 1.0) for name in NAMES])
    extra = {
        "condorcet_winner": NAMES[0],
        "rounds": [{"agents": [NAMES[0], NAMES[1]], "best": NAMES[0]}],
        "dropped_tasks": [NAMES[0]],
        "task_dist": {NAMES[0]: 1.0},
        "mode": "auto",
    }
    assert described.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, extra=extra)))
    assert board(described, LOTTERY)["extra"] == extra
    change(described.client, NAMES[0], hidden=True)
    tasks = {name: extra[name] for name in ("dropped_tasks", "task_dist")}
    assert board(described, LOTTERY)["extra"] == {"rounds": [{"agents": [NAMES[1]]}], "mode": "auto", **tasks}
    assert board(described, LOTTERY, hidden=True)["extra"] == extra


def test_hidden_agents_of_a_past_board_are_left_out(described: Running) -> None:
    solves = [solved_of(position=position, ratings=[(name, 1.0) for name in NAMES]) for position in (10, 12)]
    assert described.store.solved.publish(solves[1])
    described.store.solved.publish_history("blitz", "maximal_lottery", map(kept, solves))
    change(described.client, NAMES[0], hidden=True)
    past = board(described, LOTTERY, position=10, count=1000)
    assert NAMES[0] not in names_of(past)
    assert ("games_position" in past, past["rows"][0]["country"]) == (False, "FR")
    assert board(described, LOTTERY, at="2100-01-01")["total"] == COUNT


class TestKeys:
    @pytest.fixture
    def keyed_pool(self, tmp_path: Path, api_redis: str) -> Iterator[Running]:
        flush(api_redis)
        with running(tmp_path, api_redis, write_keys=("w-key",), admin_keys=("a-key",)) as api:
            publish(api, tmp_path)
            yield api

    def test_changes_and_hidden_agents_need_an_admin_key(self, keyed_pool: Running) -> None:
        client = keyed_pool.client
        admin, writer = {"Authorization": "Bearer a-key"}, {"Authorization": "Bearer w-key"}
        for headers, status in (({}, 401), (writer, 403), (admin, 200)):
            assert client.patch(f"{AGENTS}/{NAMES[0]}", json={"hidden": True}, headers=headers).status_code == status
            assert client.patch(AGENTS, json=[{"agent": NAMES[1], "hidden": True}], headers=headers).status_code == status
        for path in (ELO, AGENTS, f"{AGENTS}/{NAMES[0]}", f"{AGENTS}/{NAMES[0]}/opponents"):
            for headers, status in ((admin, 200), ({}, 401), (writer, 403)):
                assert client.get(path, params={"hidden": True}, headers=headers).status_code == status, path
        assert NAMES[0] in names_of(client.get(ELO, params={"hidden": True}, headers=admin).json())
        assert NAMES[0] not in names_of(client.get(ELO, headers=admin).json())


class TestLoads:
    def test_csv_and_json_lines_change_what_a_json_array_changes(self, pool: Running) -> None:
        table = f"agent,country,tags.team\n{NAMES[0]},DE,red\n{NAMES[1]},,\n".encode()
        lines = f'{{"agent":"{NAMES[0]}","country":"FR"}}\n{{"agent":"{NAMES[1]}","hidden":true}}\n'.encode()
        for media, data, changed in (("text/csv; charset=utf-8", table, 1), ("application/x-ndjson", lines, 2)):
            answer = pool.client.patch(AGENTS, content=data, headers={"Content-Type": media})
            assert (answer.status_code, answer.json()) == (200, {"pool": "blitz", "agents": 2, "changed": changed})
        assert pool.client.get(f"{AGENTS}/{NAMES[0]}").json()["details"] == {"country": "FR", "tags": {"team": "red"}}
        assert pool.client.get(f"{AGENTS}/{NAMES[1]}").status_code == 404

    def test_nothing_is_changed_if_one_row_breaks_a_rule(self, pool: Running) -> None:
        end = pool.log.control.end(0)
        for media, data in (
            ("application/json", json.dumps([{"agent": NAMES[0], "country": "DE"}, {"agent": NAMES[1], "country": "Germany"}])),
            ("text/csv", f"agent,country\n{NAMES[0]},DE\n{NAMES[1]},Germany\n"),
            ("application/json", "{}"),
            ("application/x-ndjson", "[]"),
        ):
            answer = pool.client.patch(AGENTS, content=data, headers={"Content-Type": media})
            assert answer.status_code == 422, answer.text
        assert pool.log.control.end(0) == end

    def test_other_media_types_and_missing_pools_are_refused(self, pool: Running) -> None:
        assert pool.client.patch(AGENTS, content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
        assert pool.client.patch(AGENTS).status_code == 415
        assert pool.client.patch(AGENTS, headers={"Content-Type": "text/csv"}).status_code == 422
        assert pool.client.patch("/v1/pools/nobody/agents/ann", json={}).status_code == 404
        assert pool.client.patch(f"{AGENTS}/{NAMES[0]}", json={"contry": "DE"}).status_code == 422
        assert pool.client.patch(f"{AGENTS}/{NAMES[0]}", json={"hidden": "yes"}).status_code == 422

    def test_options_name_the_methods_of_both_paths(self, pool: Running) -> None:
        for path in (AGENTS, f"{AGENTS}/ann"):
            assert pool.client.options(path).headers["allow"] == "GET, OPTIONS, PATCH, HEAD"


class TestSearch:
    def test_display_names_are_found_after_names(self, described: Running) -> None:
        change(described.client, NAMES[7], display_name="The Agent-05 fan")
        change(described.client, NAMES[9], display_name="Agent-0 nine")
        found = described.client.get(AGENTS, params={"query": "ANN"}).json()
        assert [(row["agent"], row["display_name"]) for row in found["agents"]] == [(NAMES[1], "Ann Lee")]
        everybody = described.client.get(AGENTS, params={"query": "agent-05"}).json()["agents"]
        assert [row["agent"] for row in everybody] == [NAMES[5], NAMES[7]]

    def test_pages_list_each_agent_once(self, described: Running) -> None:
        changes = [{"agent": name, "display_name": f"x {name}" if i % 2 else "agent"} for i, name in enumerate(NAMES)]
        assert sent(described.client, changes).status_code == 200
        for query, count in (("x", 30), ("agent", COUNT), ("agent-0", 10), ("x agent-01", 1)):
            found: list[str] = []
            cursor: dict[str, str] = {}
            while True:
                answer = described.client.get(AGENTS, params={"query": query, "count": 7, **cursor}).json()
                found += [row["agent"] for row in answer["agents"]]
                if answer["next"] is None:
                    break
                cursor = {"cursor": answer["next"]}
            assert (len(found), len(set(found))) == (count, count), query

    def test_a_search_passes_many_hidden_agents_in_few_steps(self, described: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        steps, search = [0], agent_search.search

        def counted(*arguments: Any) -> Any:
            steps[0] += 1
            return search(*arguments)

        monkeypatch.setattr(agent_search, "search", counted)
        assert sent(described.client, [{"agent": name, "hidden": True} for name in NAMES[:58]]).status_code == 200
        found = described.client.get(AGENTS, params={"query": "agent", "count": 2}).json()
        assert (sorted(row["agent"] for row in found["agents"]), found["next"]) == (NAMES[58:], None)
        assert steps == [2]

    def test_a_page_without_hidden_agents_is_full(self, described: Running) -> None:
        assert sent(described.client, [{"agent": name, "hidden": True} for name in NAMES[:40]]).status_code == 200
        first = described.client.get(AGENTS, params={"query": "agent", "count": 15}).json()
        rest = described.client.get(AGENTS, params={"query": "agent", "count": 15, "cursor": first["next"]}).json()
        assert sorted(row["agent"] for part in (first, rest) for row in part["agents"]) == NAMES[40:]
        assert (len(first["agents"]), rest["next"]) == (15, None)


def test_an_erased_agent_has_no_details(described: Running) -> None:
    control = ControlLog(described.log.control)
    control.append(ErasureRequest(pool="blitz", name=erased_name(NAMES[1], ()), by="case 1", time=1.0))
    until(lambda: described.client.get(f"{AGENTS}/{NAMES[1]}").json()["details"] is None, "the erasure is read")
    assert "Ann Lee" not in described.client.get(ELO).text
    answer = described.client.patch(f"{AGENTS}/{NAMES[1]}", json={"country": "DE"})
    assert (answer.status_code, "erased" in answer.json()["detail"]) == (422, True)


def test_a_hidden_agent_whose_name_is_erased_stays_hidden_while_boards_have_its_name(described: Running) -> None:
    change(described.client, NAMES[1], hidden=True)
    ControlLog(described.log.control).append(ErasureRequest(pool="blitz", name=erased_name(NAMES[1], ()), by="case 1", time=1.0))
    answer = described.client.patch(f"{AGENTS}/{NAMES[1]}", json={"country": "DE"})
    assert (answer.status_code, "erased" in answer.json()["detail"]) == (422, True), "the erasure is read"
    assert NAMES[1] not in names_of(board(described, ELO, count=1000))
    assert described.client.get(f"{AGENTS}/{NAMES[1]}").status_code == 404
    assert described.client.get(AGENTS, params={"query": NAMES[1]}).json()["agents"] == []


def test_streams_send_details_and_no_hidden_agents(described: Running) -> None:
    change(described.client, NAMES[0], hidden=True)
    path = f"/v1/pools/blitz/stream?methods=elo&count=200&agents={NAMES[0]}&agents={NAMES[1]}"
    with described.client.stream("GET", path) as answer:
        lines = answer.iter_lines()
        first = json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))
        assert NAMES[0] not in names_of(first)
        assert {row["agent"]: row.get("display_name") for row in first["rows"]}[NAMES[1]] == "Ann Lee"
        changes = json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))["changes"]
        assert {one["agent"] for one in changes} == {NAMES[1]}
        change(described.client, NAMES[2], hidden=True)
        second = next(json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ") and '"rows"' in line)
        assert NAMES[2] not in names_of(second)


def test_details_in_the_log_at_the_start_are_known_to_the_first_answer(tmp_path: Path, api_redis: str) -> None:
    flush(api_redis)
    with running(tmp_path, api_redis) as api:
        publish(api, tmp_path)
        record = DetailsWritten(pool="blitz", time=1.0, agents={})
        change(api.client, NAMES[0], hidden=True)
        assert api.log.control.append(0, [encode(record)])
    with running(tmp_path, api_redis) as api:
        assert NAMES[0] not in names_of(api.client.get(ELO, params={"count": 1000}).json())
