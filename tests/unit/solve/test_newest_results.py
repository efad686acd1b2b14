"""The newest results of jobs, their files and histories, and their reconciliation with the store."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.boards.history import PastRow, unpacked
from services.boards.result import Intervals, PackedStart, SolvedBoard
from services.boards.store.backoff import Backoff
from services.boards.store.protocol import StoredBoard
from services.checkpoints.blob_files import BlobFiles
from services.control.erasures import NameMatcher, erased_name
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.scheduler.newest import NewestResults
from services.solve.scheduler.publication import Reconciler
from services.solve.worker.tasks import Delivery, best_rows
from tests.support.boards import solved_of

JOB = Job("blitz", "copeland")


class RankIntervals:
    """Gives every row of a board at one position the same interval of ranks."""

    def __init__(self) -> None:
        self.ranks: tuple[int, int] | None = None
        self.position = 0

    def are_known(self, _: Job, board: SolvedBoard) -> bool:
        return self.ranks is not None and board.position == self.position

    def shown(self, _: Job, board: SolvedBoard) -> SolvedBoard:
        if self.ranks is None or board.position != self.position:
            return board
        low, high = self.ranks
        rows = [msgspec.structs.replace(row, rank_low=low, rank_high=high) for row in board.result.agents]
        return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows))

    def told(self, _: Job, board: SolvedBoard) -> Intervals | msgspec.UnsetType:
        return board.result.intervals


def newest_in(folder: Path, intervals: Any) -> NewestResults:
    return NewestResults(ResultFiles(BlobFiles(folder.as_uri()), 5), intervals, "", 1)


def solve(results: NewestResults, board: SolvedBoard) -> None:
    """Deliver a result, as a task does that cannot reach the store."""
    board = msgspec.structs.replace(board, sequence=results.next_sequence())
    results.delivered(Job(board.pool, board.result.method), Delivery(best_rows(board), results.files.write(board), why="no answer"))


def board_at(position: int, pool: str = JOB.pool) -> SolvedBoard:
    return solved_of(pool, method=JOB.method, position=position, ratings=[("a", 1.0)])


def test_a_kept_result_keeps_the_intervals_that_its_board_had(tmp_path: Path) -> None:
    """Intervals come after the result; the next result leaves those of the one before as they were."""
    intervals = RankIntervals()
    results = newest_in(tmp_path, intervals)
    solve(results, board_at(1))
    intervals.ranks, intervals.position = (1, 4), 1
    results.intervals_changed(JOB)
    intervals.ranks, intervals.position = (2, 3), 1
    solve(results, board_at(2))
    rows = [unpacked(one.rows)[0] for one in results.files.history(JOB, "")]
    assert [(row.rank_low, row.rank_high) for row in rows] == [(1, 4), (None, None)]
    assert all(isinstance(row, PastRow) for row in rows)


def test_every_sequence_is_above_those_of_earlier_engines_and_of_files(tmp_path: Path) -> None:
    results = newest_in(tmp_path, RankIntervals())
    first = results.next_sequence()
    later = NewestResults(results.files, RankIntervals(), "", 2)  # type: ignore[arg-type]  # no intervals
    assert first < results.next_sequence() < later.next_sequence()
    results.files.write(msgspec.structs.replace(board_at(1), sequence=1 << 40))
    later.load()
    assert later.next_sequence() == (1 << 40) + 1, "the control log may be new"


def test_lost_boards_are_looked_for_in_turn_where_pools_are_too_many_for_one_look(tmp_path: Path) -> None:
    pools, asked = ["a", "b", "c", "d", "e"], list[str]()

    class Empty:
        def complete(self, pools: Iterable[str]) -> dict[str, dict[str, StoredBoard]]:
            asked.extend(pools)
            return {pool: {} for pool in asked}

    results = newest_in(tmp_path, RankIntervals())
    for pool in pools:
        solve(results, board_at(1, pool))
        results[Job(pool, JOB.method)].awaits_store = False
    reconciler = Reconciler(Empty(), results, RankIntervals(), Backoff(), pools_a_look=2)  # type: ignore[arg-type]  # no Redis
    for _ in range(4):
        reconciler.find_lost()
    assert asked == [*pools, "a", "b"]
    assert all(result.awaits_store for _, result in results.items())


def test_an_erased_name_is_replaced_in_files_and_histories(tmp_path: Path) -> None:
    name = erased_name("ann", ())

    def board(position: int) -> SolvedBoard:
        solved = solved_of(JOB.pool, method=JOB.method, position=position, ratings=[("ann", 1.0), ("bob", 0.5)])
        extra: dict[str, object] = {"support": ["bob", "ann"], "regret": {"ann": 0.5}, "note": "ann is first"}
        return msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, extra=extra))

    def stored() -> bytes:
        return b"".join(path.read_bytes() for path in sorted((tmp_path / "results").rglob("*.json")))

    results, start = newest_in(tmp_path, RankIntervals()), PackedStart(JOB.method, (("ann", "bob"),), {})
    for position in (1, 1, 2):
        solve(results, msgspec.structs.replace(board(position), start=start))
    solve(results, board_at(1, "other"))
    others, before = results[Job("other", JOB.method)], results[JOB].board.sequence
    results[JOB].awaits_store = others.awaits_store = False
    results.erase(JOB.pool, NameMatcher([name]))
    results.erase(JOB.pool, NameMatcher([name]))  # nothing is left to do
    assert b'"ann"' not in stored()
    history = results.files.history(JOB, "")
    assert [one.past.position for one in history] == [1, 1, 2]
    assert {row.agent for one in history for row in unpacked(one.rows)} == {name.token, "bob"}
    complete = results.complete(JOB)
    assert complete is not None
    assert complete.result.agents[0].agent == results[JOB].board.result.agents[0].agent == name.token
    assert complete.sequence == results[JOB].board.sequence > before, "a task that still has the name is refused"
    assert results[JOB].board.result.extra == {"support": ["bob", name.token], "regret": {name.token: 0.5}, "note": "ann is first"}
    assert results[JOB].awaits_store
    assert not others.awaits_store
    again = newest_in(tmp_path, RankIntervals())
    again.load()
    assert again[JOB].history == 3
    assert again[JOB].file == results[JOB].file
    written = msgspec.json.decode((tmp_path / str(again[JOB].file)).read_bytes(), type=SolvedBoard)
    assert written.start is not None
    assert written.start.strategies == ((name.token, "bob"),)


class Unremovable(BlobFiles):
    """Files that cannot be removed while `refuses` is true."""

    refuses = True

    def remove(self, name: str) -> None:
        if self.refuses:
            raise PermissionError(13, "Permission denied", name)
        super().remove(name)


def test_a_result_is_written_although_an_older_one_cannot_be_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = Unremovable(tmp_path.as_uri())
    results = NewestResults(ResultFiles(files, 2), RankIntervals(), "", 1)  # type: ignore[arg-type]  # no intervals
    for position in range(1, 5):
        solve(results, board_at(position))
    assert len(files.tree("results")) == 4, "each result once"
    assert "an old result could not be removed" in caplog.text
    files.refuses = False
    solve(results, board_at(5))
    assert len(files.tree("results")) == 2
