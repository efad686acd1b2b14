"""The lifecycle of solve jobs: random events meet no transition that the table lacks, and the ledger follows the table."""

import random

import pytest

from services.runtime.lifecycle import UndefinedTransition
from services.solve.planning.due import SolvePace, due
from services.solve.planning.jobs import JOB_LIFECYCLE, Job, JobEvent, JobStatus
from services.solve.planning.ledger import Given, Ledger

ENDS = (JobEvent.SUCCEEDED, JobEvent.REFUSED, JobEvent.FAILED, JobEvent.LOST)
METHODS = ("copeland", "bradley_terry", "insight")


@pytest.mark.parametrize("seed", range(20))
def test_random_events_meet_no_undefined_transition(seed: int) -> None:
    """Pools appear, change and disappear, workers are few, tries end in every way: the ledger never leaves the table."""
    rng, ledger, now, met = random.Random(seed), Ledger(), 0.0, set[JobStatus]()
    running: list[Job] = []
    for _ in range(300):
        now += rng.random() * 20
        pools = {f"p{i}": Given(f"d{rng.randrange(3)}", rng.randrange(3), {}) for i in range(3) if rng.random() < 0.8}
        jobs = due(now, {Job(pool, method): pools[pool] for pool in pools for method in METHODS}, ledger, SolvePace(5.0, 2), {})
        ledger.queue(jobs, now)
        for job in jobs[: rng.randrange(4)]:
            ledger.start(job, pools[job.pool], now)
            running.append(job)
        rng.shuffle(running)
        for _ in range(rng.randrange(len(running) + 1)):
            ledger.finish(running.pop(), rng.choice(ENDS))
        if rng.random() < 0.1:
            ledger.forget(Job(f"p{rng.randrange(3)}", rng.choice(METHODS)))
        assert sorted(ledger.running()) == sorted(running)
        assert len(running) == ledger.statuses()[JobStatus.RUNNING]
        assert len(ledger.waiting()) == ledger.statuses()[JobStatus.WAITING]
        met |= {status for status, count in ledger.statuses().items() if count}
    assert met == set(JobStatus)


def test_every_status_is_reached_from_the_first_one_and_can_be_left() -> None:
    reached, before = {JOB_LIFECYCLE.start}, set[JobStatus]()
    while reached != before:
        before = set(reached)
        reached |= {following for (status, _), following in JOB_LIFECYCLE.table.items() if status in before}
    assert reached == set(JobStatus)
    assert {status for status, _ in JOB_LIFECYCLE.table} == set(JobStatus)


def test_an_event_that_the_table_lacks_is_refused_by_name() -> None:
    with pytest.raises(UndefinedTransition, match="solve job: event `started` is not defined in status `solved`; defined there: due"):
        JOB_LIFECYCLE.after(JobStatus.SOLVED, JobEvent.STARTED)
