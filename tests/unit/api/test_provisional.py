"""Provisional agents: few outcomes or opponents mark a row, and a board is shown without these rows, or as these rows alone."""

import msgspec
import pytest

from services.boards.result import AgentRow
from services.boards.store.protocol import ACTIVITY, LiveBoard
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
    assert [(row["agent"], row["rank"]) for row in others["rows"]] == [("bob", 1), ("cem", 2), ("dee", 2)]
    assert (others["total"], others["next"]) == (3, None)
    assert [row.keys() & {"rank_before", "rank_low", "rank_high"} for row in others["rows"]] == [set()] * 3, "they count ann, too"
    only = played.client.get(url, params={"provisional": "only"}).json()
    assert ([row["agent"] for row in only["rows"]], only["total"]) == (["ann"], 1)
    assert played.client.get(url, params={"provisional": "include"}).json() == whole
    page = played.client.get(url, params={"provisional": "exclude", "start": 1, "count": 1}).json()
    assert [(row["agent"], row["rank"]) for row in page["rows"]] == [("cem", 2)]


def test_filters_of_details_go_with_the_choice(played: Running) -> None:
    assert played.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    changes = [{"agent": name, "country": "DE"} for name in ("ann", "cem", "dee")]
    assert played.client.patch("/v1/pools/blitz/agents", json=changes).status_code == 200
    wanted = {"country": "DE", "provisional": "exclude"}
    rows = played.client.get(COPELAND, params=wanted).json()["rows"]
    assert [(row["agent"], row["rank"], row["filter_place"]) for row in rows] == [("cem", 3, 1), ("dee", 3, 2)], "ranks of the whole board"
    page = played.client.get(COPELAND, params={**wanted, "start": 1, "count": 1}).json()
    assert ([row["agent"] for row in page["rows"]], page["total"]) == (["dee"], 2)
    only = played.client.get(COPELAND, params={**wanted, "provisional": "only"}).json()
    assert [(row["agent"], row["filter_place"]) for row in only["rows"]] == [("ann", 1)]


def test_rows_of_solved_boards_say_what_they_rest_on(played: Running) -> None:
    rows = played.client.get(COPELAND).json()["rows"]
    assert [(row["outcomes"], row["opponents"]) for row in rows] == [(4, 1), (40, 3), (40, 3), (40, 3)]
    lines = played.client.get(COPELAND, params={"format": "csv", "provisional": "exclude"}).text.splitlines()
    assert "provisional,outcomes,opponents" in lines[0]
    assert [line.split(",")[1] for line in lines[1:]] == ["bob", "cem", "dee"]


@pytest.mark.parametrize("also", [{"agents": "ann"}, {"cursor": "x"}])
def test_the_choice_excludes_cursors_and_agents(played: Running, also: dict[str, str]) -> None:
    assert played.client.get(ELO, params={"provisional": "exclude", **also}).status_code == 422


@pytest.mark.parametrize(
    ("outcomes", "opponents", "total", "lacks"),
    [(9, 5, 10, True), (10, 1, 10, True), (10, 2, 10, False), (10, 1, 2, False), (None, None, 10, False), (10, None, 10, False)],
)
def test_who_lacks_evidence(outcomes: int | None, opponents: int | None, total: int, lacks: bool) -> None:
    assert PROVISIONAL.lacks_evidence(outcomes, opponents, total) is lacks
