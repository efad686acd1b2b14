"""Kept solves in their compact form, and what is said of two of them."""

from pathlib import Path

import msgspec
import pytest

from services.boards import history
from services.boards.history import Cause, difference, kept
from services.checkpoints.blob_files import BlobFiles
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from tests.support.boards import solved_of


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
    boards = [msgspec.structs.replace(solved_of(position=p), solved_at=float(i), sequence=i) for i, p in enumerate((1, 2, 2, 2))]
    for board in boards:
        files.write(board)
    job = Job("blitz", "maximal_lottery")
    assert [files.read(name) for name in files.names(job)] == boards[1:]
    assert list(files.newest(job)) == boards[:0:-1]
    half = next(iter(tmp_path.rglob("*-000002.json")))
    half.write_bytes(half.read_bytes()[:40])
    assert [files.read(name) for name in files.names(job)] == [boards[1], None, boards[3]], "what a crash left half written is passed over"
    [newest] = files.newest_of_boards("")
    assert (newest.board, newest.kept, newest.sequence) == (boards[3], 3, 3)
    Path(tmp_path / newest.name).write_bytes(b"{")
    assert [one.board for one in files.newest_of_boards("")] == [boards[1]], "the newest one that can be read"
    assert list(files.newest_of_boards("another log")) == []
