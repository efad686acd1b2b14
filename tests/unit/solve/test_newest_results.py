"""The newest results of jobs, their files and histories, and their reconciliation with the store."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from services.boards.history import PastRow, unpacked
from services.boards.result import Intervals, PackedStart, SolvedBoard
from services.boards.store.backoff import Backoff
from services.boards.store.protocol import StoredBoard, StoreError
from services.checkpoints.blob_files import BlobFiles
from services.control.erasures import NameMatcher, erased_name
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.scheduler.newest import NewestResults
from services.solve.scheduler.publication import Reconciler
from services.solve.worker.tasks import Delivery, best_rows, deliver, publish_file
from tests.support.boards import solved_of

JOB = Job("blitz", "copeland")


class Gone:
    """A store that does not answer."""

    def publish(self, _: SolvedBoard) -> bool:
        raise StoreError("gone", retriable=True)


def newest_in(folder: Path) -> NewestResults:
    return NewestResults(ResultFiles(BlobFiles(folder.as_uri()), 5), "", 1)


def solve(results: NewestResults, board: SolvedBoard) -> None:
    """Deliver a result, as a task does that cannot reach the store."""
    board = msgspec.structs.replace(board, sequence=results.next_sequence())
    results.delivered(Job(board.pool, board.result.method), Delivery(best_rows(board), results.files.write(board), why="no answer"))


def board_at(position: int, pool: str = JOB.pool) -> SolvedBoard:
    return solved_of(pool, method=JOB.method, position=position, ratings=[("a", 1.0)])


def with_ranks(board: SolvedBoard, low: int, high: int) -> SolvedBoard:
    """The board with the same interval of ranks for all rows."""
    rows = [msgspec.structs.replace(row, rank_low=low, rank_high=high) for row in board.result.agents]
    told = Intervals(kind="cells", replicates=64, position=board.position)
    return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=rows, intervals=told))


def add_intervals(results: NewestResults, file: str, board: SolvedBoard) -> None:
    """Deliver intervals, as a task does that cannot reach the store."""
    results.files.add_intervals(file, board)
    results.delivered(JOB._replace(intervals=True), publish_file(results.files, Gone(), board, file))  # type: ignore[arg-type]


def test_a_kept_result_keeps_the_intervals_that_its_board_had(tmp_path: Path) -> None:
    """Intervals come after the result; the next result leaves those of the one before as they were."""
    results = newest_in(tmp_path)
    solve(results, board_at(1))
    file, board = str(results[JOB].file), results[JOB].board
    add_intervals(results, file, with_ranks(board, 1, 4))
    assert results[JOB].board.result.agents[0].rank_high == 4
    assert results[JOB].file == file
    solve(results, board_at(2))
    add_intervals(results, file, with_ranks(board, 2, 3))
    assert results[JOB].board.position == 2, "intervals of an earlier solve change nothing of the newest one"
    rows = [unpacked(one.rows)[0] for one in results.files.history(JOB, "")]
    assert [(row.rank_low, row.rank_high) for row in rows] == [(2, 3), (None, None)]
    assert all(isinstance(row, PastRow) for row in rows)


def test_intervals_of_a_board_that_failed_since_keep_its_error(tmp_path: Path) -> None:
    results = newest_in(tmp_path)
    solve(results, board_at(1))
    file, board = str(results[JOB].file), results[JOB].board
    results.failed(JOB, "no convergence")
    results.files.add_intervals(file, with_ranks(board, 1, 4))
    taken = Delivery(with_ranks(board, 1, 4), file, history=1)
    results.delivered(JOB._replace(intervals=True), taken)
    complete = results.complete(JOB)
    assert complete is not None
    assert (complete.error, complete.result.agents[0].rank_high) == ("no convergence", 4)
    assert results[JOB].awaits_store, "the task published it without the error"


def test_a_result_that_the_store_refuses_costs_no_kept_one(tmp_path: Path) -> None:
    class Refusing:
        def publish(self, _: SolvedBoard) -> bool:
            return False

    files = ResultFiles(BlobFiles(tmp_path.as_uri()), 1)
    name = files.write(board_at(1))
    assert deliver(files, Refusing(), board_at(2), None).superseded  # type: ignore[arg-type]
    assert files.names(JOB) == [name]


def test_intervals_go_with_their_result(tmp_path: Path) -> None:
    files = ResultFiles(BlobFiles(tmp_path.as_uri()), 1)
    name = files.write(board_at(1))
    files.add_intervals(name, with_ranks(board_at(1), 1, 2))
    assert files.names(JOB) == [name]
    [board] = files.newest(JOB)
    assert isinstance(board.result.intervals, Intervals)
    newer = files.write(board_at(2))
    assert {path.name for path in tmp_path.rglob("*.json")} == {Path(file).name for file in files.names(JOB)}
    assert [file == newer for file in files.names(JOB)] == [False, True]


def test_a_new_result_is_never_the_one_that_is_removed(tmp_path: Path) -> None:
    """Results of another log may be in the folder, at later positions."""
    files = ResultFiles(BlobFiles(tmp_path.as_uri()), 1)
    files.write(board_at(9))
    delivery = deliver(files, Gone(), board_at(1), None)  # type: ignore[arg-type]
    assert files.read(delivery.file) == board_at(1)


def test_results_that_an_earlier_release_numbered_keep_their_order(tmp_path: Path) -> None:
    """Its boards had no sequence; its files of one position were numbered from 0."""
    results = newest_in(tmp_path)
    for number, ending in enumerate((1.0, 2.0, 3.0)):
        board = msgspec.structs.replace(board_at(1), parameters={"p": ending}, sequence=number)
        (tmp_path / results.files.add(board)).write_bytes(msgspec.json.encode(msgspec.structs.replace(board, sequence=0)))
    results.load()
    newest = results[JOB].board
    assert (newest.parameters, newest.sequence, results[JOB].history) == ({"p": 3.0}, 2, 3)
    add_intervals(results, str(results[JOB].file), with_ranks(newest, 1, 1))
    again = newest_in(tmp_path)
    again.load()
    assert (again[JOB].board.parameters, again[JOB].history) == ({"p": 3.0}, 3)
    assert isinstance(again[JOB].board.result.intervals, Intervals)


def test_an_erased_name_leaves_a_result_and_its_intervals(tmp_path: Path) -> None:
    name, results = erased_name("a", ()), newest_in(tmp_path)
    solve(results, board_at(1))
    file, board = str(results[JOB].file), results[JOB].board
    results.files.add_intervals(file, with_ranks(board, 1, 1))  # by a task whose process ended then
    results.erase(JOB, NameMatcher([name]))
    assert all(b'"agent":"a"' not in path.read_bytes() for path in tmp_path.rglob("*.json"))
    complete = results.complete(JOB)
    assert complete is not None
    assert [row.agent for row in complete.result.agents] == [name.token]
    assert complete.sequence > board.sequence


def test_every_sequence_is_above_those_of_earlier_engines_and_of_files(tmp_path: Path) -> None:
    results = newest_in(tmp_path)
    first = results.next_sequence()
    later = NewestResults(results.files, "", 2)
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

    results = newest_in(tmp_path)
    for pool in pools:
        solve(results, board_at(1, pool))
        results[Job(pool, JOB.method)].awaits_store = False
    reconciler = Reconciler(Empty(), results, Backoff(), pools_a_look=2)  # type: ignore[arg-type]  # no Redis
    for _ in range(4):
        reconciler.find_lost()
    assert asked == [*pools, "a", "b"]
    assert all(result.awaits_store for _, result in results.items())


def test_a_look_for_lost_boards_takes_fewer_pools_where_these_have_many_slices(tmp_path: Path) -> None:
    looks: list[list[str]] = []

    class Empty:
        def complete(self, pools: Iterable[str]) -> dict[str, dict[str, StoredBoard]]:
            looks.append(list(pools))
            return {}

    results = newest_in(tmp_path)
    for pool, boards in (("a", 1), ("b", 2500), ("c", 1999), ("d", 1), ("e", 1)):
        for number in range(boards):
            results.replaced(Job(pool, f"{JOB.method}~language~{number:016x}"), board_at(1, pool))
    reconciler = Reconciler(Empty(), results, Backoff())  # type: ignore[arg-type]  # no Redis
    for _ in range(4):
        reconciler.find_lost()
    assert looks == [["a"], ["b"], ["c", "d"], ["e"]]


def test_an_erased_name_is_replaced_in_files_and_histories(tmp_path: Path) -> None:
    name = erased_name("ann", ())

    def board(position: int) -> SolvedBoard:
        solved = solved_of(JOB.pool, method=JOB.method, position=position, ratings=[("ann", 1.0), ("bob", 0.5)])
        extra: dict[str, object] = {"support": ["bob", "ann"], "regret": {"ann": 0.5}, "note": "ann is first"}
        return msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, extra=extra))

    def stored() -> bytes:
        return b"".join(path.read_bytes() for path in sorted((tmp_path / "results").rglob("*.json")))

    results, start = newest_in(tmp_path), PackedStart(JOB.method, (("ann", "bob"),), {})
    for position in (1, 1, 2):
        solve(results, msgspec.structs.replace(board(position), start=start))
    solve(results, board_at(1, "other"))
    others, before = results[Job("other", JOB.method)], results[JOB].board.sequence
    results[JOB].awaits_store = others.awaits_store = False
    results.erase(JOB, NameMatcher([name]))
    results.erase(JOB, NameMatcher([name]))  # nothing is left to do
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
    again = newest_in(tmp_path)
    again.load()
    assert again[JOB].history == 3
    assert again[JOB].file == results[JOB].file
    written = msgspec.json.decode((tmp_path / str(again[JOB].file)).read_bytes(), type=SolvedBoard)
    assert written.start is not None
    assert written.start.strategies == ((name.token, "bob"),)


def test_a_solve_that_ends_before_the_erased_results_were_published_does_not_leave_names_in_the_history(tmp_path: Path) -> None:
    """Its task adds it to the history in the store, whose earlier solves still have the name. The engine publishes the whole history."""
    results = newest_in(tmp_path)

    def publish(position: int) -> bool:
        board = msgspec.structs.replace(board_at(position), sequence=results.next_sequence())
        results.delivered(JOB, Delivery(best_rows(board), results.files.write(board), history=position))
        return results[JOB].awaits_store

    assert not publish(1)
    assert not publish(2)
    results.erase(JOB, NameMatcher([erased_name("a", ())]))
    assert publish(3)


class Unremovable(BlobFiles):
    """Files that cannot be removed while `refuses` is true."""

    refuses = True

    def remove(self, name: str) -> None:
        if self.refuses:
            raise PermissionError(13, "Permission denied", name)
        super().remove(name)


def test_a_result_is_written_although_an_older_one_cannot_be_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = Unremovable(tmp_path.as_uri())
    results = NewestResults(ResultFiles(files, 2), "", 1)
    for position in range(1, 5):
        solve(results, board_at(position))
    assert len(results.files.names(JOB)) == 5, "each result, and the first one also as it is kept"
    assert [solved.past.position for solved in results.files.history(JOB, "")] == [1, 3, 4]
    assert "an old result could not be removed" in caplog.text
    files.refuses = False
    solve(results, board_at(5))
    assert [solved.past.position for solved in results.files.history(JOB, "")] == [1, 4, 5]
    assert len(files.tree("results")) == 3
