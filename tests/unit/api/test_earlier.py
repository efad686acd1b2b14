"""Ranks and ratings of a day before, on boards in JSON."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
import pytest

from services.boards import outcome_history
from services.boards.agent_columns import AgentColumns
from services.boards.agent_index import AgentIndex
from services.boards.earlier import DAY, compared, day_before
from services.boards.history import kept
from services.boards.reading import Earlier
from services.boards.reading import board as board_of
from services.boards.result import SolvedBoard
from services.boards.store.protocol import ACTIVITY, LiveBoard, PoolHead
from services.checkpoints.blob_files import BlobFiles
from services.control.details_records import PoolDetails
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.worker.tasks import deliver
from tests.support.api import NOW, Running, check_answer
from tests.support.boards import head_of, solved_of
from tests.support.histories import FOLD, NAMES, folded, games, ratings_by_name, twin_rows
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

BOARDS = "/v1/pools/blitz/boards"


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 90)


def served(
    api: Running, folder: Path, *, begin: float = 0.0, times: Mapping[int, float] = MappingProxyType({})
) -> tuple[AgentIndex, PoolHead]:
    """A pool of 200 games, a second apart. begin: time of the first one. times: index of a game -> another time of it."""
    pool = ServedPool(api.store, folder)
    state = folded(pool, [msgspec.structs.replace(game, time=times.get(i, begin + game.time)) for i, game in enumerate(games())])
    pool.checkpoint(state, 200, written_at=NOW - 5.0)
    head = pool.publish(state, 200, published_at=NOW)
    return AgentIndex.load(pool.files, head), head


def solve(
    number: int,
    age: float,
    ratings: list[tuple[str, float | None]],
    generation: int = 1,
    parameters: dict[str, float | str | bool] | None = None,
) -> SolvedBoard:
    """A solve that ended `age` seconds before now."""
    made = solved_of(method="bradley_terry", generation=generation, position=number, ratings=ratings)
    return msgspec.structs.replace(made, sequence=number, solved_at=NOW - age, parameters=parameters or {})


def publish(api: Running, *solves: SolvedBoard) -> None:
    assert api.store.solved.publish(solves[-1])
    api.store.solved.publish_history("blitz", "bradley_terry", map(kept, solves))


@pytest.mark.parametrize("method", ["elo", "weng_lin"])
@pytest.mark.parametrize("since", [0.5, 7.0, 100.0, 199.0, 500.0])
def test_a_live_board_has_the_ratings_before_the_first_outcome_of_the_time(api: Running, tmp_path: Path, method: str, since: float) -> None:
    index, _ = served(api, tmp_path)
    board = board_of(api.store, "blitz", method, start=0, count=100, now=NOW)
    assert board is not None
    found = compared(board, api.store.solved, index, since)
    earlier = [row for row in twin_rows(state_of("blitz", fold=FOLD), games()) if row.time < since]
    expected = {row.agent: row.after[method] for row in earlier}
    new = {row.agent: row.before[method] for row in reversed(list(twin_rows(state_of("blitz", fold=FOLD), games())))}
    assert found.earlier == Earlier(time=since, day=True)
    assert {row.agent: row.earlier_rating for row in found.rows} == {**new, **expected}
    assert all(row.earlier_rank is None for row in found.rows)


def test_an_agent_is_not_compared_with_a_checkpoint_that_lacks_its_outcomes_up_to_the_time(api: Running, tmp_path: Path) -> None:
    """The checkpoint has 100 of 200 games. So it knows the state of second 50, and not that of second 150."""
    pool, state, late = ServedPool(api.store, tmp_path), state_of("blitz", fold=FOLD), games()[100:]
    late = [game for game in late if "ann" not in {agent for side in game.sides for agent in side.agents}]
    folded(pool, games()[:100], state=state)
    pool.checkpoint(state, 100, written_at=NOW - 5.0)
    at_100 = ratings_by_name(state, "elo")
    folded(pool, late, state=state)
    index = AgentIndex.load(pool.files, pool.publish(state, 200, published_at=NOW))
    board = board_of(api.store, "blitz", "elo", start=0, count=100, now=NOW)
    assert board is not None
    played = {agent for game in late for side in game.sides for agent in side.agents}
    assert played == set(NAMES) - {"ann"}
    found = {row.agent: row.earlier_rating for row in compared(board, api.store.solved, index, 150.0).rows}
    assert found == {**dict.fromkeys(played), "ann": at_100["ann"]}
    assert None not in {row.earlier_rating for row in compared(board, api.store.solved, index, 50.0).rows}
    pool.checkpoint(state, 200, written_at=NOW)
    index = AgentIndex.load(pool.files, pool.publish(state, 200, published_at=NOW))
    assert None not in {row.earlier_rating for row in compared(board, api.store.solved, index, 150.0).rows}


def test_a_row_is_not_compared_with_a_checkpoint_that_counts_more_of_its_outcomes(api: Running, tmp_path: Path) -> None:
    """The checkpoint has 200 games, all older than the time, and the board those of the first 100, or none: a season that just began."""
    pool, state = ServedPool(api.store, tmp_path), state_of("blitz", fold=FOLD)
    folded(pool, games()[:100], state=state)
    old = {name: int(count) for name, count in zip(state.content.agents.names(), state.content.ratings.activity, strict=True)}
    folded(pool, [game for game in games()[100:] if "ann" not in {agent for side in game.sides for agent in side.agents}], state=state)
    pool.checkpoint(state, 200, written_at=NOW - 5.0)
    index = AgentIndex.load(pool.files, pool.publish(state, 200, published_at=NOW))
    newest = board_of(api.store, "blitz", "elo", start=0, count=100, now=NOW)
    assert newest is not None
    for counts in (old, dict.fromkeys(old, 0)):
        rows = [msgspec.structs.replace(row, outcomes=counts[row.agent]) for row in newest.rows]
        board = msgspec.structs.replace(newest, rows=rows)
        behind = {name for name in NAMES if counts[name] < index.outcomes(int(index.ids([name])[0]))}
        assert behind == set(NAMES) - ({"ann"} if counts is old else set())
        found = compared(board, api.store.solved, index, 500.0)
        assert {row.agent for row in found.rows if row.earlier_rating is None} == behind
        shown = AgentColumns(PoolDetails(), index).board(board)
        assert {row.agent for row in shown.rows if row.games is None} == behind
    whole = AgentColumns(PoolDetails(), index).board(compared(newest, api.store.solved, index, 500.0))
    assert not [row for row in whole.rows if row.earlier_rating is None or row.games is None]


def test_the_oldest_outcome_in_reach_stands_in_for_an_older_time(api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, _ = served(api, tmp_path)
    assert index.history is not None
    whole = index.history.state_at(-1.0)
    assert whole == (0, 200, 0.0, False)
    monkeypatch.setattr(outcome_history, "LAST_TIMES_SEGMENTS", 2)
    state = index.history.state_at(-2.0)
    assert state is not None
    assert (state.is_reached, state.time, state.within) == (False, float(state.outcomes), 200 - state.outcomes)
    assert 0 < state.outcomes < 200
    assert index.history.state_at(199.0) == (199, 1, 199.0, True)


def test_nothing_is_compared_beyond_outcomes_that_cannot_be_read(api: Running, tmp_path: Path) -> None:
    index, _ = served(api, tmp_path)
    files = sorted((tmp_path / "state" / "history" / "p00000").iterdir())
    files[-2].unlink()
    end = int(files[-1].name.split("-")[2])
    assert index.history is not None
    state = index.history.state_at(1.0)
    assert state == (end, 200 - end, float(end), False)
    ids = index.ids(NAMES).tolist()
    after = {row.agent: row.after["elo"] for row in twin_rows(state_of("blitz", fold=FOLD), games()) if row.outcome <= end}
    found = index.history.ratings_before(ids, end, "elo")
    assert found == {agent: after[name] for agent, name in zip(ids, NAMES, strict=True) if agent in found}
    assert len(found) > 1


def test_boards_of_the_api_say_with_which_time_they_are_compared(api: Running, tmp_path: Path) -> None:
    since = day_before(NOW)
    assert NOW - DAY - 60 < since <= NOW - DAY
    served(api, tmp_path, begin=since - 100.0)
    state = state_of("blitz", fold=FOLD)
    folded(ServedPool(api.store, tmp_path / "other"), games()[:100], state=state)
    expected = ratings_by_name(state, "elo")
    for path in (f"{BOARDS}/elo?count=100", f"{BOARDS}/elo?count=100&provisional=include", f"{BOARDS}/elo/around/ann?count=50"):
        board = api.client.get(path).json()
        check_answer(board, "Board")
        assert board["earlier"] == {"time": since, "day": True}
        assert {row["agent"]: row["earlier_rating"] for row in board["rows"]} == expected
    first = api.client.get(f"{BOARDS}?count=2").json()["boards"][0]
    assert first["rows"][0]["earlier_rating"] == expected[first["rows"][0]["agent"]]
    assert "earlier" not in api.client.get(f"{BOARDS}/elo?format=csv").text


def test_a_solved_board_is_compared_with_the_newest_solve_that_is_a_day_old(api: Running, tmp_path: Path) -> None:
    served(api, tmp_path)
    three = [solve(1, 3 * DAY, [("ann", 9.0)]), solve(2, 1.5 * DAY, [("ann", 2.0), ("bob", 1.0)]), solve(3, DAY / 2, [("ann", 7.0)])]
    publish(api, *three, solve(4, 1.0, [("bob", 4.0), ("ann", 3.0), ("new", 2.0)]))
    board = api.client.get(f"{BOARDS}/bradley_terry?count=9").json()
    check_answer(board, "Board")
    assert board["earlier"] == {"time": NOW - 1.5 * DAY, "day": True}
    assert [(row["agent"], row.get("earlier_rank"), row.get("earlier_rating")) for row in board["rows"]] == [
        ("bob", 2, 1.0), ("ann", 1, 2.0), ("new", None, None),
    ]  # fmt: skip


def test_a_board_that_is_solved_all_the_time_is_compared_with_a_solve_of_a_day_before(
    api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each 20 minutes for 30 hours: of the newest ten alone, the oldest would be three hours old."""
    files, job = ResultFiles(BlobFiles(tmp_path.as_uri()), 10), Job("blitz", "bradley_terry")
    written: list[int] = []
    monkeypatch.setattr(files, "history", lambda job, log: written.append(1) or ResultFiles.history(files, job, log))
    before = None
    for number in range(90):
        board = solve(number, 1200.0 * (89 - number), [("ann", float(number))])
        found = deliver(files, api.store.solved, board, before)
        assert found.history == len(api.store.solved.history("blitz", job.board))
        before = board
    assert len(written) == 1, "the store takes each later solve by itself"
    assert api.store.solved.history("blitz", job.board) == [solved.past for solved in reversed(files.history(job, ""))]
    answer = api.client.get(f"{BOARDS}/bradley_terry?count=9").json()
    age = NOW - answer["earlier"]["time"]
    assert (DAY <= age <= DAY + 7200.0, answer["earlier"]["day"]) == (True, True)
    assert answer["rows"][0]["earlier_rating"] == 89 - age / 1200.0


def test_a_solved_board_is_compared_with_the_oldest_solve_of_the_season_if_none_is_a_day_old(api: Running) -> None:
    publish(api, solve(1, 2 * DAY, [("ann", 9.0)]), solve(2, 7200.0, [("ann", 2.0)], 2), solve(3, 1.0, [("ann", 4.0)], 2))
    board = LiveBoard(["ann"], [1.0])
    head = head_of(published_at=NOW, online=["elo"], generation=2, season="autumn", season_generation=2)
    assert api.store.live.publish(head, 1, {"elo": board, ACTIVITY: board})
    found = api.client.get(f"{BOARDS}/bradley_terry?count=9").json()
    assert (found["earlier"], found["rows"][0]["earlier_rating"]) == ({"time": NOW - 7200.0, "day": False}, 2.0)


def test_no_board_is_compared_with_a_state_of_minutes_ago(api: Running, tmp_path: Path) -> None:
    served(api, tmp_path, begin=NOW - 300.0)
    publish(api, solve(1, 600.0, [("ann", 9.0)]), solve(2, 1.0, [("ann", 4.0)]))
    boards = {board["method"]: board for board in api.client.get(f"{BOARDS}?count=9").json()["boards"]}
    assert boards["elo"]["rows"]
    assert boards["bradley_terry"]["rows"]
    assert not any("earlier" in board for board in boards.values())


def test_a_solve_with_other_parameters_is_not_compared(api: Running) -> None:
    old = solve(1, 2 * DAY, [("ann", 9.0)], parameters={"prior": 2.0})
    publish(api, old, solve(2, 1.0, [("ann", 4.0)], parameters={"prior": 1.0}))
    assert "earlier" not in api.client.get(f"{BOARDS}/bradley_terry?count=9").json()
    publish(api, old, solve(2, 1.0, [("ann", 4.0)], parameters={"prior": 1.0}), solve(3, 0.5, [("ann", 5.0)], parameters={"prior": 2.0}))
    found = api.client.get(f"{BOARDS}/bradley_terry?count=9").json()
    assert (found["earlier"], found["rows"][0]["earlier_rating"]) == ({"time": NOW - 2 * DAY, "day": True}, 9.0)


def test_late_outcomes_at_the_begin_of_each_segment_do_not_end_the_day(api: Running, tmp_path: Path) -> None:
    index, _ = served(api, tmp_path / "ordered")
    assert index.history is not None
    late = [segment.first for segment in index.history.segments() if segment.first > 30]
    assert len(late) > 2
    index, _ = served(api, tmp_path / "late", times=dict.fromkeys(late, -5.0))
    assert index.history is not None
    assert index.history.state_at(30.0) == (30, 170 - len(late), 30.0, True)


def test_a_clock_ahead_does_not_begin_the_day(api: Running, tmp_path: Path) -> None:
    index, _ = served(api, tmp_path, times={100: 299.0})
    assert index.history is not None
    assert index.history.state_at(150.0) == (150, 51, 150.0, True)


def test_late_outcomes_after_those_of_the_day_are_not_of_the_day(api: Running, tmp_path: Path) -> None:
    begin = day_before(NOW) - 100.0
    served(api, tmp_path, begin=begin, times=dict.fromkeys(range(170, 200), begin - 50.0))
    answer = api.client.get(f"{BOARDS}?count=1").json()
    assert answer["last_day"] == {"since": day_before(NOW), "outcomes": 70, "complete": True}


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (NOW - 300.0, {"outcomes": 200, "complete": True}),  # the pool is younger than a day
        (day_before(NOW) - 50.0, {"outcomes": 150, "complete": True}),
        (day_before(NOW) - 500.0, {"outcomes": 0, "complete": True}),
    ],
)
def test_summaries_count_the_outcomes_of_the_last_day(api: Running, tmp_path: Path, begin: float, expected: dict[str, object]) -> None:
    served(api, tmp_path, begin=begin)
    answer = api.client.get(f"{BOARDS}?count=1").json()
    check_answer(answer, "Boards")
    assert answer["last_day"] == {"since": day_before(NOW), **expected}
    assert "last_day" not in api.client.get(BOARDS).json()


def test_a_day_that_is_longer_than_the_kept_history_is_not_complete(api: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_history, "LAST_TIMES_SEGMENTS", 2)
    served(api, tmp_path, begin=NOW - 300.0)
    found = api.client.get(f"{BOARDS}?count=1").json()["last_day"]
    assert not found["complete"]
    assert 0 < found["outcomes"] < 200


def test_a_pool_of_scores_has_no_outcomes_of_a_day_but_a_resting_one_has_none(api: Running) -> None:
    for number, time in enumerate((NOW - 5.0, NOW - 2 * DAY)):
        board = LiveBoard(["ann"], [1.0])
        assert api.store.live.publish(head_of(published_at=NOW, kind="scores", position=number, pool_time=time), 1, {ACTIVITY: board})
        found = api.client.get(f"{BOARDS}?count=1").json()
        assert found.get("last_day") == (None if number == 0 else {"since": day_before(NOW), "outcomes": 0, "complete": True})
