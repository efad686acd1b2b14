"""The runner of intervals without Ray: what stops, what cannot be read, what was damaged."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.boards.result import AgentRow, CertificateRow, Intervals, SolvedBoard, SolveResult
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.runtime.settings import Settings
from services.solve.intervals.replicates import Ends, Facts
from services.solve.intervals.runner import IntervalFile, IntervalRunner
from services.solve.planning.jobs import Job
from services.solve.worker.task_pool import TaskLost
from tests.support.task_pool import FakeTaskPool

METHOD = "copeland"


@pytest.fixture
def tasks() -> FakeTaskPool:
    return FakeTaskPool()


def runner_in(folder: Path, tasks: FakeTaskPool) -> IntervalRunner:
    return IntervalRunner(Settings(data=folder), CheckpointStore(folder.as_uri()), "log", tasks)


def board(pool: str) -> SolvedBoard:
    result = SolveResult(method=METHOD, input="pairs", agents=[AgentRow(agent="a", rating=1.0, rank=1)], seconds=0.001,
                         certificate=CertificateRow(kind="exact", value=0.0), status="optimal")  # fmt: skip
    return SolvedBoard(pool=pool, generation=1, position=1, outcomes=1, data="d", parameters={}, solved_at=0.0, result=result, log="log")


BOARDS = {Job(pool, METHOD): board(pool) for pool in ("bad", "good")}
ENTRIES = {
    pool: PoolEntry(pool=pool, kind="games", generation=1, position=1, outcomes=1, object="o", sha256="", bytes=0, digest="d")
    for pool in ("bad", "good")
}


@pytest.mark.parametrize("trouble", [BadObject("o: checksum differs"), TimeoutError("o: no answer within 60 s")])
def test_a_checkpoint_that_cannot_be_read_keeps_no_other_pool_waiting(tasks: FakeTaskPool, tmp_path: Path, trouble: Exception) -> None:
    runner = runner_in(tmp_path, tasks)
    for second in (0.0, 1000.0, 2000.0):
        runner.step(second, True, BOARDS, ENTRIES)
        tasks.newest.end(trouble)
        runner.step(second + 1.0, True, BOARDS, ENTRIES)
    assert [b'"good"' in task.arguments[1] for task in tasks.tasks] == [False, True, False]
    job = Job("bad", METHOD)
    assert runner.shown(job, BOARDS[job]) == BOARDS[job], "nothing is said of what will be tried again"


def test_the_same_data_solved_once_more_get_their_intervals_once_more(tasks: FakeTaskPool, tmp_path: Path) -> None:
    """As where parameters were changed and put back before the intervals of the change were computed."""
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    runner.step(0.0, True, {job: BOARDS[job]}, ENTRIES)
    tasks.newest.end(ValueError("no intervals of these data"))
    assert runner.step(1.0, True, {job: BOARDS[job]}, ENTRIES) == job
    runner.step(1000.0, True, {job: BOARDS[job]}, ENTRIES)
    assert len(tasks.tasks) == 1
    runner.step(2000.0, True, {job: msgspec.structs.replace(BOARDS[job], solved_at=1500.0)}, ENTRIES)
    assert len(tasks.tasks) == 2


def test_intervals_lost_with_their_process_are_tried_again_on_the_same_solve(tasks: FakeTaskPool, tmp_path: Path) -> None:
    """They were final until the data changed, as if the data were to blame."""
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    for started, ended, early in ((0.0, 1.0, 20.0), (21.0, 22.0, 61.0)):
        runner.step(started, True, {job: BOARDS[job]}, ENTRIES)
        tasks.newest.end(TaskLost("WorkerCrashedError: killed"))
        assert runner.step(ended, True, {job: BOARDS[job]}, ENTRIES) == job
        count = len(tasks.tasks)
        runner.step(early, True, {job: BOARDS[job]}, ENTRIES)
        assert len(tasks.tasks) == count
        told = runner.told(job, BOARDS[job])
        assert isinstance(told, Intervals)
        assert told.why_not == "WorkerCrashedError: killed"
    runner_in(tmp_path, tasks).step(62.0, True, {job: BOARDS[job]}, ENTRIES)
    assert len(tasks.tasks) == 3, "a restart tries again at once"
    runner.step(62.0, True, {job: BOARDS[job]}, ENTRIES)
    assert len(tasks.tasks) == 4


def test_intervals_past_their_deadline_are_not_tried_again_on_the_same_solve(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    runner.step(0.0, True, {job: BOARDS[job]}, ENTRIES)
    for second in (1e6, 1e6 + 1.0, 1e9):
        runner.step(second, True, {job: BOARDS[job]}, ENTRIES)
    assert (len(tasks.cancelled), len(tasks.tasks)) == (1, 1)


def test_stopping_between_two_slices_is_no_failure(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner = runner_in(tmp_path, tasks)
    runner.step(0.0, True, BOARDS, ENTRIES)
    tasks.newest.end(Facts(("a",), Intervals(kind="cells"), 1.0, 0.1))
    runner.step(1.0, False, BOARDS, ENTRIES)
    runner.cancel()
    assert tasks.cancelled == []


def test_what_is_under_way_ends_with_the_method_of_its_pool(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner, job = runner_in(tmp_path, tasks), Job("bad", METHOD)
    runner.step(0.0, True, BOARDS, ENTRIES)
    runner.forget(job)
    assert tasks.cancelled == tasks.tasks
    tasks.newest.end(ValueError("no answer"))
    assert runner.step(1.0, False, BOARDS, ENTRIES) is None
    assert CheckpointStore(tmp_path.as_uri()).blobs.tree("intervals") == []


def test_what_failed_after_long_work_is_followed_by_a_rest(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner = runner_in(tmp_path, tasks)
    runner.step(0.0, True, BOARDS, ENTRIES)
    tasks.newest.end(ValueError("too large"))
    assert runner.step(10.0, True, BOARDS, ENTRIES) == Job("bad", METHOD)
    runner.step(19.0, True, BOARDS, ENTRIES)
    assert len(tasks.tasks) == 1
    runner.step(20.0, True, BOARDS, ENTRIES)
    assert len(tasks.tasks) == 2


@pytest.mark.parametrize("content", [b'{"pool": "\xff"}', b'{"pool"', b"[]"])
def test_a_damaged_file_is_computed_anew(tasks: FakeTaskPool, tmp_path: Path, content: bytes) -> None:
    CheckpointStore(tmp_path.as_uri()).blobs.write(f"intervals/bad/{METHOD}/newest.json", [content])
    runner = runner_in(tmp_path, tasks)
    job = Job("bad", METHOD)
    assert runner.shown(job, BOARDS[job]) == BOARDS[job]


def interval_file(solved: SolvedBoard, ends: Ends) -> IntervalFile:
    told = Intervals(kind="cells", replicates=64, assumes="a", position=solved.position)
    return IntervalFile(
        pool="good", method=METHOD, log="log", generation=solved.generation, data=solved.data, parameters=solved.parameters,
        solved_at=solved.solved_at, told=told, rows={"a": ends},
    )  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"position": 200}, {"generation": 2}, {"data": "other"}, {"parameters": {"tie_tolerance": 0.5}}, {"solved_at": 9.0}]
)
def test_a_board_shows_no_intervals_of_another_solve_and_says_so(tasks: FakeTaskPool, tmp_path: Path, change: dict[str, Any]) -> None:
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    runner._found[job] = interval_file(BOARDS[job], Ends(low=0.5, high=1.5, rank_low=1, rank_high=1))
    same, other = runner.shown(job, BOARDS[job]), runner.shown(job, msgspec.structs.replace(BOARDS[job], **change))
    assert same.result.agents[0].low == 0.5
    assert isinstance(other.result.intervals, Intervals)
    assert (other.result.agents[0].low, other.result.agents[0].rank_low, other.result.intervals.kind) == (None, None, "none")
    assert "earlier solve (position 1)" in (other.result.intervals.why_not or "")
    assert other.result.intervals == runner.told(job, msgspec.structs.replace(BOARDS[job], **change))


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        (Ends(low=2.0, high=3.0, rank_low=2, rank_high=3), (1.0, 3.0, 1, 3)),
        (Ends(low=0.2, high=0.5, rank_low=1, rank_high=1), (0.2, 1.0, 1, 1)),
        (Ends(low=0.9, high=1.5, rank_low=1, rank_high=2, reach=0.3), (0.7, 1.5, 1, 2)),
        (Ends(low=None, high=None, rank_low=1, rank_high=4), (None, None, 1, 4)),
    ],
)
def test_intervals_are_extended_to_their_estimate(
    tasks: FakeTaskPool, tmp_path: Path, ends: Ends, shown: tuple[float | None, float | None, int, int]
) -> None:
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    runner._found[job] = interval_file(BOARDS[job], ends)
    row = runner.shown(job, BOARDS[job]).result.agents[0]
    assert (row.low, row.high, row.rank_low, row.rank_high) == pytest.approx(shown)


def test_work_on_a_solve_that_readers_no_longer_see_stops_and_other_boards_take_their_turn(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner = runner_in(tmp_path, tasks)
    runner.step(0.0, True, BOARDS, ENTRIES)
    newer = {**BOARDS, Job("bad", METHOD): msgspec.structs.replace(BOARDS[Job("bad", METHOD)], data="later", position=2)}
    runner.step(1.0, True, newer, ENTRIES)
    assert tasks.cancelled == tasks.tasks
    runner.step(10.0, True, newer, {**ENTRIES, "bad": msgspec.structs.replace(ENTRIES["bad"], digest="later")})
    assert [b'"good"' in task.arguments[1] for task in tasks.tasks] == [False, True]


def test_a_board_older_than_its_checkpoint_waits_for_its_solve(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    runner.step(0.0, True, {job: BOARDS[job]}, {"good": msgspec.structs.replace(ENTRIES["good"], digest="later")})
    assert tasks.tasks == []
