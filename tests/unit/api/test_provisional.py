"""Provisional agents have no rank and follow the settled ones: in every format, around an agent, and page by page."""

import csv
import io
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet

from services.boards import filtered, reading
from services.boards.evidence import TOO_LITTLE_EVIDENCE, reason, settled_first
from services.boards.history import kept
from services.boards.result import AgentRow, SolvedBoard
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from services.runtime.settings import PROVISIONAL
from tests.support.api import NOW, Running
from tests.support.boards import head_of, solved_of

ELO, COPELAND = "/v1/pools/blitz/boards/elo", "/v1/pools/blitz/boards/copeland"
NAMES, RATINGS = ["ann", "bob", "cem", "dee", "eve"], [4.0, 3.0, 2.0, 2.0, 5.0]
PLAYED = [4, 40, 40, 40, 3]
ROWS = [("bob", 1), ("cem", 2), ("dee", 2), ("eve", None), ("ann", None)]
"""Agents and ranks in the order of both boards: eve and ann, the best ones, have played a few games against one opponent."""


def solved_board(**more: object) -> SolvedBoard:
    evidence = {name: (outcomes, 3 if outcomes >= 10 else 1) for name, outcomes in zip(NAMES, PLAYED, strict=True)}
    board = solved_of(method="copeland", position=12, ratings=list(zip(NAMES, RATINGS, strict=True)))
    rows = [
        msgspec.structs.replace(
            row,
            rank_before=1,
            rank_low=row.rank,
            rank_high=min(5, (row.rank or 0) + 1),
            outcomes=evidence[row.agent][0],
            opponents=evidence[row.agent][1],
            provisional=PROVISIONAL.lacks_evidence(*evidence[row.agent], 5),
        )
        for row in board.result.agents
    ]
    return msgspec.structs.replace(board, result=settled_first(msgspec.structs.replace(board.result, agents=rows, **more), "why"))


@pytest.fixture
def played(api: Running) -> Running:
    live = {
        "elo": LiveBoard(NAMES, RATINGS, provisional=[outcomes < 10 for outcomes in PLAYED]),
        ACTIVITY: LiveBoard(NAMES, [float(outcomes) for outcomes in PLAYED]),
    }
    head = head_of(position=12, online=["elo"], agents=5, published_at=NOW, provisional_outcomes=10)
    assert api.store.live.publish(head, 1, live)
    assert api.store.solved.publish(solved_board())
    return api


def ranks(answer: Any) -> list[tuple[str, int | None]]:
    return [(row["agent"], row["rank"]) for row in answer.json()["rows"]]


@pytest.mark.parametrize("url", [ELO, COPELAND])
def test_ranks_count_settled_agents_and_provisional_ones_follow_without_a_rank(played: Running, url: str) -> None:
    answer = played.client.get(url)
    assert ranks(answer) == ROWS
    board = answer.json()
    assert [row.get("provisional", False) for row in board["rows"]] == [False, False, False, True, True]
    assert (board["total"], board["ranked"]) == (5, 3)
    assert "reason" not in board
    assert [row["outcomes"] for row in board["rows"]] == [40, 40, 40, 3, 4], "what the ranks rest on"


@pytest.mark.parametrize("url", [ELO, COPELAND])
def test_every_format_has_the_same_rows(played: Running, url: str) -> None:
    def answer(form: str) -> bytes:
        return played.client.get(url, params={"format": form}).content

    lines = [msgspec.json.decode(line) for line in answer("jsonl").splitlines()]
    assert [(line["agent"], line["rank"]) for line in lines] == ROWS
    cells = list(csv.DictReader(io.StringIO(answer("csv").decode())))
    assert [(cell["agent"], int(cell["rank"]) if cell["rank"] else None) for cell in cells] == ROWS
    assert [cell["provisional"] for cell in cells] == ["false"] * 3 + ["true"] * 2
    for table in (pa.ipc.open_stream(answer("arrow")).read_all(), parquet.read_table(io.BytesIO(answer("parquet")))):
        assert list(zip(table["agent"].to_pylist(), table["rank"].to_pylist(), strict=True)) == ROWS
        assert table.schema.metadata[b"ranked"] == b"3"
    assert played.client.get(url, params={"format": "csv"}).headers["equirank-ranked"] == "3"


@pytest.mark.parametrize("url", [ELO, COPELAND])
def test_rows_around_an_agent_and_rows_of_agents_agree_with_the_board(played: Running, url: str) -> None:
    assert ranks(played.client.get(f"{url}/around/dee", params={"count": 3})) == ROWS[1:4]
    assert ranks(played.client.get(f"{url}/around/ann", params={"count": 3})) == ROWS[2:]
    assert ranks(played.client.get(url, params={"agents": ["ann", "dee"]})) == [ROWS[4], ROWS[2]]
    for start in range(6):
        assert ranks(played.client.get(url, params={"start": start, "count": 2})) == ROWS[start : start + 2]


def test_rows_around_an_agent_have_a_tag(played: Running) -> None:
    answer = played.client.get(f"{ELO}/around/dee", params={"count": 3})
    again = played.client.get(f"{ELO}/around/dee", params={"count": 3}, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = played.client.get(f"{ELO}/around/ann", params={"count": 3}, headers={"If-None-Match": answer.headers["etag"]})
    assert other.status_code == 200


def test_other_answers_say_the_same_of_an_agent(played: Running) -> None:
    methods = played.client.get("/v1/pools/blitz/agents/ann").json()["methods"]
    assert {method: (row["rank"], row["ranked"], row["provisional"]) for method, row in methods.items()} == {
        "elo": (None, 3, True),
        "copeland": (None, 3, True),
    }
    listed = played.client.get("/v1/pools/blitz/agents").json()["agents"]
    assert {row["agent"]: (row["rank"], row["provisional"]) for row in listed} == {name: (rank, rank is None) for name, rank in ROWS}
    boards = played.client.get("/v1/pools/blitz/boards", params={"count": 9}).json()["boards"]
    assert {board["method"]: [(row["agent"], row["rank"]) for row in board["rows"]] for board in boards} == {"elo": ROWS, "copeland": ROWS}


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("url", [ELO, COPELAND])
@pytest.mark.parametrize(("shown", "expected"), [("exclude", ROWS[:3]), ("only", ROWS[3:]), ("include", ROWS)])
def test_a_choice_is_read_page_by_page(played: Running, url: str, size: int, shown: str, expected: list[tuple[str, int | None]]) -> None:
    wanted = {"provisional": shown, "count": size}
    page = played.client.get(url, params=wanted).json()
    found = list(page["rows"])
    while (cursor := page["next"]) is not None:
        page = played.client.get(url, params={**wanted, "cursor": cursor}).json()
        assert page.get("changed", False) is False
        found += page["rows"]
    assert [(row["agent"], row["rank"]) for row in found] == expected
    if shown != "include":
        assert [row["filter_place"] for row in found] == [*range(1, len(expected) + 1)]
        lines = played.client.get(url, params={"provisional": shown, "format": "csv"}).text.splitlines()
        assert [line.split(",")[1] for line in lines[1:]] == [name for name, _ in expected]


def test_no_agent_is_twice_on_a_page_that_was_read_while_the_board_changed(played: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    read, counts = reading.rows_and_version, list[int]()

    def changed_after(store: RedisStore, pool: str, method: str, start: int, count: int, **more: Any) -> tuple[reading.Board, str] | None:
        part = read(store, pool, method, start, count, **more)
        counts.append(count)
        if counts == [1, 2]:  # bob falls behind the others, and eve has played enough
            live = {"elo": LiveBoard(NAMES, [4.0, 1.0, 2.0, 2.0, 5.0], provisional=[True, False, False, False, False])}
            assert store.live.publish(head_of(position=13, online=["elo"], agents=5, published_at=NOW), 1, live)
        return part

    monkeypatch.setattr(reading, "rows_and_version", changed_after)
    monkeypatch.setattr(filtered, "_ROWS_A_READ", 2)
    page = played.client.get(ELO, params={"provisional": "exclude", "count": 4}).json()
    names = [row["agent"] for row in page["rows"]]
    assert len(set(names)) == len(names)
    assert {"cem", "dee"} <= set(names)
    assert len(counts) > len([1, 2]), "the page took another read"


def test_a_cursor_of_one_choice_is_none_of_another_one(played: Running) -> None:
    cursor = played.client.get(ELO, params={"provisional": "exclude", "count": 1}).json()["next"]
    for other in ({}, {"provisional": "only"}, {"provisional": "exclude", "min_games": 1}):
        assert played.client.get(ELO, params={**other, "cursor": cursor}).status_code == 422


def test_neither_choice_examines_the_rows_of_the_other(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settled agents come first, so each choice is one range of rows, however large the other is."""
    names = [f"agent-{i:03}" for i in range(300)]
    marks = [i % 3 > 0 for i in range(300)]
    live = {
        "elo": LiveBoard(names, [300.0 - i for i in range(300)], provisional=marks),
        ACTIVITY: LiveBoard(names, [5.0 if mark else 20.0 for mark in marks]),
    }
    assert api.store.live.publish(head_of(position=12, online=["elo"], agents=300, published_at=NOW), 1, live)
    monkeypatch.setattr(reading, "MOST_ROWS", 100)
    monkeypatch.setattr(filtered, "MOST_EXAMINED", 30)
    for shown, expected in (("exclude", names[::3]), ("only", [name for i, name in enumerate(names) if i % 3])):
        page, found = api.client.get(ELO, params={"provisional": shown, "count": 30}).json(), []
        while page["next"] is not None:
            assert len(page["rows"]) == 30
            found += page["rows"]
            page = api.client.get(ELO, params={"provisional": shown, "count": 30, "cursor": page["next"]}).json()
        found += page["rows"]
        assert [(row["agent"], row["filter_place"]) for row in found] == [(name, place) for place, name in enumerate(expected, 1)]
    answer = api.client.get(ELO, params={"provisional": "exclude", "format": "csv"})
    assert (answer.status_code, "one answer at most 100" in answer.json()["detail"]) == (422, True)
    lines = api.client.get(ELO, params={"provisional": "exclude", "format": "csv", "count": 5})
    assert (len(lines.text.splitlines()), "equirank-next" in lines.headers) == (6, True)


def test_hidden_agents_leave_no_gap(played: Running) -> None:
    assert played.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    assert played.client.patch("/v1/pools/blitz/agents", json=[{"agent": "bob", "hidden": True}]).status_code == 200
    rows = played.client.get(ELO, params={"provisional": "exclude"}).json()["rows"]
    assert [(row["agent"], row["filter_place"]) for row in rows] == [("cem", 1), ("dee", 2)]


@pytest.mark.parametrize("few", [True, False])
def test_a_choice_goes_with_other_filters(played: Running, monkeypatch: pytest.MonkeyPatch, *, few: bool) -> None:
    monkeypatch.setattr(filtered, "_RARE", 1 if few else 100)
    monkeypatch.setattr(filtered, "_ROWS_A_READ", 1)
    assert played.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    changes = [{"agent": name, "country": "DE"} for name in ("ann", "cem", "dee", "eve")]
    assert played.client.patch("/v1/pools/blitz/agents", json=changes).status_code == 200
    for url in (ELO, COPELAND):
        every = played.client.get(url, params={"country": "DE"})
        assert ranks(every) == ROWS[1:], "in the order of the board, with its ranks"
        wanted = {"country": "DE", "provisional": "exclude", "count": 1}
        first = played.client.get(url, params=wanted).json()
        second = played.client.get(url, params={**wanted, "cursor": first["next"]}).json()
        shown = [(row["agent"], row["rank"], row["filter_place"]) for row in (*first["rows"], *second["rows"])]
        assert (shown, second["next"]) == ([("cem", 2, 1), ("dee", 2, 2)], None)
        only = played.client.get(url, params={"country": "DE", "provisional": "only"}).json()
        assert [(row["agent"], row["filter_place"]) for row in only["rows"]] == [("eve", 1), ("ann", 2)]


def test_past_solves_have_the_ranks_of_then(played: Running) -> None:
    played.store.solved.publish_history("blitz", "copeland", [kept(solved_board())])
    answer = played.client.get(COPELAND, params={"position": 12})
    assert ranks(answer) == ROWS
    assert (answer.json()["ranked"], [row.get("provisional", False) for row in answer.json()["rows"]]) == (3, [False] * 3 + [True] * 2)
    assert ranks(played.client.get(COPELAND, params={"position": 12, "provisional": "exclude"})) == ROWS[:3]
    assert ranks(played.client.get(COPELAND, params={"position": 12, "provisional": "only"})) == ROWS[3:]


def test_results_of_earlier_releases_have_ranks_of_all_agents(played: Running) -> None:
    board = solved_of(method="copeland", position=13, ratings=list(zip(NAMES, RATINGS, strict=True)))
    assert played.store.solved.publish(board)
    answer = played.client.get(COPELAND)
    assert ranks(answer) == [("eve", 1), ("ann", 2), ("bob", 3), ("cem", 4), ("dee", 4)]
    assert answer.json()["ranked"] == 5


def test_a_board_without_a_settled_agent_says_so_in_place_of_a_proof(api: Running) -> None:
    """A season's first four games: the winner had the lottery to itself, and the board said `optimal`."""
    live = {"elo": LiveBoard(["anna", "bob"], [1530.0, 1470.0], provisional=[True, True]), ACTIVITY: LiveBoard(["anna", "bob"], [4.0, 4.0])}
    head = head_of(position=4, online=["elo"], agents=2, published_at=NOW, provisional_outcomes=10)
    assert api.store.live.publish(head, 1, live)
    lottery = solved_of(position=4, ratings=[("anna", 1.0), ("bob", 0.0)])
    rows = [msgspec.structs.replace(row, outcomes=4, opponents=1, provisional=True) for row in lottery.result.agents]
    result = settled_first(msgspec.structs.replace(lottery.result, agents=rows), reason(10, 1))
    assert api.store.solved.publish(msgspec.structs.replace(lottery, result=result))
    for method in ("elo", "maximal_lottery"):
        board = api.client.get(f"/v1/pools/blitz/boards/{method}").json()
        assert (board["status"], board["reason"]) == (TOO_LITTLE_EVIDENCE, reason(10)), method
        assert (board["ranked"], board["error"]) == (0, None)
        assert {row["rank"] for row in board["rows"]} == {None}
        assert api.client.get(f"/v1/pools/blitz/boards/{method}", params={"provisional": "exclude"}).json()["rows"] == []


def test_the_support_of_a_lottery_is_shown_to_its_last_agent(api: Running) -> None:
    assert api.store.live.publish(head_of(position=4, online=[], published_at=NOW), 1, {})
    ratings = [("new", 0.6), ("old", 0.4), *((f"out-{i}", 0.0) for i in range(3))]
    lottery = solved_of(position=4, ratings=ratings)
    for provisional, shown, outside in (((), ["new", "old"], 3), (("new",), ["old", "out-0", "out-1", "out-2", "new"], 0)):
        rows = [msgspec.structs.replace(row, provisional=row.agent in provisional) for row in lottery.result.agents]
        result = settled_first(msgspec.structs.replace(lottery.result, agents=rows))
        assert api.store.solved.publish(msgspec.structs.replace(lottery, result=result, sequence=len(provisional)))
        board = api.client.get("/v1/pools/blitz/boards/maximal_lottery").json()
        assert ([row["agent"] for row in board["rows"]], board["outside"]) == (shown, outside)


def test_numbers_of_outcomes_are_no_board(played: Running) -> None:
    answer = played.client.get("/v1/pools/blitz/boards/outcomes")
    assert (answer.status_code, "has no board outcomes" in answer.json()["detail"]) == (404, True)
    assert played.client.get("/v1/pools/blitz/boards/outcomes/around/ann").status_code == 404
    assert played.client.get("/v1/pools/blitz/boards/outcomes", params={"agents": "ann"}).status_code == 404
    assert played.client.get("/v1/pools/blitz/boards/outcomes", params={"format": "csv"}).status_code == 404
    assert played.client.get("/v1/pools/blitz/boards", params={"count": 5}).json()["methods"] == {"live": ["elo"], "solved": ["copeland"]}
    assert played.client.get("/v1/pools/blitz/agents/ann").json()["outcomes"] == 4


@pytest.mark.parametrize("also", [{"agents": "ann"}, {"cursor": "x"}, {"start": 0}])
def test_parameters_that_do_not_go_with_the_choice_are_refused(played: Running, also: dict[str, str]) -> None:
    assert played.client.get(ELO, params={"provisional": "exclude", **also}).status_code == 422


@pytest.mark.parametrize(
    ("outcomes", "opponents", "total", "complete", "lacks"),
    [
        (9, 5, 10, False, True), (10, 1, 10, False, True), (10, 2, 10, False, False), (10, 1, 2, False, False),
        (None, None, 10, False, False), (10, None, 10, False, False), (4, None, 10, False, True), (4, None, 10, True, False),
    ],
)  # fmt: skip
def test_who_lacks_evidence(outcomes: int | None, opponents: int | None, total: int, *, complete: bool, lacks: bool) -> None:
    assert PROVISIONAL.lacks_evidence(outcomes, opponents, total, complete=complete) is lacks


def test_rows_are_those_of_the_schema(played: Running) -> None:
    rows = [msgspec.convert(row, AgentRow) for row in played.client.get(ELO).json()["rows"]]
    assert [row.rank for row in rows] == [rank for _, rank in ROWS]
