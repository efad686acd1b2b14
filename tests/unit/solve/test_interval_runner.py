"""The runner of intervals without Ray: what stops, what cannot be read, what was damaged."""

from pathlib import Path

import pytest

from services.boards.result import AgentRow, CertificateRow, Intervals, SolvedBoard, SolveResult
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.runtime.settings import Settings
from services.solve.intervals.runner import IntervalFile, IntervalRunner
from services.solve.intervals.tasks import Facts
from services.solve.planning.jobs import Job
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
    return SolvedBoard(
        pool=pool, generation=1, position=1, outcomes=1, data="d", parameters={}, solved_at=0.0, result=result, log="log"
    )


BOARDS = {Job(pool, METHOD): board(pool) for pool in ("bad", "good")}
ENTRIES = {
    pool: PoolEntry(pool=pool, kind="games", generation=1, position=1, outcomes=1, object="o", sha256="", bytes=0, digest="d")
    for pool in ("bad", "good")
}


def test_a_checkpoint_that_cannot_be_read_keeps_no_other_pool_waiting(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner = runner_in(tmp_path, tasks)
    runner.step(0.0, True, BOARDS, ENTRIES)
    tasks.newest.end(BadObject("o: checksum differs"))
    runner.step(1.0, True, BOARDS, ENTRIES)
    runner.step(1000.0, True, BOARDS, ENTRIES)
    assert [b'"good"' in task.arguments[1] for task in tasks.tasks] == [False, True]


def test_stopping_between_two_slices_is_no_failure(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner = runner_in(tmp_path, tasks)
    runner.step(0.0, True, BOARDS, ENTRIES)
    tasks.newest.end(Facts(("a",), Intervals(kind="cells"), 0.1))
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
    assert CheckpointStore(tmp_path.as_uri()).files("intervals") == []


def test_what_failed_after_long_work_is_followed_by_a_rest(tasks: FakeTaskPool, tmp_path: Path) -> None:
    runner = runner_in(tmp_path, tasks)
    runner.step(0.0, True, BOARDS, ENTRIES)
    tasks.newest.end(ValueError("too large"))
    assert runner.step(10.0, True, BOARDS, ENTRIES) == Job("bad", METHOD)
    runner.step(99.0, True, BOARDS, ENTRIES)
    assert len(tasks.tasks) == 1
    runner.step(100.0, True, BOARDS, ENTRIES)
    assert len(tasks.tasks) == 2


@pytest.mark.parametrize("content", [b'{"pool": "\xff"}', b'{"pool"', b"[]"])
def test_a_damaged_file_is_computed_anew(tasks: FakeTaskPool, tmp_path: Path, content: bytes) -> None:
    CheckpointStore(tmp_path.as_uri()).write_file(f"intervals/bad/{METHOD}/newest.json", content)
    runner = runner_in(tmp_path, tasks)
    job = Job("bad", METHOD)
    assert runner.shown(job, BOARDS[job]) == BOARDS[job]


@pytest.mark.parametrize(
    ("data", "ends", "kept"),
    [
        ("d", (2.0, 3.0, 2, 3), True),  # percentiles of the same data may lie beside the rating
        ("before", (0.5, 1.5, 1, 1), True),
        ("before", (1.5, 3.0, 1, 1), False),
        ("before", (0.0, 0.5, 1, 1), False),
        ("before", (0.5, 1.5, 2, 3), False),
        ("before", (None, 1.5, 1, None), True),
    ],
)
def test_what_moved_out_of_an_older_interval_shows_none(
    tasks: FakeTaskPool, tmp_path: Path, data: str, ends: tuple[float | None, float | None, int, int | None], kept: bool
) -> None:
    told = Intervals(kind="cells", replicates=64, failed=0, level=0.95, assumes="a")
    file = IntervalFile(
        pool="good", method=METHOD, log="log", generation=1, data=data, parameters={}, told=told, rows={"a": ends}
    )
    runner, job = runner_in(tmp_path, tasks), Job("good", METHOD)
    runner._found[job] = file
    shown = runner.shown(job, BOARDS[job]).result.agents[0]
    assert (shown.low, shown.high, shown.rank_low, shown.rank_high) == (ends if kept else (None, None, None, None))
