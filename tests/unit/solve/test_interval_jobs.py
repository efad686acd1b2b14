"""Intervals as jobs of the planner: which boards get them, how often they are tried, and what a failure changes."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from services.boards.result import Intervals, SolvedBoard
from services.checkpoints.checkpoint import PoolEntry
from services.solve.intervals.plan import offered
from services.solve.planning.due import SolvePace, due, pause_after
from services.solve.planning.jobs import ContentKey, Job, JobEvent
from services.solve.planning.ledger import Ledger
from tests.support.boards import solved_of

JOB = Job("blitz", "maximal_lottery")
MINE = JOB._replace(intervals=True)
BUDGET, PACE = 10.0, SolvePace(10.0, 100)


def board(**changes: Any) -> SolvedBoard:
    return msgspec.structs.replace(solved_of(position=5), **changes)


def of_result(**changes: Any) -> SolvedBoard:
    return board(result=msgspec.structs.replace(board().result, **changes))


ENTRY = PoolEntry(pool="blitz", kind="games", generation=1, position=5, outcomes=5, object="o", sha256="", bytes=0, digest=board().data)


def test_a_board_of_the_checkpointed_data_without_intervals_gets_a_job() -> None:
    [(job, given)] = offered({ContentKey("blitz"): ENTRY}, {JOB: board()}, BUDGET).items()
    assert (job, job.of_board, given.outcomes, given.parameters) == (MINE, JOB, 5, {})


@pytest.mark.parametrize(
    "other",
    [
        board(data="later"),
        board(generation=2),
        board(error="the newest try failed"),
        of_result(agents=[]),
        of_result(intervals=Intervals(kind="sandwich")),
        of_result(intervals=Intervals(kind="none", why_not="too many agents")),
        of_result(seconds=1.0),
        of_result(method="insight"),
    ],
)
def test_other_boards_get_none(other: SolvedBoard) -> None:
    """Of other data; failed; without rows; with intervals or a reason why there are none; too slow for the budget; insight."""
    assert offered({ContentKey("blitz"): ENTRY}, {Job("blitz", other.result.method): other}, BUDGET) == {}


def test_no_board_gets_one_without_a_budget_or_a_checkpoint() -> None:
    assert offered({ContentKey("blitz"): ENTRY}, {JOB: of_result(seconds=0.0)}, 0.0) == {}
    assert offered({}, {JOB: board()}, BUDGET) == {}


def test_the_same_data_solved_once_more_are_another_job() -> None:
    """As where parameters were changed and put back."""
    first, second = (offered({ContentKey("blitz"): ENTRY}, {JOB: board(solved_at=at)}, BUDGET)[MINE] for at in (1.0, 2.0))
    assert first != second


def test_solves_and_insight_that_became_due_with_intervals_come_before_them() -> None:
    given = offered({ContentKey("blitz"): ENTRY}, {JOB: board()}, BUDGET)[MINE]
    jobs = {MINE: given, JOB: given, Job("blitz", "insight"): given}
    assert due(0.0, jobs, Ledger(), PACE, {"maximal_lottery": 1, "insight": 4}) == [JOB, Job("blitz", "insight"), MINE]


def test_intervals_lost_with_their_process_are_tried_again_after_growing_pauses() -> None:
    jobs, ledger = offered({ContentKey("blitz"): ENTRY}, {JOB: board()}, BUDGET), Ledger()
    now, starts = 0.0, list[float]()
    while len(starts) < 4:
        found = due(now, jobs, ledger, PACE, {})
        ledger.queue(found, now)
        if found:
            starts.append(now)
            ledger.start(MINE, jobs[MINE], now)
            ledger.finish(MINE, JobEvent.LOST)
        now += 1.0
    pauses = [later - earlier for earlier, later in pairwise(starts)]
    assert pauses == [pause_after(losses, 10.0) for losses in (1, 2, 3)]


def test_a_job_whose_board_has_its_intervals_leaves_the_ledger() -> None:
    jobs, ledger = offered({ContentKey("blitz"): ENTRY}, {JOB: board()}, BUDGET), Ledger()
    ledger.queue(jobs, 0.0)
    ledger.start(MINE, jobs[MINE], 0.0)
    ledger.forget_ended(())
    assert ledger.newest(MINE) is not None, "it runs"
    ledger.finish(MINE, JobEvent.SUCCEEDED)
    ledger.forget_ended(jobs)
    assert ledger.newest(MINE) is not None
    ledger.forget_ended(())
    assert ledger.newest(MINE) is None
