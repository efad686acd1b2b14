"""Agents: search, profile and opponents, on a checkpoint and a store."""

import io
import random
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from rich.console import Console
from rich.table import Table

from services.api.agent_indexes import AgentIndexes
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.agent_opponents import opponent_list
from services.boards.agent_profile import profile
from services.boards.agent_search import agent_list
from services.boards.cursors import RULE
from services.boards.store.protocol import PoolHead
from services.cli import agent as agent_command
from services.cli import agents as agents_command
from services.wire.events import GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.api import NOW, Running, check_answer
from tests.support.boards import solved_of
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.redis import flush
from tests.support.served_pools import ServedPool
from tests.support.team_games import records
from tests.support.waiting import until

URL = "/v1/pools/blitz/agents"
NAMES = ("Ann", "ann", "Anna", "Joanna", "bob", "x/opponents", "a/b c?#%", "Straße", "漢字", "agent-1", "agent-2", "agent-10")


def game(i: int, sides: list[tuple[list[str], int]], weight: float = 1.0) -> GameEvent:
    shown = [Side(agents=agents, place=place) for agents, place in sides]
    return GameEvent(v=1, id=str(i), pool="blitz", time=float(i), sides=shown, weight=weight)


def games(count: int = 200, names: tuple[str, ...] = NAMES) -> list[GameEvent]:
    """Games of two to four sides, some of them teams, with ties and weights."""
    draw, made = random.Random(3), []
    for i in range(count):
        agents = draw.sample(names, min(draw.choice((2, 2, 3, 4)), len(names)))
        sides = [([agent], draw.randrange(3)) for agent in agents]
        if len(agents) == 4 and i % 2:
            sides = [(agents[:2], 0), (agents[2:3], 1), (agents[3:], 1)]
        made.append(game(i, sides, draw.choice((1.0, 1.0, 0.5, 2.0))))
    return made


@pytest.fixture
def pool(api: Running, tmp_path: Path) -> ServedPool:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz")
    assert fold_events(state, games()) == []
    served.checkpoint(state, 200, written_at=NOW - 5.0)
    served.publish(state, 201, published_at=NOW - 1.0)
    return served


def asked(api: Running, path: str = "", **query: object) -> dict:
    answer = api.client.get(URL + path, params=query)
    assert answer.status_code == 200, answer.text
    check_answer(answer.json(), "OpponentList" if path.endswith("/opponents") else "AgentProfile" if path else "AgentList")
    return dict(answer.json())


def names_of(answer: dict) -> list[str]:
    return [row["agent"] for row in answer["agents"]]


def pages(api: Running, path: str, rows: str, **query: object) -> list[dict]:
    """The rows of all pages."""
    found, cursor = [], {}
    while True:
        answer = asked(api, path, **query, **cursor)
        found += answer[rows]
        if answer["next"] is None:
            return found
        cursor = {"cursor": answer["next"]}


def outcomes() -> Counter[str]:
    return Counter(agent for one in games() for side in one.sides for agent in side.agents)


def expected(query: str) -> list[str]:
    """The names that a query finds: equal ones, prefixes, others, each by outcomes and then by first appearance."""
    first = list(dict.fromkeys(agent for one in games() for side in one.sides for agent in side.agents))
    text, counts = query.casefold(), outcomes()
    found = [name for name in NAMES if text in name.casefold()]
    tier = {name: 0 if name.casefold() == text else 1 if name.casefold().startswith(text) else 2 for name in found}
    return sorted(found, key=lambda name: (tier[name] if query else 0, -counts[name], first.index(name)))


@pytest.mark.parametrize("query", ["", "ann", "A", "an", "strasse", "字", "/", "-1", "agent-1", "?#%", "nobody at all"])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_pages_of_a_search_are_the_names_that_a_loop_finds(api: Running, pool: ServedPool, query: str, count: int) -> None:
    assert [row["agent"] for row in pages(api, "", "agents", query=query, count=count)] == expected(query)


def test_rows_have_the_rating_and_rank_of_one_method(api: Running, pool: ServedPool) -> None:
    assert api.store.solved.publish(solved_of(position=150, ratings=[("ann", 0.75), ("bob", 0.25)]))
    answer = asked(api, query="ann", count=2)
    assert {name: answer[name] for name in ("position", "names_position", "method", "total")} == {
        "position": 201, "names_position": 200, "method": "elo", "total": len(NAMES),
    }  # fmt: skip
    board = {row["agent"]: row for row in api.client.get("/v1/pools/blitz/boards/elo?count=100").json()["rows"]}
    for row in answer["agents"]:
        assert (row["rating"], row["rank"]) == (board[row["agent"]]["rating"], board[row["agent"]]["rank"])
        assert row["outcomes"] == outcomes()[row["agent"]]
    solved = asked(api, query="ann", method="maximal_lottery")["agents"]
    assert [(row["agent"], row["rating"], row["rank"]) for row in solved if row["rank"] is not None] == [("ann", 0.75, 1)]
    assert asked(api, query="far from every name", method="maximal_lottery")["agents"] == []
    refused = api.client.get(URL, params={"method": "outcomes"})
    assert (refused.status_code, "must be a method with a board of pool blitz: elo" in refused.json()["detail"]) == (422, True)


def test_a_misspelt_name_gives_the_nearest_ones(api: Running, pool: ServedPool) -> None:
    assert asked(api, query="Joana")["suggestions"] == ["Joanna"]
    begin, others = (
        [name for name in expected("agent") if name != "agent-1" and name.startswith("agent-1") == begins] for begins in (True, False)
    )
    assert asked(api, query="agnet-1")["suggestions"] == ["agent-1", *begin, *others]
    assert asked(api, query="Jaonn")["suggestions"] == ["Joanna", "Ann", "ann"]
    assert asked(api, query="ann")["suggestions"] == []
    far = asked(api, query="far from every name")
    assert (far["agents"], far["suggestions"], far["next"]) == ([], [], None)


@pytest.mark.parametrize("cursor", ["", "x", "é", "gA", "x" * 401])
@pytest.mark.parametrize("path", ["", "/ann/opponents"])
def test_a_cursor_that_is_none_is_refused(api: Running, pool: ServedPool, path: str, cursor: str) -> None:
    answer = api.client.get(URL + path, params={"cursor": cursor})
    assert answer.status_code == 422
    assert RULE in answer.json()["detail"] or len(cursor) > 400


def test_a_cursor_of_another_request_is_refused(api: Running, pool: ServedPool) -> None:
    agents, opponents = asked(api, count=1)["next"], asked(api, "/ann/opponents", count=1)["next"]
    for path, query in (("", {"query": "a", "cursor": agents}), ("", {"cursor": opponents}), ("/bob/opponents", {"cursor": opponents}),
                        ("/ann/opponents", {"cursor": agents})):  # fmt: skip
        refused = api.client.get(URL + path, params=query)
        assert (refused.status_code, RULE in refused.json()["detail"]) == (422, True)


def against(agent: str) -> dict[str, dict[str, float]]:
    """Games, wins, draws and losses of an agent against each opponent, where both were sides of one, counted game by game."""
    found: dict[str, dict[str, float]] = {}
    for one in games():
        own = next((side for side in one.sides if side.agents == [agent]), None)
        for side in one.sides if own is not None else ():
            if side is not own and len(side.agents) == 1:
                record = found.setdefault(side.agents[0], dict.fromkeys(("games", "wins", "draws", "losses"), 0.0))
                record["games"] += one.weight
                record["wins" if own.place < side.place else "losses" if own.place > side.place else "draws"] += one.weight
    return found


@pytest.mark.parametrize("agent", NAMES)
def test_a_profile_has_ratings_and_the_record_of_the_games(api: Running, pool: ServedPool, agent: str) -> None:
    assert api.store.solved.publish(solved_of(position=150, ratings=[("ann", 0.75), ("bob", 0.25)]))
    profile = asked(api, f"/{quote(agent, safe='')}")
    assert (profile["agent"], profile["outcomes"], profile["position"], profile["age_seconds"]) == (agent, outcomes()[agent], 201, 1.0)
    assert profile["games"] == {"position": 200, "age_seconds": 5.0, **records(games())[agent]}
    assert (profile["scores"], profile["no_record"]) == (None, None)
    assert ("maximal_lottery" in profile["methods"]) is (agent in ("ann", "bob"))
    assert "outcomes" not in profile["methods"]
    elo = profile["methods"]["elo"]
    assert (elo["source"], elo["total"], elo["position"], elo["generation"]) == ("live", len(NAMES), 201, 1)


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize("count", [2, 50])
def test_pages_of_opponents_are_those_that_a_loop_over_the_games_finds(api: Running, pool: ServedPool, agent: str, count: int) -> None:
    found = pages(api, f"/{quote(agent, safe='')}/opponents", "opponents", count=count)
    assert {row["agent"]: {name: row[name] for name in ("games", "wins", "draws", "losses")} for row in found} == against(agent)
    assert [row["games"] for row in found] == sorted((row["games"] for row in found), reverse=True)
    assert len(found) == len({row["agent"] for row in found})


def test_the_record_against_one_opponent_is_its_row(api: Running, pool: ServedPool) -> None:
    rows = {row["agent"]: row for row in asked(api, "/ann/opponents", count=200)["opponents"]}
    for name in set(NAMES) - {"ann"}:
        answer = asked(api, "/ann/opponents", opponent=name)
        (row,) = answer["opponents"]
        never = {"games": 0.0, "wins": 0.0, "draws": 0.0, "losses": 0.0}
        assert row == rows.get(name, {"agent": name, **never, "expected_score": row["expected_score"]})
        assert row["expected_score"] is not None
        assert (answer["total"], answer["next"]) == (len(rows), None)
    cursor = asked(api, "/ann/opponents", count=1)["next"]
    for query, status, words in (
        ({"opponent": "nobody"}, 404, "has no agent 'nobody'"),
        ({"opponent": "ann"}, 422, "must be another agent"),
        ({"opponent": ""}, 422, "opponent"),
        ({"opponent": "bob", "cursor": cursor}, 422, "must not be sent with cursor"),
    ):
        refused = api.client.get(f"{URL}/ann/opponents", params=query)
        assert (refused.status_code, words in refused.json()["detail"]) == (status, True), refused.text


def test_the_expected_scores_are_the_forecasts_of_a_method(api: Running, pool: ServedPool) -> None:
    answer = asked(api, "/ann/opponents")
    others = [row["agent"] for row in answer["opponents"]]
    query = {"agents": ["ann", *others], "method": "elo"}
    forecasts = api.client.get("/v1/pools/blitz/matchups", params=query).json()["expected_scores"][0][1:]
    assert [row["expected_score"] for row in answer["opponents"]] == pytest.approx(forecasts)
    assert (answer["method"], answer["total"], answer["position"], answer["age_seconds"]) == ("elo", len(others), 200, 5.0)
    for method in ("none", ""):
        refused = api.client.get(f"{URL}/ann/opponents", params={"method": method})
        assert (refused.status_code, "must be an online method of pool blitz" in refused.json()["detail"]) == (422, True)


def test_an_agent_of_whom_nothing_is_known_is_404(api: Running, pool: ServedPool) -> None:
    for path in ("/nobody", "/nobody/opponents", "/ANN", "/%ff"):
        answer = api.client.get(URL + path)
        assert (answer.status_code, "names are case-sensitive" in answer.json()["detail"]) == (404, True)


def test_an_agent_that_is_newer_than_the_checkpoint_is_found_by_its_exact_name(api: Running, pool: ServedPool) -> None:
    state = state_of("blitz")
    fold_events(state, [*games(), game(1000, [(["Annabel"], 0), (["bob"], 1)])])
    pool.publish(state, 300, published_at=NOW)
    found = asked(api, query="Annabel", count=1)
    assert (names_of(found), found["names_position"], found["next"]) == (["Annabel"], 200, None)
    profile = asked(api, "/Annabel")
    assert (profile["outcomes"], profile["games"]) == (1, None)
    assert "position 200" in profile["no_record"]
    assert asked(api, "/Annabel/opponents")["opponents"] == []
    pool.checkpoint(state, 300, written_at=NOW)
    until(lambda: "Annabel" in names_of(asked(api, query="annab")), "an index of the newer checkpoint")
    assert asked(api, "/Annabel")["games"]["wins"] == 1.0
    assert [row["agent"] for row in asked(api, "/Annabel/opponents")["opponents"]] == ["bob"]


def test_a_new_agent_is_before_the_agents_of_the_checkpoint_that_begin_with_its_name(api: Running, pool: ServedPool) -> None:
    state = state_of("blitz")
    fold_events(state, [*games(), game(1000, [(["agent"], 0), (["bob"], 1)])])
    pool.publish(state, 300)
    assert [row["agent"] for row in pages(api, "", "agents", query="agent", count=1)] == ["agent", *expected("agent")]


def test_a_new_agent_is_listed_once_when_a_later_page_is_of_an_index_that_has_it(api: Running, pool: ServedPool) -> None:
    state = state_of("blitz")
    fold_events(state, [*games(), game(1000, [(["ANN"], 0), (["bob"], 1)])])
    pool.publish(state, 300, published_at=NOW)
    head = api.store.live.head("blitz")
    assert head is not None
    found = agent_list(api.store, head, AgentIndex.load(pool.files, head), query="ANN", count=1)
    names = [row.agent for row in found.agents]
    pool.checkpoint(state, 300, written_at=NOW)
    later = AgentIndex.load(pool.files, head)
    while found.next is not None:
        found = agent_list(api.store, head, later, query="ANN", count=1, cursor=found.next)
        names += [row.agent for row in found.agents]
    assert names == ["ANN", *expected("ann")]


def test_requests_without_an_index_add_nothing_to_the_error_that_they_share(api: Running, pool: ServedPool) -> None:
    head, missing = api.store.live.head("blitz"), NoIndex("no checkpoint", retriable=True)
    assert head is not None
    for _ in range(2):
        with pytest.raises(NoIndex, match="no checkpoint"):
            agent_list(api.store, head, missing, cursor="x")
    assert missing.__traceback__ is None


@pytest.mark.parametrize("path", ["?method=maximal_lottery", "/nobody", "/nobody/opponents"])
def test_a_generation_that_is_replaced_during_a_request_is_503(
    api: Running, pool: ServedPool, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, state = AgentIndexes.get, state_of("blitz", number=2)
    fold_events(state, games())
    assert api.store.solved.publish(solved_of(position=150, ratings=[("ann", 0.75), ("bob", 0.25)]))

    async def get_late(indexes: AgentIndexes, head: PoolHead, part: str = "") -> AgentIndex | NoIndex:
        index = await get(indexes, head, part)
        pool.publish(state, 300)
        return index

    monkeypatch.setattr(AgentIndexes, "get", get_late)
    answer = api.client.get(URL + path)
    assert (answer.status_code, answer.json()["title"], answer.headers["retry-after"]) == (503, "generation replaced", "1")


def test_names_of_an_earlier_generation_are_not_found(api: Running, pool: ServedPool) -> None:
    cursor = asked(api, count=1)["next"]
    state = state_of("blitz", number=2)
    fold_events(state, games(50, ("bob", "token")))
    pool.publish(state, 300)
    before = asked(api, query="ann")
    assert (before["generation"], names_of(before), before["names_position"], before["suggestions"]) == (2, [], None, [])
    assert api.client.get(f"{URL}/ann").status_code == 404
    pool.checkpoint(state, 300)
    until(lambda: asked(api)["names_position"] == 300, "an index of the new generation")
    assert set(names_of(asked(api))) == {"bob", "token"}
    assert asked(api, query="tokn")["suggestions"] == ["token"]
    assert api.client.get(URL, params={"cursor": cursor}).status_code == 422


def test_without_a_checkpoint_the_store_alone_answers(api: Running, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz")
    fold_events(state, games())
    served.publish(state, 200)
    listed = asked(api, count=3)
    assert (listed["names_position"], listed["next"], len(listed["agents"]), listed["total"]) == (None, None, 3, len(NAMES))
    assert [row["outcomes"] for row in listed["agents"]] == [count for _, count in outcomes().most_common(3)]
    assert (names_of(asked(api, query="Ann")), names_of(asked(api, query="an"))) == (["Ann"], [])
    assert "no checkpoint of generation 1" in asked(api, "/Ann")["no_record"]
    for path, query in (("/Ann/opponents", {}), ("", {"cursor": "x"})):
        answer = api.client.get(URL + path, params=query)
        assert (answer.status_code, answer.json()["title"], answer.headers["retry-after"]) == (503, "no checkpoint yet", "5")


def test_a_damaged_checkpoint_is_as_none(api: Running, pool: ServedPool, tmp_path: Path) -> None:
    name = tmp_path / "state" / "blitz-1-200"
    content = bytearray(name.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    name.write_bytes(content)
    assert "cannot be read now" in asked(api, "/ann")["no_record"]
    assert asked(api)["names_position"] is None


def test_a_store_that_loses_the_pool_is_503(api: Running, pool: ServedPool, api_redis: str) -> None:
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    asked(api, "/ann")
    flush(api_redis)
    for path in ("", "?query=a", "/ann", "/ann/opponents"):
        answer = api.client.get(URL + path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_a_pool_of_scores_has_tasks_and_no_opponents(api: Running, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz", Kind.SCORES)
    scores = [ScoreEvent(v=1, id=str(i), pool="blitz", time=0.0, task=f"t{i % 3}", scores={"ann": float(i), "bob": 1.0}) for i in range(5)]
    fold_events(state, [*scores, ScoreEvent(v=1, id="last", pool="blitz", time=0.0, task="t9", scores={"bob": 2.0})])
    served.checkpoint(state, 9, written_at=NOW)
    served.publish(state, 9)
    profile = asked(api, "/bob")
    told = profile["scores"]
    best = [{"task": "t9", "score": 2.0, "rank": 1, "agents": 1}, {"task": "t0", "score": 1.0, "rank": 2, "agents": 2}]
    assert told == {"position": 9, "age_seconds": 0.0, "tasks": 4, "measurements": 6.0, "best": [*best, *told["best"][2:]], "worst": []}
    assert [one["task"] for one in told["best"]] == ["t9", "t0", "t1", "t2"]
    assert [(one["score"], one["rank"]) for one in asked(api, "/ann")["scores"]["best"]] == [(1.5, 1), (2.5, 1), (2.0, 1)]
    assert (profile["outcomes"], profile["games"], profile["methods"]) == (6, None, {})
    assert asked(api, "/ann")["scores"]["tasks"] == 3
    listed = asked(api)
    assert (names_of(listed), listed["method"]) == (["bob", "ann"], None)
    refused = api.client.get(f"{URL}/ann/opponents")
    assert (refused.status_code, "must be a pool of games" in refused.json()["detail"]) == (422, True)


def test_the_commands_show_what_the_routes_answer(api: Running, pool: ServedPool) -> None:
    head = api.store.live.head("blitz")
    assert head is not None
    index = AgentIndex.load(pool.files, head)
    found = agent_list(api.store, head, index, query="agent", count=2)
    assert names_of(asked(api, query="agent", count=2)) == [row.agent for row in found.agents]
    assert [text for text in (exported(agents_command.table(found)), *agents_command.hints(found)) if found.agents[0].agent in text]
    assert agents_command.hints(found) == [f"more: --cursor {found.next}"]
    misspelt = agent_list(api.store, head, index, query="Joana")
    assert agents_command.hints(misspelt) == ["no agent was found; nearest names: Joanna"]
    ann = profile(api.store, head, index, "ann", now=NOW)
    assert ann is not None
    record = records(games())["ann"]
    lines = list(agent_command.profile_lines(ann))
    assert lines[0] == f"blitz · ann · {outcomes()['ann']} outcomes · position 201"
    assert lines[1].startswith(f"{record['games']:g} games: {record['wins']:g} won, ")
    assert f"of {len(NAMES)}" in exported(agent_command.profile_table(ann))
    opponents = opponent_list(api.store, head, index, "ann", now=NOW)
    assert opponents is not None
    assert "expected (elo)" in exported(agent_command.opponents_table(opponents))


def test_a_record_of_many_games_is_shown_in_full() -> None:
    assert list(map(agent_command._games, (0.0, 2.5, 1_234_567.0, 98_765_432.5))) == ["0", "2.5", "1234567", "98765432.5"]


def exported(table: Table) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text()
