"""Erased names leave the results of a pool some boards at a time, and a new engine goes on where the last one ended."""

from collections import Counter
from pathlib import Path
from typing import Final

import msgspec
import pytest

from services.boards.history import KeptSolve, unpacked
from services.boards.result import SolvedBoard
from services.boards.slice_boards import SliceName
from services.boards.store.backoff import Backoff
from services.boards.store.protocol import StoredBoard, StoreError
from services.checkpoints.blob_files import BlobFiles
from services.control.erasures import erased_name
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.scheduler.erasing import ResultErasure
from services.solve.scheduler.newest import NewestResults
from services.solve.scheduler.publication import BOARDS_A_CALL, Reconciler
from tests.support.boards import solved_of

POOL: Final = "blitz"
NAME: Final = erased_name("ann", ())


class Files(BlobFiles):
    """Files of which those with `refused` in their name cannot be written, and those with `unreadable` in it cannot be read."""

    refused = unreadable = ""

    def read(self, name: str) -> bytes:
        if self.unreadable and self.unreadable in name:
            raise PermissionError(13, "Permission denied", name)
        return super().read(name)

    def write(self, name: str, parts: object) -> None:
        if self.refused and self.refused in name:
            raise PermissionError(13, "Permission denied", name)
        super().write(name, parts)  # type: ignore[arg-type]  # passed on


class Store:
    """Holds boards, and the numbers of boards in which names are still to be replaced."""

    def __init__(self) -> None:
        self.boards: dict[str, SolvedBoard] = {}
        self.newest: dict[str, tuple[object, ...]] = {}
        self.erasing: dict[str, int] = {}
        self.published = 0
        self.gone = False

    def publish(self, board: SolvedBoard) -> bool:
        self.boards[board.name], self.published = board, self.published + 1
        return True

    def publish_history(self, _: str, name: str, history: list[KeptSolve], sequence: int) -> None:
        assert sequence == self.boards[name].sequence
        self.newest[name] = history[-1].past.solve

    def complete(self, pools: list[str]) -> dict[str, dict[str, StoredBoard]]:
        if self.gone:
            raise StoreError("gone", retriable=True)
        found = {name: StoredBoard(board, 2, self.newest[name]) for name, board in self.boards.items()}
        return {pool: {name: stored for name, stored in found.items() if stored.board.pool == pool} for pool in pools}

    def note_erasing(self, left: dict[str, int]) -> None:
        if self.gone:
            raise StoreError("gone", retriable=True)
        self.erasing |= left


def results_in(folder: Path, engine: int = 1) -> NewestResults:
    results = NewestResults(ResultFiles(Files(folder.as_uri()), 5), "", engine)
    results.load()
    return results


def solved(folder: Path, pool: str = POOL, slices: int = 5) -> NewestResults:
    """Results of a pool's board and of boards of its slices, two of each."""
    results = results_in(folder)
    for part in ("", *(str(SliceName("map", f"m{i}")) for i in range(slices))):
        for position in (1, 2):
            board = solved_of(pool, method="copeland", position=position, ratings=[("ann", 1.0), ("bob", 0.5)])
            results.files.add(msgspec.structs.replace(board, slice=part, sequence=results.next_sequence()))
    results.load()
    return results


def holders(folder: Path) -> list[str]:
    """Boards of which a file holds the name."""
    files = (path for path in folder.rglob("*.json") if b'"ann"' in path.read_bytes())
    return sorted({path.parent.name for path in files})


def test_each_step_searches_the_next_boards_and_those_of_complete_pools_come_first(tmp_path: Path) -> None:
    results = solved(tmp_path)
    erasure = ResultErasure(results)
    erasure.request(POOL, (NAME,))
    for left in (4, 2, 0):
        erasure.go_on(4)
        assert (len(erasure), erasure.left()) == (left, {POOL: left} if left else {})
        assert len(holders(tmp_path)) == left
        assert "copeland" not in holders(tmp_path)
        assert erasure.erased(POOL) == (() if left else (NAME,))
    erasure.request(POOL, (NAME,))
    assert len(erasure) == 0, "they were searched for exactly these names"
    later = erased_name("bob", (NAME,))
    erasure.request(POOL, (NAME, later))
    erasure.go_on(100)
    assert erasure.erased(POOL) == (NAME, later)


def test_the_board_of_a_second_pool_does_not_wait_for_the_slices_of_the_first(tmp_path: Path) -> None:
    solved(tmp_path)
    erasure = ResultErasure(solved(tmp_path, "bullet", 0))
    erasure.request(POOL, (NAME,))
    erasure.go_on(1)
    erasure.request("bullet", (NAME,))
    erasure.go_on(1)
    assert erasure.erased("bullet") == (NAME,)
    assert erasure.erased(POOL) == ()


def test_an_engine_that_starts_amid_an_erasure_ends_it(tmp_path: Path) -> None:
    erasure = ResultErasure(solved(tmp_path))
    erasure.request(POOL, (NAME,))
    erasure.go_on(3)
    assert len(holders(tmp_path)) == 4
    results = results_in(tmp_path, engine=2)
    again = ResultErasure(results)
    assert again.erased(POOL) == (), "it does not know what the first one did"
    again.request(POOL, (NAME,))
    while len(again):
        again.go_on(2)
    assert holders(tmp_path) == []
    assert again.erased(POOL) == (NAME,)
    assert {row.agent for board in results.boards().values() for row in board.result.agents} == {NAME.token, "bob"}
    assert all(result.history == 2 and result.awaits_store for _, result in results.items())


def test_a_board_that_cannot_be_written_does_not_hold_up_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    results = solved(tmp_path)
    files = results.files._files
    assert isinstance(files, Files)
    files.refused = "/copeland/"
    erasure = ResultErasure(results)
    erasure.request(POOL, (NAME,))
    for _ in range(8):
        erasure.go_on(2)
    assert holders(tmp_path) == ["copeland"]
    assert erasure.erased(POOL) == ()
    assert caplog.text.count("erased names cannot be replaced") == 1
    files.refused = ""
    erasure.go_on(2)
    assert erasure.erased(POOL) == (NAME,)


def test_older_results_of_a_board_whose_newest_file_is_gone_are_searched_too(tmp_path: Path) -> None:
    results, job = solved(tmp_path, slices=0), Job(POOL, "copeland")
    results.files.discard(str(results[job].file))
    results.forget(job)
    erasure = ResultErasure(results)
    erasure.request(POOL, (NAME,))
    erasure.go_on(1)
    assert holders(tmp_path) == []


def test_a_board_is_searched_again_after_a_task_of_an_earlier_generation(tmp_path: Path) -> None:
    results, job = solved(tmp_path, slices=0), Job(POOL, "copeland")
    erasure = ResultErasure(results)
    erasure.repeat(job)
    assert len(erasure) == 0, "no name of the pool is erased"
    erasure.request(POOL, (NAME,))
    erasure.go_on(1)
    results.files.add(msgspec.structs.replace(solved_of(POOL, method="copeland", position=3, ratings=[("ann", 1.0)]), sequence=9))
    erasure.repeat(job)
    assert job in erasure
    assert erasure.erased(POOL) == ()
    erasure.go_on(1)
    assert holders(tmp_path) == []


def test_names_are_replaced_in_the_earlier_solves_that_a_board_keeps(tmp_path: Path) -> None:
    results, job = results_in(tmp_path), Job(POOL, "copeland")
    for hour in range(8):
        board = solved_of(POOL, method="copeland", position=hour, ratings=[("ann", 1.0), ("bob", 0.5)])
        results.files.write(msgspec.structs.replace(board, solved_at=3600.0 * hour, sequence=results.next_sequence()))
    results.load()
    before = results.files.history(job, "")
    assert [solve.past.position for solve in before] == list(range(8)), "five newest, and one of each hour before"
    erasure = ResultErasure(results)
    erasure.request(POOL, (NAME,))
    erasure.go_on(1)
    assert holders(tmp_path) == []
    after = results.files.history(job, "")
    assert [solve.past for solve in after] == [solve.past for solve in before]
    assert [[row.agent for row in unpacked(solve.rows)] for solve in after] == [[NAME.token, "bob"]] * 8
    newest = results.complete(job)
    assert newest is not None
    assert newest.total is msgspec.UNSET


def test_intervals_that_a_task_wrote_beside_a_rewritten_result_are_removed(tmp_path: Path) -> None:
    results, job = solved(tmp_path, slices=0), Job(POOL, "copeland")
    erasure, file = ResultErasure(results), str(results[job].file)
    board = results.files.read(file)
    assert board is not None
    erasure.request(POOL, (NAME,))
    erasure.go_on(1)
    results.files.add_intervals(file, board)  # the task read the result before
    assert holders(tmp_path) == ["copeland"]
    erasure.repeat(job)
    erasure.go_on(1)
    assert holders(tmp_path) == []
    assert results.files.names(job) == [name for name in results.files._files.tree(f"results/{POOL}") if "intervals" not in name]


def test_results_that_the_engine_does_not_know_are_searched_too(tmp_path: Path) -> None:
    results = solved(tmp_path, slices=0)
    lost = solved_of(POOL, method="borda", position=3, ratings=[("ann", 1.0), ("bob", 0.5)])
    results.files.add(lost)  # the first solve of the board was lost after it wrote its file
    erasure = ResultErasure(results)
    erasure.request(POOL, (NAME,))
    assert erasure.left() == {POOL: 2}
    erasure.go_on(2)
    assert holders(tmp_path) == []


def test_the_newest_file_is_published_also_if_its_task_was_lost(tmp_path: Path) -> None:
    """The task may have published it, and the store would refuse an earlier position."""
    results, job = solved(tmp_path, slices=0), Job(POOL, "copeland")
    later = solved_of(POOL, method="copeland", position=3, ratings=[("ann", 2.0), ("bob", 1.0)])
    results.files.add(msgspec.structs.replace(later, sequence=results.next_sequence()))
    other = msgspec.structs.replace(later, position=4, log="other", sequence=results.next_sequence())
    results.files.add(other)
    erasure = ResultErasure(results)
    erasure.request(POOL, (NAME,))
    erasure.go_on(1)
    assert holders(tmp_path) == []
    held = results[job]
    assert (held.board.position, held.awaits_store) == (3, True)
    assert held.board.sequence > later.sequence
    complete = results.complete(job)
    assert complete is not None
    assert [row.agent for row in complete.result.agents] == [NAME.token, "bob"]


def test_the_progress_is_written_to_the_store_and_removed_at_the_end(tmp_path: Path) -> None:
    store, results = Store(), solved(tmp_path)
    reconciler = Reconciler(store, results, Backoff(lambda: 0.0))  # type: ignore[arg-type]  # no Redis
    for left in ({}, {POOL: 6}, {POOL: 4}):
        reconciler.note_erasing(0.0, left)
        assert store.erasing == left
    store.gone = True
    reconciler.note_erasing(0.0, {POOL: 2})
    assert store.erasing == {POOL: 4}
    store.gone = False
    reconciler.note_erasing(0.0, {POOL: 2})
    assert store.erasing == {POOL: 2}
    store.erasing.clear()
    reconciler.note_erasing(59.0, {POOL: 2})
    assert store.erasing == {}
    reconciler.note_erasing(60.0, {POOL: 2})
    assert store.erasing == {POOL: 2}, "the store forgets numbers that are not written again"
    reconciler.note_erasing(60.0, {})
    assert store.erasing == {POOL: 0}


def test_an_engine_that_starts_publishes_only_what_the_store_lacks(tmp_path: Path) -> None:
    store = Store()
    first = Reconciler(store, solved(tmp_path), Backoff(lambda: 0.0))  # type: ignore[arg-type]  # no Redis
    first.publish()
    assert store.published == 6
    del store.boards["copeland"]
    again = Reconciler(store, results_in(tmp_path), Backoff(lambda: 0.0))  # type: ignore[arg-type]  # as above
    again.find_published()
    again.publish()
    assert store.published == 7
    assert "copeland" in store.boards
    store.gone = True
    other = results_in(tmp_path)
    unanswered = Reconciler(store, other, Backoff(lambda: 0.0))  # type: ignore[arg-type]  # as above
    unanswered.find_published()
    assert all(result.awaits_store for _, result in other.items()), "the store did not say what it has"


def test_a_start_publishes_a_history_that_lacks_the_newest_solve(tmp_path: Path) -> None:
    """The last engine ended after a task published the board, and before it published the history, which had its full length already."""
    store, results = Store(), solved(tmp_path)
    first = Reconciler(store, results, Backoff(lambda: 0.0))  # type: ignore[arg-type]  # no Redis
    first.publish()
    whole = dict(store.newest)
    store.newest["copeland"] = msgspec.structs.replace(store.boards["copeland"], position=1).solve
    again = Reconciler(store, results_in(tmp_path), Backoff(lambda: 0.0))  # type: ignore[arg-type]  # as above
    again.find_published()
    again.publish()
    assert (store.newest, store.published) == (whole, 7)


def test_a_file_that_cannot_be_read_does_not_hold_up_other_boards(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, results = Store(), solved(tmp_path)
    files, first = results.files._files, next(iter(results))
    assert isinstance(files, Files)
    files.unreadable = f"/{first.board}/"
    reconciler = Reconciler(store, results, Backoff(lambda: 0.0))  # type: ignore[arg-type]  # no Redis
    for _ in range(3):
        reconciler.publish()
    assert sorted(store.boards) == sorted(job.board for job in results if job != first)
    assert caplog.text.count("cannot be published") == 1
    files.unreadable = ""
    reconciler.publish()
    assert first.board in store.boards


def test_a_start_reads_the_newest_result_of_each_board_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, read = solved(tmp_path), Counter[str]()
    newest = {result.file for _, result in results.items()}
    ask = BlobFiles.read

    def counted(self: BlobFiles, name: str) -> bytes:
        read[name] += 1
        return ask(self, name)

    monkeypatch.setattr(BlobFiles, "read", counted)
    again = results_in(tmp_path)
    assert {name for name in read if not name.endswith("-intervals.json")} == newest
    assert [result.history for _, result in again.items()] == [2] * 6
    assert again.next_sequence() > max(board.sequence for board in again.boards().values())


def test_a_store_that_was_emptied_is_filled_over_several_calls(tmp_path: Path) -> None:
    store, results = Store(), solved(tmp_path, slices=BOARDS_A_CALL + 9)
    reconciler = Reconciler(store, results, Backoff(lambda: 0.0))  # type: ignore[arg-type]  # no Redis
    reconciler.publish()
    assert store.published == BOARDS_A_CALL
    reconciler.publish()
    assert store.published == len(results) == BOARDS_A_CALL + 10
    reconciler.publish()
    assert store.published == len(results), "nothing is left"
