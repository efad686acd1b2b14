"""Provisional agents: few outcomes or opponents mark a row, and a board is shown without these rows, or as these rows alone."""

from typing import Any

import msgspec
import pytest

from services.boards import filtered, reading
from services.boards.history import kept
from services.boards.result import AgentRow
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from services.runtime.settings import PROVISIONAL
from tests.support.api import NOW, Running
from tests.support.boards import head_of, solved_of

ELO, COPELAND = "/v1/pools/blitz/boards/elo", "/v1/pools/blitz/boards/copeland"
NAMES = ["ann", "bob", "cem", "dee"]


@pytest.fixture
def played(api: Running) -> Running:
    """Ann, the best one, has played four times and met one opponent. All others have played often; cem and dee are level."""
    live = {"elo": LiveBoard(NAMES, [4.0, 3.0, 2.0, 2.0]), ACTIVITY: LiveBoard(NAMES, [4.0, 40.0, 40.0, 40.0])}
    assert api.store.live.publish(head_of(position=12, online=["elo"], agents=4, published_at=NOW), 1, live)
    evidence = {"ann": (4, 1), "bob": (40, 3), "cem": (40, 3), "dee": (40, 3)}
    rows = [
        AgentRow(
            agent=name,
            rating=rating,
            rank=rank,
            rank_before=1,
            rank_low=rank,
            rank_high=rank + 1,
            outcomes=evidence[name][0],
            opponents=evidence[name][1],
        )
        for name, rating, rank in zip(NAMES, (4.0, 3.0, 2.0, 2.0), (1, 2, 3, 3), strict=True)
    ]
    board = solved_of(method="copeland", position=12)
    assert api.store.solved.publish(msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows)))
    return api


@pytest.mark.parametrize("url", [ELO, COPELAND])
def test_agents_with_few_outcomes_are_provisional_and_can_be_left_out(played: Running, url: str) -> None:
    whole = played.client.get(url).json()
    assert [row.get("provisional", False) for row in whole["rows"]] == [True, False, False, False]
    others = played.client.get(url, params={"provisional": "exclude"}).json()
    shown = [(row["agent"], row["rank"], row["filter_place"]) for row in others["rows"]]
    assert shown == [("bob", 2, 1), ("cem", 3, 2), ("dee", 3, 3)], "ranks of the complete board, and places without ann"
    assert (others["total"], others["next"]) == (4, None)
    only = played.client.get(url, params={"provisional": "only"}).json()
    assert [(row["agent"], row["filter_place"]) for row in only["rows"]] == [("ann", 1)]
    assert played.client.get(url, params={"provisional": "include"}).json() == whole


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("url", [ELO, COPELAND])
def test_a_cursor_continues_without_provisional_agents(played: Running, url: str, size: int) -> None:
    wanted = {"provisional": "exclude", "count": size}
    page = played.client.get(url, params=wanted).json()
    shown = [(row["agent"], row["filter_place"]) for row in page["rows"]]
    while (cursor := page["next"]) is not None:
        page = played.client.get(url, params={**wanted, "cursor": cursor}).json()
        assert page["changed"] is False
        shown += [(row["agent"], row["filter_place"]) for row in page["rows"]]
    assert shown == [("bob", 1), ("cem", 2), ("dee", 3)]


def test_no_agent_is_twice_on_a_page_that_was_read_while_the_board_changed(played: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    read, counts = reading.rows_and_version, list[int]()

    def changed_after(store: RedisStore, pool: str, method: str, start: int, count: int, **more: Any) -> tuple[reading.Board, str] | None:
        part = read(store, pool, method, start, count, **more)
        counts.append(count)
        if counts == [1, 3]:  # bob falls behind the others
            live = {"elo": LiveBoard(NAMES, [4.0, 1.0, 2.0, 2.0]), ACTIVITY: LiveBoard(NAMES, [4.0, 40.0, 40.0, 40.0])}
            assert store.live.publish(head_of(position=13, online=["elo"], agents=4, published_at=NOW), 1, live)
        return part

    monkeypatch.setattr(reading, "rows_and_version", changed_after)
    page = played.client.get(ELO, params={"provisional": "exclude", "count": 3}).json()
    assert [(row["agent"], row["filter_place"]) for row in page["rows"]] == [("bob", 1), ("cem", 2)]
    assert len(counts) > len([1, 3]), "the page took another read"


def test_a_cursor_of_one_choice_is_none_of_another_one(played: Running) -> None:
    cursor = played.client.get(ELO, params={"provisional": "exclude", "count": 1}).json()["next"]
    for other in ({}, {"provisional": "only"}, {"provisional": "exclude", "min_games": 1}):
        assert played.client.get(ELO, params={**other, "cursor": cursor}).status_code == 422


def test_a_board_of_more_rows_than_one_answer_is_paged(api: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"agent-{i:03}" for i in range(300)]
    played_often = [5.0 if i % 3 else 20.0 for i in range(300)]
    live = {"elo": LiveBoard(names, [300.0 - i for i in range(300)]), ACTIVITY: LiveBoard(names, played_often)}
    assert api.store.live.publish(head_of(position=12, online=["elo"], agents=300, published_at=NOW), 1, live)
    monkeypatch.setattr(reading, "MOST_ROWS", 100)
    monkeypatch.setattr(filtered, "_ROWS_A_READ", 7)
    monkeypatch.setattr(filtered, "MOST_EXAMINED", 20)
    for shown, expected in (("exclude", names[::3]), ("only", [name for i, name in enumerate(names) if i % 3])):
        page, found = api.client.get(ELO, params={"provisional": shown, "count": 30}).json(), []
        while page["next"] is not None:
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
def test_provisional_agents_that_match_other_filters_are_paged(played: Running, monkeypatch: pytest.MonkeyPatch, *, few: bool) -> None:
    monkeypatch.setattr(filtered, "_RARE", 1 if few else 100)
    monkeypatch.setattr(filtered, "_ROWS_A_READ", 1)
    assert played.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    changes = [{"agent": name, "country": "DE"} for name in ("ann", "cem", "dee")]
    assert played.client.patch("/v1/pools/blitz/agents", json=changes).status_code == 200
    for url in (ELO, COPELAND):
        wanted = {"country": "DE", "provisional": "exclude", "count": 1}
        first = played.client.get(url, params=wanted).json()
        second = played.client.get(url, params={**wanted, "cursor": first["next"]}).json()
        shown = [(row["agent"], row["filter_place"]) for row in (*first["rows"], *second["rows"])]
        assert (shown, second["next"]) == ([("cem", 1), ("dee", 2)], None)


def test_past_solves_have_no_marks_and_refuse_the_choice(played: Running) -> None:
    board = solved_of(method="copeland", position=12, ratings=[(name, 4.0 - i) for i, name in enumerate(NAMES)])
    played.store.solved.publish_history("blitz", "copeland", [kept(board)])
    rows = played.client.get(COPELAND, params={"position": 12}).json()["rows"]
    assert [(row["agent"], row.get("provisional", False)) for row in rows] == [(name, False) for name in NAMES]
    answer = played.client.get(COPELAND, params={"position": 12, "provisional": "exclude"})
    assert (answer.status_code, "past solves" in answer.text) == (422, True)


def test_filters_of_details_go_with_the_choice(played: Running) -> None:
    assert played.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    changes = [{"agent": name, "country": "DE"} for name in ("ann", "cem", "dee")]
    assert played.client.patch("/v1/pools/blitz/agents", json=changes).status_code == 200
    wanted = {"country": "DE", "provisional": "exclude"}
    rows = played.client.get(COPELAND, params=wanted).json()["rows"]
    assert [(row["agent"], row["rank"], row["filter_place"]) for row in rows] == [("cem", 3, 1), ("dee", 3, 2)], "ranks of the whole board"
    only = played.client.get(COPELAND, params={**wanted, "provisional": "only"}).json()
    assert [(row["agent"], row["filter_place"]) for row in only["rows"]] == [("ann", 1)]


def test_rows_of_solved_boards_say_what_they_rest_on(played: Running) -> None:
    rows = played.client.get(COPELAND).json()["rows"]
    assert [(row["outcomes"], row["opponents"]) for row in rows] == [(4, 1), (40, 3), (40, 3), (40, 3)]
    lines = played.client.get(COPELAND, params={"format": "csv", "provisional": "exclude"}).text.splitlines()
    assert "provisional,outcomes,opponents" in lines[0]
    assert [line.split(",")[1] for line in lines[1:]] == ["bob", "cem", "dee"]


@pytest.mark.parametrize("also", [{"agents": "ann"}, {"cursor": "x"}, {"start": 0}])
def test_parameters_that_do_not_go_with_the_choice_are_refused(played: Running, also: dict[str, str]) -> None:
    assert played.client.get(ELO, params={"provisional": "exclude", **also}).status_code == 422


@pytest.mark.parametrize(
    ("outcomes", "opponents", "total", "lacks"),
    [(9, 5, 10, True), (10, 1, 10, True), (10, 2, 10, False), (10, 1, 2, False), (None, None, 10, False), (10, None, 10, False)],
)
def test_who_lacks_evidence(outcomes: int | None, opponents: int | None, total: int, lacks: bool) -> None:
    assert PROVISIONAL.lacks_evidence(outcomes, opponents, total) is lacks
