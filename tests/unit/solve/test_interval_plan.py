"""Which board gets its intervals next: those that changed, within the budget, whoever waited longest; and rest after work."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.boards.result import SolvedBoard
from services.solve.intervals.plan import LOAD, Redrawn, next_job, rested
from services.solve.planning.jobs import Job
from tests.support.boards import solved_of

COST = {"copeland": 1, "nash_average": 2, "deviation": 3}
A, B, C = (Job("blitz", method) for method in COST)


Standing = tuple[Job, SolvedBoard]


def wanted(boards: list[Standing], tried: dict[Job, Redrawn] | None = None, budget: float = 5.0, now: float = 0.0) -> Job | None:
    return next_job(now, dict(boards), tried or {}, budget, 32, COST, 10.0)


def board(job: Job, data: str = "d1", seconds: float = 0.01, **parameters: float) -> Standing:
    solved = solved_of(job.pool, method=job.method, ratings=[("a", 1.0)])
    result = msgspec.structs.replace(solved.result, seconds=seconds)
    return job, msgspec.structs.replace(solved, data=data, parameters=dict(parameters), result=result)


def test_the_cheaper_class_goes_first_and_unchanged_data_never_again() -> None:
    assert wanted([]) is None
    assert wanted([board(C), board(B), board(A)]) == A
    assert wanted([board(A)], {A: Redrawn(board(A)[1].solve, 9.0)}) is None


@pytest.mark.parametrize("changed", [board(A, "d2"), board(A, prior=1.0)])
def test_changed_data_or_parameters_are_redrawn(changed: Standing) -> None:
    assert wanted([changed], {A: Redrawn(board(A)[1].solve, 9.0)}) == A


@pytest.mark.parametrize(("losses", "pause"), [(1, 20.0), (2, 40.0), (6, 640.0), (9, 640.0)])
def test_a_lost_try_is_repeated_after_a_pause_that_doubles_with_every_loss(losses: int, pause: float) -> None:
    tried = {A: Redrawn(board(A)[1].solve, 9.0, losses)}
    assert wanted([board(A)], tried, now=9.0 + pause - 0.1) is None
    assert wanted([board(A)], tried, now=9.0 + pause) == A


def test_what_a_budget_does_not_hold_is_left_alone() -> None:
    assert wanted([board(A, seconds=5 / 32)]) == A
    assert wanted([board(A, seconds=5 / 31)]) is None
    assert wanted([board(A)], budget=0.0) is None


def test_rest_is_in_proportion_to_work() -> None:
    assert rested(0.0, float("-inf"), 0.0)
    assert not rested(100.0, 100.0 - LOAD * 2 + 0.1, 2.0)
    assert rested(100.0, 100.0 - LOAD * 2, 2.0)


@given(st.lists(st.sampled_from([f"p{i}" for i in range(5)]), min_size=30, max_size=30))
def test_nobody_starves_however_often_others_change(changing: list[str]) -> None:
    """Every board is looked at once in as many turns as there are boards, whichever of them change in between."""
    jobs = [Job(f"p{i}", method) for i in range(5) for method in ("copeland", "deviation")]
    tried: dict[Job, Redrawn] = {}
    last = dict.fromkeys(jobs, -1)
    for turn, pool in enumerate(changing):
        boards = [board(job, f"d{turn}" if job.pool == pool else f"never {turn}") for job in jobs]
        job = wanted(boards, tried)
        assert job is not None
        assert turn - last[job] >= len(jobs) or last[job] == -1
        last[job] = turn
        tried[job] = Redrawn((), float(turn))
