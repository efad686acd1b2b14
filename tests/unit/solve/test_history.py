"""Kept solves in their compact form, and what is said of two of them."""

from itertools import accumulate
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.boards import history
from services.boards.history import Cause, difference, kept, shortened
from services.boards.result import SolvedBoard
from services.boards.slice_boards import board_name
from services.boards.thinning import thinned
from services.checkpoints.blob_files import BlobFiles
from services.solve import results
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from tests.support.boards import solved_of

JOB = Job("blitz", "maximal_lottery")


def because(**changed: object) -> list[Cause]:
    board = solved_of(position=3)
    later = msgspec.structs.replace(board, **changed)
    return difference("blitz", "maximal_lottery", kept(board), kept(later), 10).because


def test_each_cause_is_told_and_no_other() -> None:
    assert because() == []
    assert because(data="1" * 64, position=4, outcomes=4) == [Cause.OUTCOMES]
    assert because(position=4) == [], "records that changed nothing of the pool"
    assert because(data="1" * 64, position=4) == [], "duplicates, which are in the digest and change no rating"
    moved = solved_of(ratings=[("rock", 0.1), ("paper", 0.2), ("scissors", 0.3)]).result
    assert because(data="1" * 64, result=moved)[0] == Cause.OUTCOMES, "a generation that was folded again after its log lost records"
    assert because(data="1" * 64, generation=2) == [Cause.GENERATION], "ratings by other settings are in the digest, too"
    assert because(generation=2) == [Cause.GENERATION]
    assert because(parameters={"merge": False}) == [Cause.PARAMETERS]
    assert because(version="2") == [Cause.VERSION]
    assert because(result=solved_of(ratings=[("rock", 1.0)]).result) == [Cause.ROSTER]


def test_an_agent_has_moved_if_its_rank_or_its_shown_rating_differs() -> None:
    before = solved_of(ratings=[("a", 1600.0), ("b", 1500.0), ("c", 1400.0), ("d", 0.0)])
    after = solved_of(ratings=[("a", 1600.0 + 1e-9), ("b", 1500.1), ("c", 1400.0), ("d", 1e-9)])
    found = difference("blitz", "elo", kept(before), kept(after), 10)
    assert ([row.agent for row in found.moved], found.moved_count) == (["b"], 1), "solves end at slightly different numbers"
    swapped = difference("blitz", "elo", kept(before), kept(solved_of(ratings=[("b", 1700.0), ("a", 1600.0), ("d", 0.0), ("c", None)])), 10)
    assert {row.agent for row in swapped.moved} == {"a", "b", "c", "d"}, "ranks, and a rating that is gone"


def test_rows_beyond_those_kept_are_neither_joined_nor_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "ROWS", 2)
    before = solved_of(ratings=[("a", 3.0), ("b", 2.0), ("c", 1.0)])
    after = solved_of(ratings=[("c", 4.0), ("a", 3.0), ("b", 2.0)])
    found = difference("blitz", "m", kept(before), kept(after), 10)
    assert (found.joined, found.left, found.because) == ([], [], [])
    assert [(row.agent, row.rank, row.rank_before) for row in found.moved] == [("c", 1, None), ("a", 2, 1)]


def test_results_of_one_position_do_not_overwrite_each_other(tmp_path: Path) -> None:
    files = ResultFiles(BlobFiles(tmp_path.as_uri()), most=3)
    boards = [msgspec.structs.replace(solved_of(position=p), solved_at=float(i), sequence=i) for i, p in enumerate((1, 2, 2, 2, 2))]
    for board in boards:
        files.write(board)
    assert list(files.newest(JOB)) == boards[:1:-1]
    assert files.history(JOB, "") == [kept(board) for board in (boards[0], *boards[2:])], "and the first of the hour"
    half = next(iter(tmp_path.rglob("*-000003.json")))
    half.write_bytes(half.read_bytes()[:40])
    assert list(files.newest(JOB)) == [boards[4], boards[2]], "a file that a crash left incomplete is passed over"
    [newest] = files.newest_of_boards("")
    assert (newest.board, newest.kept, newest.sequence) == (boards[4], 4, 4)
    Path(tmp_path / newest.name).write_bytes(b"{")
    assert [one.board for one in files.newest_of_boards("")] == [boards[2]], "the newest one that can be read"
    assert list(files.newest_of_boards("another log")) == []


def board_at(hours: float, number: int, log: str = "log", method: str = "maximal_lottery") -> SolvedBoard:
    board = solved_of(method=method, position=number, ratings=[("a", hours), ("b", -1.0)])
    return msgspec.structs.replace(board, solved_at=3600.0 * hours, sequence=number, log=log)


def test_of_earlier_solves_the_first_of_each_hour_and_of_each_day_is_kept(tmp_path: Path) -> None:
    """Four solves an hour for four days."""
    blobs = BlobFiles(tmp_path.as_uri())
    files, boards = ResultFiles(blobs, most=3), [board_at(i / 4, i) for i in range(4 * 24 * 4)]
    for board in boards:
        files.write(board)
    newest = boards[-3:]
    hours = [board for board in boards[:-3:4] if board.solved_at >= 3600.0 * (95 - 25)]
    days = [board for board in boards[:: 4 * 24] if board not in hours]
    assert files.history(JOB, "log") == [kept(board) for board in (*days, *hours, *newest)]
    assert list(files.newest(JOB)) == newest[::-1], "only these have all of their fields"
    assert len(blobs.tree("results")) == len(files.history(JOB, "log")) == len(days) + 26 + 3


def test_an_earlier_solve_keeps_its_best_rows_and_nothing_that_a_history_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (history, results):
        monkeypatch.setattr(module, "ROWS", 2)
    files = ResultFiles(BlobFiles(tmp_path.as_uri()), most=1)
    first = solved_of(ratings=[("a", 3.0), ("b", 2.0), ("c", 1.0)])
    first = msgspec.structs.replace(first, result=msgspec.structs.replace(first.result, extra={"support": ["a"]}))
    name = files.write(first)
    rows = [msgspec.structs.replace(row, low=row.rating, rank_low=1) for row in first.result.agents]
    ranked = msgspec.structs.replace(first, result=msgspec.structs.replace(first.result, agents=rows))
    files.add_intervals(name, ranked)
    files.add(board_at(0.1, 1, log=""))
    before = files.history(JOB, "")
    files.prune(board_at(0.1, 1, log=""), files.names(JOB)[-1])
    earlier, newest = files.names(JOB)
    assert earlier == name.replace(".json", "-0000000995.json")
    found = files.read(earlier)
    assert found is not None
    assert (found.total, found.start, found.result.extra, len(found.result.agents)) == (3, None, {}, 2)
    assert kept(found) == shortened(kept(ranked)) == kept(first) == files.history(JOB, "")[0], "ratings and ranks, without intervals"
    assert before == files.history(JOB, ""), "a result that is not cut yet has the history of a cut one"
    assert len(list(tmp_path.rglob("*.json"))) == 2
    Path(tmp_path / newest).write_bytes(b"{")
    assert list(files.newest_of_boards("")) == [], "a cut result is no board"


def test_insight_slices_and_results_of_another_log_are_kept_among_the_newest_only(tmp_path: Path) -> None:
    files, insight, part = ResultFiles(BlobFiles(tmp_path.as_uri()), most=2), Job("blitz", "insight"), "language:English"
    for number in range(4):
        files.write(board_at(number, number, method="insight"))
        files.write(msgspec.structs.replace(board_at(number, number), slice=part))
        files.write(board_at(number, number, log="before"))
    assert len(files.names(insight)) == 2
    assert [solve.past.position for solve in files.history(Job("blitz", board_name("maximal_lottery", part)), "log")] == [2, 3]
    assert len(files.history(JOB, "before")) == 4
    files.write(board_at(4.0, 4))
    assert [solve.past.position for solve in files.history(JOB, "log")] == [4]
    assert len(files.names(JOB)) == 2, "cut results of the other log are gone"


def test_a_crash_while_a_result_is_cut_leaves_it_once_in_the_history(tmp_path: Path) -> None:
    blobs = BlobFiles(tmp_path.as_uri())
    files = ResultFiles(blobs, most=1)
    name = files.write(board_at(0.0, 0))
    complete = blobs.read(name)
    files.write(board_at(1.0, 1))
    blobs.write(name, [complete])
    assert [solve.past.position for solve in files.history(JOB, "log")] == [0, 1]
    files.write(board_at(2.0, 2))
    assert [solve.past.position for solve in files.history(JOB, "log")] == [0, 1, 2]
    assert name not in files.names(JOB)


def test_files_of_earlier_releases_are_thinned_as_new_ones_are(tmp_path: Path) -> None:
    """They have more complete results than the limit, as after a lower setting, and no cut ones."""
    files = ResultFiles(BlobFiles(tmp_path.as_uri()), most=2)
    boards = [board_at(number / 2, number) for number in range(9)]
    for board in boards:
        files.add(board)
    assert files.history(JOB, "log") == [kept(boards[at]) for at in (0, 2, 4, 6, 7, 8)]
    files.write(board_at(5.0, 10))
    assert [solve.past.position for solve in files.history(JOB, "log")] == [0, 2, 4, 6, 8, 10]


@given(steps=st.lists(st.floats(0.0, 100_000.0), min_size=1, max_size=200), most=st.integers(1, 5), ahead=st.integers(0, 300))
def test_solves_thinned_one_by_one_are_those_of_all_of_them(steps: list[float], most: int, ahead: int) -> None:
    """ahead: index of a solve during which the clock was two days ahead."""
    times = [time + (172_800.0 if at == ahead else 0.0) for at, time in enumerate(accumulate(steps))]
    left: list[float] = []
    for time in times:
        left.append(time)
        earlier = left[:-most]
        left = [earlier[at] for at in thinned(earlier)] + left[-most:]
        assert len(left) <= 57 + most
    if ahead >= len(times):
        earlier = times[:-most]
        assert left == [earlier[at] for at in thinned(earlier)] + times[-most:]


@given(gaps=st.lists(st.floats(1.0, 3599.0), min_size=60, max_size=200))
def test_with_a_solve_in_each_hour_one_is_kept_that_is_24_to_26_hours_old(gaps: list[float]) -> None:
    times = list(accumulate(gaps))
    if times[-1] > 27 * 3600.0:
        ages = [times[-1] - times[at] for at in thinned(times)]
        assert any(24 * 3600.0 <= age <= 26 * 3600.0 for age in ages)
