"""Rating over time, outcomes, and streaks of agents: on checkpoints, files of history and a store."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
import pytest
from rich.console import Console

from ratings_core.online import Prequential
from ratings_core.records.shapes import Shape, why_no_forecast
from services.boards import outcome_history
from services.boards.agent_history import agent_history, agent_outcomes, last_played, thinned
from services.boards.agent_index import AgentIndex
from services.boards.agent_profile import profile
from services.boards.cursors import RULE
from services.boards.history import kept
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.checkpoints.segments import Rows, Segment
from services.cli import agent as agent_command
from services.control.records import FoldSettings
from services.wire.events import GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.api import NOW, Running, check_answer
from tests.support.boards import head_of, solved_of
from tests.support.folds import fold_events
from tests.support.histories import FOLD, NAMES, TwinRow, folded, games, twin_rows
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

URL = "/v1/pools/blitz/agents"


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 90)


@pytest.fixture
def pool(api: Running, tmp_path: Path) -> ServedPool:
    served = ServedPool(api.store, tmp_path)
    state = folded(served, games())
    served.checkpoint(state, 200, written_at=NOW - 5.0)
    served.publish(state, 201, published_at=NOW - 1.0)
    return served


def asked(api: Running, agent: str, path: str, **query: object) -> dict:
    answer = api.client.get(f"{URL}/{quote(agent, safe='')}{path}", params=query)
    assert answer.status_code == 200, answer.text
    kind = {"/history": "AgentHistory", "/outcomes": "AgentOutcomes", "": "AgentProfile"}[path]
    check_answer(answer.json(), kind)
    return dict(answer.json())


@cache
def twins() -> list[TwinRow]:
    """Rows of an independent fold, outcome by outcome."""
    return list(twin_rows(state_of("blitz", fold=FOLD), games()))


def rows_of(agent: str) -> list[TwinRow]:
    return [row for row in twins() if row.agent == agent]


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize("method", ["elo", "weng_lin"])
def test_a_history_has_the_rating_after_each_outcome(api: Running, pool: ServedPool, agent: str, method: str) -> None:
    answer = asked(api, agent, "/history", method=method, points=5000)
    assert answer["points"] == [{"time": row.time, "rating": row.after[method], "outcome": row.outcome} for row in rows_of(agent)]
    assert {name: answer[name] for name in ("position", "generation", "age_seconds", "source", "total", "missing")} == {
        "position": 200, "generation": 1, "age_seconds": 5.0, "source": "live", "total": len(rows_of(agent)), "missing": 0,
    }  # fmt: skip


def test_a_history_ends_with_the_rating_of_the_board(api: Running, pool: ServedPool) -> None:
    board = api.client.get("/v1/pools/blitz/boards/elo?count=100").json()["rows"]
    assert {row["agent"]: row["rating"] for row in board} == {
        agent: asked(api, agent, "/history")["points"][-1]["rating"] for agent in NAMES
    }


def test_a_history_of_a_time_has_its_points_alone(api: Running, pool: ServedPool) -> None:
    times = [row.time for row in rows_of("ann")]
    answer = asked(api, "ann", "/history", since="50", until="1970-01-01T00:02:00Z")
    assert [point["time"] for point in answer["points"]] == [time for time in times if 50 <= time < 120]
    assert answer["total"] == len(answer["points"])
    assert asked(api, "ann", "/history", since="2030-01-01")["points"] == []


def test_a_thinned_history_keeps_the_ends_and_the_extremes(api: Running, pool: ServedPool) -> None:
    full, few = (asked(api, "ann", "/history", points=points) for points in (5000, 8))
    assert few["total"] == full["total"] > len(few["points"]) <= 8
    ratings = [point["rating"] for point in full["points"]]
    shown = [point["rating"] for point in few["points"]]
    assert (shown[0], shown[-1], min(shown), max(shown)) == (ratings[0], ratings[-1], min(ratings), max(ratings))
    assert all(point in full["points"] for point in few["points"])


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize("count", [1, 3, 1000])
def test_pages_of_outcomes_are_all_outcomes_newest_first(api: Running, pool: ServedPool, agent: str, count: int) -> None:
    found, cursor = [], {}
    while cursor is not None:
        answer = asked(api, agent, "/outcomes", count=count, method="weng_lin", **cursor)
        assert len(answer["outcomes"]) <= count
        found += answer["outcomes"]
        cursor = None if answer["next"] is None else {"cursor": answer["next"]}
    expected = []
    for row in reversed(rows_of(agent)):
        (team, place), others = row.sides[row.side], [side for at, side in enumerate(row.sides) if at != row.side]
        before, after = row.before["weng_lin"], row.after["weng_lin"]
        expected.append({
            "outcome": row.outcome, "time": row.time, "weight": row.weight,
            "score": sum((at > place) + (at == place) / 2 for _, at in others) / len(others), "result": row.result, "place": place,
            "team": [name for name in team if name != agent], "opponents": [{"agents": list(names), "place": at} for names, at in others],
            "before": before, "after": after, "change": after - before,
        })  # fmt: skip
    forecasts = {"expected_score", "p_win", "p_tie", "gain"}
    assert [{name: value for name, value in one.items() if name not in forecasts} for one in found] == expected
    head = api.store.live.head("blitz")
    assert head is not None
    shapes = head.forecasts_by_shape["weng_lin"].shapes or {}
    pairs = {shape: one.figures["pairs"] for shape, one in shapes.items()}
    for one in found:
        shape = str(Shape.of([1 + len(one["team"]), *(len(side["agents"]) for side in one["opponents"])]))
        if why_no_forecast(shape, pairs):
            assert one["expected_score"] is None
        else:
            assert 0.0 < one["expected_score"] < 1.0
    assert answer["total"] == len(found)


@pytest.mark.parametrize("method", ["elo", "weng_lin"])
def test_a_tie_is_not_half_a_win_and_the_terms_give_the_change(api: Running, pool: ServedPool, method: str) -> None:
    def outcomes(agent: str) -> dict[int, dict[str, Any]]:
        return {one["outcome"]: one for one in asked(api, agent, "/outcomes", count=1000, method=method)["outcomes"]}

    every = outcomes("ann")
    found = {number: one for number, one in every.items() if one["expected_score"] is not None}
    without = [one for number, one in every.items() if number not in found]
    assert all((one["p_win"], one["p_tie"], one["gain"]) == (None, None, None) for one in without)
    for one in found.values():
        assert one["change"] == pytest.approx(one["gain"] * one["weight"] * (one["score"] - one["expected_score"]), rel=1e-9, abs=1e-12)
    two_sided = {number: one for number, one in found.items() if len(one["opponents"]) == 1}
    assert all(one["p_win"] is None and one["p_tie"] is None for number, one in found.items() if number not in two_sided)
    for number, one in two_sided.items():
        assert one["p_win"] + one["p_tie"] / 2 == pytest.approx(one["expected_score"])
        other = outcomes(one["opponents"][0]["agents"][0])[number]
        assert one["p_win"] + one["p_tie"] + other["p_win"] == pytest.approx(1, abs=1e-6)
        assert 0 <= one["p_tie"] < 1
        assert one["team"] or one["p_tie"], "duels of the pool have ties"


def test_gains_of_elo_are_near_k(api: Running, pool: ServedPool) -> None:
    gains = [one["gain"] for one in asked(api, "ann", "/outcomes", count=1000)["outcomes"] if len(one["opponents"]) == 1 and one["gain"]]
    assert np.median(gains) == pytest.approx(32, rel=0.2)


def test_expected_scores_are_the_forecasts_before_the_game(api: Running, pool: ServedPool) -> None:
    duels = [one for one in asked(api, "ann", "/outcomes", count=1000)["outcomes"] if len(one["opponents"]) == 1 and not one["team"]]
    assert len(duels) > 10
    for duel in duels[::5]:
        state = state_of("blitz", fold=FOLD)
        fold_events(state, games()[: duel["outcome"] - 1])
        a, b = state.content.agents.intern(["ann", *duel["opponents"][0]["agents"]]).tolist()
        ratings = state.content.ratings
        rater, online = ratings.raters["elo"], ratings.online["elo"]
        rater.grow(online, max(a, b) + 1)
        record = ratings.prequential["elo"].by_shape.get("1:1", Prequential())
        assert duel["expected_score"] == pytest.approx(record.forecast(rater.log_odds(online, a, b)), abs=1e-7)


def test_json_lines_have_the_outcomes_and_headers_the_rest(api: Running, pool: ServedPool) -> None:
    answer = asked(api, "ann", "/outcomes", count=3)
    by_accept = api.client.get(f"{URL}/ann/outcomes?count=3", headers={"Accept": "text/csv, application/x-ndjson, application/json;q=0.5"})
    by_format = api.client.get(f"{URL}/ann/outcomes?count=3&format=jsonl")
    assert [json.loads(line) for line in by_format.text.splitlines()] == answer["outcomes"]
    assert (by_accept.content, by_accept.headers["content-type"]) == (by_format.content, "application/x-ndjson")
    headers = ("equirank-next", "equirank-position", "equirank-generation", "equirank-total", "vary")
    assert [by_format.headers[name] for name in headers] == [answer["next"], "200", "1", str(answer["total"]), "Accept"]
    refused = api.client.get(f"{URL}/ann/outcomes", headers={"Accept": "text/csv"})
    assert (refused.status_code, "application/json, application/x-ndjson" in refused.json()["detail"]) == (406, True)


def test_a_profile_has_first_and_last_games_and_the_streak(api: Running, pool: ServedPool) -> None:
    for agent in NAMES:
        answer, rows = asked(api, agent, ""), rows_of(agent)
        length = next((at for at, row in enumerate(reversed(rows)) if row.result != rows[-1].result), len(rows))
        assert (answer["first_played"], answer["last_played"]) == (rows[0].time, rows[-1].time)
        assert answer["streak"] == {"result": rows[-1].result, "length": length}


def test_last_times_of_many_agents_are_those_of_profiles_if_they_are_in_the_newest_segments(
    api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retired = GameEvent(v=1, id="old", pool="blitz", time=5.0, sides=[Side(["retired"], 1), Side(["Ann"], 2)], weight=1.0)
    served = ServedPool(api.store, tmp_path)
    state = folded(served, [retired, *games()])
    served.checkpoint(state, 201, written_at=NOW)
    served.publish(state, 201, published_at=NOW)
    head = api.store.live.head("blitz")
    assert head is not None
    index = AgentIndex.load(served.files, head)
    names = [*NAMES, "retired", "nobody"]
    expected = {name: rows_of(name)[-1].time for name in NAMES}
    assert last_played(index, names) == {**expected, "retired": 5.0}
    assert index.history is not None
    assert len(list(index.history.segments())) > 2
    monkeypatch.setattr(outcome_history, "LAST_TIMES_SEGMENTS", 2)
    assert last_played(index, names) == expected
    assert last_played(index, []) == {}


def test_a_long_streak_is_counted_in_a_few_reads(api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 4000)
    served, sides = ServedPool(api.store, tmp_path), [[Side(["ann"], 2), Side(["bob"], 1)], [Side(["ann"], 1), Side(["bob"], 2)]]
    state = folded(served, [GameEvent(v=1, id=str(i), pool="blitz", time=1.0, sides=sides[i > 0], weight=1.0) for i in range(5000)])
    served.checkpoint(state, 5000, written_at=NOW)
    served.publish(state, 5000, published_at=NOW)
    reads, read = list[int](), Segment.rows

    def noted(self: Segment, begin: int, end: int) -> Rows:
        reads.append(end - begin)
        return read(self, begin, end)

    monkeypatch.setattr(Segment, "rows", noted)
    assert asked(api, "ann", "")["streak"] == {"result": "won", "length": 4999}
    assert asked(api, "bob", "")["streak"] == {"result": "lost", "length": 4999}
    assert len(reads) < 2 * 12, "for two profiles"


def test_expired_outcomes_are_left_out(api: Running, tmp_path: Path) -> None:
    served, fold = ServedPool(api.store, tmp_path), FoldSettings(online={"elo": {}}, history=20)
    state = folded(served, games(), fold)
    served.checkpoint(state, 200, written_at=NOW)
    entry = served.files.newest(0)
    assert entry is not None
    served.files.prune(0, 1, 1)
    served.publish(state, 200, published_at=NOW)
    answer = asked(api, "ann", "/outcomes", count=1000)
    rows = [row for row in twin_rows(state_of("blitz", fold=fold), games()) if row.agent == "ann"]
    numbers = [one["outcome"] for one in answer["outcomes"]]
    assert numbers == [row.outcome for row in reversed(rows)][: len(numbers)]
    assert len(numbers) < len(rows) == answer["total"]
    assert {row.outcome for row in rows if row.outcome > 180} <= set(numbers)
    assert (answer["missing"], asked(api, "ann", "")["first_played"], asked(api, "ann", "")["last_played"]) == (0, None, rows[-1].time)


def test_a_damaged_file_is_left_out_and_reported(api: Running, pool: ServedPool, tmp_path: Path) -> None:
    oldest = min((tmp_path / "state" / "history" / "p00000").iterdir())
    data = bytearray(oldest.read_bytes())
    data[-1] ^= 1
    oldest.write_bytes(bytes(data))
    end = int(oldest.name.split("-")[3])
    answers = [asked(api, agent, "/outcomes", count=1000) for agent in (*NAMES, *NAMES)]
    assert {answer["missing"] for answer in answers[len(NAMES) :]} == {end}
    assert all(one["outcome"] > end for answer in answers[len(NAMES) :] for one in answer["outcomes"])


def test_a_missing_file_is_reported(api: Running, pool: ServedPool, tmp_path: Path) -> None:
    first, second, *_ = sorted((tmp_path / "state" / "history" / "p00000").iterdir())
    second.unlink()
    begin, end = (int(part) for part in second.name.split("-")[2:4])
    answer = asked(api, "ann", "/history", points=5000)
    assert answer["missing"] == end - begin
    expected = [row.outcome for row in rows_of("ann") if not begin < row.outcome <= end]
    assert [point["outcome"] for point in answer["points"]] == expected
    assert first.exists()


def test_an_agent_newer_than_the_checkpoint_has_no_outcomes_yet(api: Running, pool: ServedPool) -> None:
    state = state_of("blitz", fold=FOLD)
    fold_events(state, [*games(), GameEvent(v=1, id="new", pool="blitz", time=300.0, sides=[Side(["ann"], 1), Side(["Newcomer"], 2)])])
    pool.publish(state, 202, published_at=NOW)
    for path, rows in (("/history", "points"), ("/outcomes", "outcomes")):
        answer = asked(api, "Newcomer", path)
        assert (answer[rows], answer["total"], answer["position"]) == ([], 0, 200)
    assert asked(api, "Newcomer", "")["streak"] is None


def test_the_history_by_a_solved_method_has_a_point_for_each_kept_solve(api: Running, pool: ServedPool) -> None:
    solves = [
        msgspec.structs.replace(
            solved_of(position=at, ratings=[("ann", value), ("bob", 1.0 - value)]), sequence=at, solved_at=1000.0 + at, generation=made
        )
        for at, value, made in ((100, 0.75, 1), (150, 0.25, 2), (200, 0.5, 2))
    ]
    assert api.store.solved.publish(solves[-1])
    api.store.solved.publish_history("blitz", "maximal_lottery", map(kept, solves))
    answer = asked(api, "ann", "/history", method="maximal_lottery")
    assert [(point["time"], point["rating"], point["generation"], point["position"]) for point in answer["points"]] == [
        (1100.0, 0.75, 1, 100), (1150.0, 0.25, 2, 150), (1200.0, 0.5, 2, 200),
    ]  # fmt: skip
    assert (answer["source"], answer["position"], answer["total"]) == ("solved", 200, 3)
    assert asked(api, "ann", "/history", method="maximal_lottery", since="1150")["total"] == 2
    assert asked(api, "x/opponents", "/history", method="maximal_lottery")["points"] == []


def test_the_history_by_a_solved_method_has_the_solves_of_the_season_alone(api: Running, pool: ServedPool) -> None:
    solves = [
        msgspec.structs.replace(solved_of(position=at, ratings=[("ann", 0.5)]), sequence=at, solved_at=1000.0 + at, generation=made)
        for at, made in ((100, 1), (150, 2), (200, 3))
    ]
    assert api.store.solved.publish(solves[-1])
    api.store.solved.publish_history("blitz", "maximal_lottery", map(kept, solves))
    board = LiveBoard(["ann"], [1.0])
    for season, expected in (({}, [100, 150, 200]), ({"season": "autumn", "season_generation": 2}, [150, 200])):
        head = head_of("blitz", position=201, published_at=NOW, online=["elo"], generation=3, **season)
        assert api.store.live.publish(head, 1, {"elo": board, ACTIVITY: board})
        answer = asked(api, "ann", "/history", method="maximal_lottery")
        assert [point["position"] for point in answer["points"]] == expected
        assert answer["total"] == len(expected)


@pytest.mark.parametrize("path", ["/history", "/outcomes"])
def test_who_is_in_no_outcome_is_not_found(api: Running, pool: ServedPool, path: str) -> None:
    assert api.store.solved.publish(solved_of(position=150, ratings=[("ann", 0.75), ("bob", 0.25)]))
    urls = [f"{URL}/nobody{path}", *([f"{URL}/nobody{path}?method=maximal_lottery"] if path == "/history" else [])]
    for url in urls:
        answer = api.client.get(url)
        assert (answer.status_code, answer.json()["title"]) == (404, "no such agent")


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("/ann/history?method=nonesuch", "must be a method with a board of pool blitz: elo, weng_lin"),
        ("/ann/history?since=5&until=5", "must be in order: `since` before `until`"),
        ("/ann/history?since=x", "must be a time such as"),
        ("/ann/history?points=3", "points is '3'"),
        ("/ann/history?points=5001", "points is '5001'"),
        ("/ann/outcomes?method=maximal_lottery", "must be an online method of the pool: elo, weng_lin"),
        ("/ann/outcomes?cursor=x", RULE),
        ("/ann/outcomes?count=1001", "count is '1001'"),
        ("/ann/outcomes?format=csv", "format is 'csv'"),
    ],
)
def test_parameters_that_break_a_rule_are_refused(api: Running, pool: ServedPool, url: str, rule: str) -> None:
    answer = api.client.get(URL + url)
    assert (answer.status_code, rule in answer.json()["detail"]) == (422, True), answer.text


def test_a_cursor_is_of_one_agent_and_one_generation(api: Running, pool: ServedPool) -> None:
    cursor = asked(api, "ann", "/outcomes", count=1)["next"]
    refused = api.client.get(f"{URL}/agent-1/outcomes", params={"cursor": cursor})
    assert (refused.status_code, RULE in refused.json()["detail"]) == (422, True)
    state = state_of("blitz", fold=FOLD, number=2)
    fold_events(state, games())
    pool.checkpoint(state, 200, written_at=NOW)
    pool.publish(state, 201, published_at=NOW)
    refused = api.client.get(f"{URL}/ann/outcomes", params={"cursor": cursor})
    assert (refused.status_code, RULE in refused.json()["detail"]) == (422, True)


def test_a_pool_that_keeps_no_history_says_so(api: Running, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz", fold=FoldSettings(history=0))
    fold_events(state, games())
    served.checkpoint(state, 200, written_at=NOW)
    served.publish(state, 200, published_at=NOW)
    for path in ("history", "outcomes"):
        answer = api.client.get(f"{URL}/ann/{path}")
        assert (answer.status_code, "must keep its history" in answer.json()["detail"]) == (422, True)
    assert asked(api, "ann", "")["last_played"] is None


def test_a_pool_of_scores_has_no_history(api: Running, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("blitz", kind=Kind.SCORES)
    fold_events(state, [ScoreEvent(v=1, id="1", pool="blitz", time=1.0, task="essay", scores={"ann": 1.0})])
    served.checkpoint(state, 1, written_at=NOW)
    served.publish(state, 1, published_at=NOW)
    refused = api.client.get(f"{URL}/ann/outcomes")
    assert (refused.status_code, "must be a pool of games" in refused.json()["detail"]) == (422, True)


def test_before_the_first_checkpoint_the_answer_is_to_wait(api: Running, tmp_path: Path) -> None:
    state = state_of("blitz", fold=FOLD)
    fold_events(state, games())
    ServedPool(api.store, tmp_path).publish(state, 200, published_at=NOW)
    for path in ("history", "outcomes"):
        answer = api.client.get(f"{URL}/ann/{path}")
        assert (answer.status_code, answer.json()["title"], "retry-after" in answer.headers) == (503, "no checkpoint yet", True)


def test_open_files_are_used_again_after_the_next_checkpoint(api: Running, pool: ServedPool) -> None:
    head = api.store.live.head("blitz")
    assert head is not None
    before = AgentIndex.load(pool.files, head)
    assert before.history is not None
    assert len(before.history.series(0, before.outcomes(0), "elo").time) == before.outcomes(0)
    state = folded(pool, games(230))
    pool.checkpoint(state, 230, written_at=NOW)
    after = AgentIndex.load(pool.files, head, before)
    assert after is not before
    assert after.history is not None
    opened = before.history.opened
    assert opened
    assert all(after.history.opened[name] is segment for name, segment in opened.items())
    assert after.nbytes > 0


def test_commands_print_the_same(api: Running, pool: ServedPool) -> None:
    head = api.store.live.head("blitz")
    assert head is not None
    index = AgentIndex.load(pool.files, head)
    outcomes = agent_outcomes(api.store, head, index, "ann", now=NOW, count=5)
    history = agent_history(api.store, head, index, "ann", now=NOW)
    shown = profile(api.store, head, index, "ann", now=NOW)
    assert outcomes is not None and history is not None and shown is not None  # noqa: PT018 - types
    console = Console(width=200, record=True, file=io.StringIO())
    for answer in (outcomes, history):
        console.print(agent_command._table(answer))
    text = console.export_text()
    assert all(f"{row.before:.6g}" in text and f"{row.change:+.4g}" in text for row in outcomes.outcomes)
    assert "1970-01-01 00:0" in text
    assert list(agent_command.lines_of(outcomes)) == [f"blitz · ann · {outcomes.total} outcomes · position 200"]
    assert list(agent_command.lines_of(history)) == [f"blitz · ann · {history.total} points by elo · position 200"]
    lines = list(agent_command.lines_of(shown))
    assert "first played 1970-01-01, last played 1970-01-01" in lines
    assert any(line.startswith("streak: ") for line in lines)


@pytest.mark.parametrize("most", [4, 5, 40, 500])
def test_thinning_keeps_first_last_lowest_and_highest_of_each_part(most: int) -> None:
    draw = np.random.default_rng(2)
    time, value = np.sort(draw.random(1000)) * 1e6, draw.normal(size=1000).cumsum()
    time[5] = time[300]  # a late one
    chosen = thinned(time, value, most)
    assert len(chosen) <= most
    assert (np.diff(chosen) > 0).all()
    parts = np.minimum((time - time.min()) / ((time.max() - time.min()) / (most // 4)), most // 4 - 1).astype(int)
    for part in np.unique(parts):
        within = np.flatnonzero(parts == part)
        assert {within[0], within[-1], within[value[within].argmin()], within[value[within].argmax()]} <= set(chosen.tolist())


def test_thinning_of_one_moment_keeps_four() -> None:
    value = np.array([3.0, 9.0, 1.0, 5.0, 4.0])
    assert thinned(np.full(5, 7.0), value, 4).tolist() == [0, 1, 2, 4]
    assert thinned(np.full(5, 7.0), value, 5).tolist() == [0, 1, 2, 3, 4]
