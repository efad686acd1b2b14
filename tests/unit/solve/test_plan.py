"""The planner of solves: what is due, in which order; nothing twice, nothing forgotten."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.solve.planning.due import SolvePace, due
from services.solve.planning.jobs import Job, JobEvent
from services.solve.planning.ledger import Given, Ledger
from services.solve.scheduler.flights import TaskLimits

COST = {"copeland": 0, "bradley_terry": 1, "maximal_lottery": 2}
INTERVAL = 10.0
PACE = SolvePace(INTERVAL, 1000)
Pool = dict[Job, Given]


def view(pool: str = "blitz", data: str = "d1", outcomes: int = 1, **methods: dict[str, float]) -> Pool:
    return {Job(pool, method): Given(data, outcomes, parameters) for method, parameters in (methods or {"copeland": {}}).items()}


def jobs(now: float, pools: list[Pool], ledger: Ledger) -> list[Job]:
    return due(now, {job: given for pool in pools for job, given in pool.items()}, ledger, PACE, COST)


def begin(ledger: Ledger, job: Job, pool: Pool, now: float) -> None:
    """A job that is due at once starts at once."""
    ledger.queue([*ledger.waiting(), job], now)
    ledger.start(job, pool[job], now)


def ran(ledger: Ledger, pool: Pool, start: float) -> None:
    """The only job of a pool runs."""
    (job,) = pool
    begin(ledger, job, pool, start)
    ledger.finish(job, JobEvent.SUCCEEDED)


def test_a_new_pool_is_due_at_once_and_one_without_outcomes_is_not() -> None:
    assert jobs(0.0, [view(), view("empty", outcomes=0)], Ledger()) == [Job("blitz", "copeland")]


def test_unchanged_data_is_never_solved_again() -> None:
    ledger = Ledger()
    ran(ledger, view(), 0.0)
    assert jobs(1e9, [view()], ledger) == []


@pytest.mark.parametrize("changed", [view(data="d2"), view(copeland={"alpha": 0.5})])
def test_changed_data_or_parameters_are_solved_after_the_interval(changed: Pool) -> None:
    ledger = Ledger()
    ran(ledger, view(), 5.0)
    assert jobs(5.0 + INTERVAL - 0.001, [changed], ledger) == []
    assert jobs(5.0 + INTERVAL, [changed], ledger) == [Job("blitz", "copeland")]


def test_only_one_of_a_job_runs_and_what_changed_meanwhile_is_due_after_it() -> None:
    ledger = Ledger()
    begin(ledger, Job("blitz", "copeland"), view(), 0.0)
    assert jobs(1e9, [view(data="d2")], ledger) == []
    ledger.finish(Job("blitz", "copeland"), JobEvent.SUCCEEDED)
    assert jobs(1e9, [view(data="d2")], ledger) == [Job("blitz", "copeland")]


def test_a_failed_try_is_not_repeated_on_the_same_data() -> None:
    """A solve that failed would fail again: it waits for other outcomes or parameters."""
    ledger = Ledger()
    ran(ledger, view(), 0.0)
    assert jobs(1e9, [view()], ledger) == []


def test_the_ledger_keeps_the_parameters_as_they_were() -> None:
    parameters = {"alpha": 0.5}
    ledger, pool = Ledger(), view(copeland=parameters)
    ran(ledger, pool, 0.0)
    parameters["alpha"] = 0.25
    assert jobs(INTERVAL, [pool], ledger) == [Job("blitz", "copeland")]


def test_enough_new_outcomes_are_solved_before_the_interval_is_over() -> None:
    ledger = Ledger()
    ran(ledger, view(outcomes=5), 0.0)
    assert jobs(1.0, [view(data="d2", outcomes=1004)], ledger) == []
    assert jobs(1.0, [view(data="d2", outcomes=1005)], ledger) == [Job("blitz", "copeland")]


def test_a_try_lost_with_its_process_comes_again_after_ever_longer_waits() -> None:
    ledger, job, now, waits = Ledger(), Job("blitz", "copeland"), 0.0, []
    for _ in range(9):
        begin(ledger, job, view(), now)
        ledger.finish(job, JobEvent.LOST)
        waits.append(next(wait for wait in range(10_000) if jobs(now + wait, [view()], ledger)))
        now += waits[-1]
    assert waits == [20, 40, 80, 160, 320, 640, 640, 640, 640]
    ran(ledger, view(), now)
    assert jobs(1e9, [view()], ledger) == []


def test_cheap_methods_first_then_by_name_and_pools_take_turns() -> None:
    methods = {"maximal_lottery": {}, "copeland": {}}
    pools = [view(name, **methods) for name in ("b", "a")]
    expected = [Job("a", "copeland"), Job("b", "copeland"), Job("a", "maximal_lottery"), Job("b", "maximal_lottery")]
    assert jobs(100.0, pools, Ledger()) == expected
    assert jobs(100.0, pools[::-1], Ledger()) == expected, "the order of pools decides nothing"


def test_a_pool_with_solves_running_falls_back() -> None:
    ledger, busy = Ledger(), view("a", copeland={}, bradley_terry={})
    begin(ledger, Job("a", "bradley_terry"), busy, 0.0)
    assert jobs(0.0, [busy, view("b")], ledger) == [Job("b", "copeland"), Job("a", "copeland")]


def test_who_waited_longer_than_the_head_start_of_cheap_methods_comes_first() -> None:
    ledger, pools = Ledger(), [view("slow", maximal_lottery={}), view("quick")]
    waited = (COST["maximal_lottery"] - COST["copeland"]) * INTERVAL
    ledger.queue([Job("slow", "maximal_lottery")], 0.0)
    assert jobs(waited - 1, pools, ledger)[0] == Job("quick", "copeland")
    assert jobs(waited + 1, pools, ledger)[0] == Job("slow", "maximal_lottery")


def test_the_queue_remembers_since_when() -> None:
    ledger, first, second = Ledger(), Job("a", "copeland"), Job("b", "copeland")
    ledger.queue([first], 1.0)
    ledger.queue([first, second], 2.0)
    assert ledger.waiting() == {first: 1.0, second: 2.0}
    ledger.start(first, view("a")[first], 3.0)
    assert ledger.waiting() == {second: 2.0}


@given(st.lists(st.integers(1, 10), max_size=8), st.lists(st.integers(1, 10), max_size=3), st.integers(1, 5), st.integers(1, 25))
def test_what_starts_fits_together_and_room_is_used(needs: list[int], running: list[int], workers: int, memory: int) -> None:
    limits, held = TaskLimits(workers, memory, 10), list(running)
    queue = list(needs)
    while queue and limits.admit(queue[0], held):
        held.append(queue.pop(0))
    started = len(held) - len(running)
    assert len(held) <= max(workers, len(running))
    assert not started or len(held) == 1 or sum(held) <= memory
    if queue and len(held) < workers:
        assert held, "alone every job may run"
        assert sum(held) + queue[0] > memory, "room is used"
    assert TaskLimits(workers, None, 10).admit(1, running) == (len(running) < workers)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.floats(0.0, 15.0)),
        st.tuples(st.just("play"), st.integers(0, 3)),
        st.tuples(st.just("finish"), st.integers(0, 7)),
    ),
    max_size=60,
)


class World:
    """Four pools of two methods, and workers enough for `at_once` solves."""

    def __init__(self, at_once: int) -> None:
        self.now, self.ledger, self.at_once = 0.0, Ledger(), at_once
        self.versions = [0, 0, 0, 0]
        self.running: list[Job] = []
        self.begun: list[tuple[Job, str, float]] = []

    @property
    def pools(self) -> list[Pool]:
        return [view(f"p{i}", f"p{i}-{version}", version, copeland={}, bradley_terry={}) for i, version in enumerate(self.versions)]

    def start(self) -> None:
        offered = {job: given for pool in self.pools for job, given in pool.items()}
        ready = jobs(self.now, self.pools, self.ledger)
        self.ledger.queue(ready, self.now)
        for job in ready[: self.at_once - len(self.running)]:
            assert job not in self.running, "a job that runs was started again"
            self.ledger.start(job, offered[job], self.now)
            self.running.append(job)
            self.begun.append((job, offered[job].data, self.now))

    def finish(self, which: int) -> None:
        if self.running:
            self.ledger.finish(self.running.pop(which % len(self.running)), JobEvent.SUCCEEDED)

    def apply(self, step: tuple[str, float]) -> None:
        match step:
            case ("wait", seconds):
                self.now += seconds
            case ("play", pool):
                self.versions[int(pool)] += 1
            case ("finish", which):
                self.finish(int(which))
        self.start()


@given(STEPS, st.integers(1, 3))
def test_no_job_starts_twice_on_the_same_data_or_too_early_and_all_start_in_the_end(steps: list[tuple[str, float]], at_once: int) -> None:
    world = World(at_once)
    for step in steps:
        world.apply(step)
    for _ in range(64):  # nothing new comes: every solve ends, time goes by
        world.finish(0)
        world.now += INTERVAL
        world.start()
    assert len({(job, data) for job, data, _ in world.begun}) == len(world.begun)
    last: dict[Job, float] = {}
    for job, _, began in world.begun:
        assert began - last.get(job, float("-inf")) >= INTERVAL - 1e-9
        last[job] = began
    wanted = {(job, given.data) for pool in world.pools for job, given in pool.items() if given.outcomes}
    assert wanted <= {(job, data) for job, data, _ in world.begun}
    assert jobs(world.now, world.pools, world.ledger) == []


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_nobody_starves_under_load(at_once: int, seed: int) -> None:
    """Everything changes all the time, far more is due than workers can do: every job comes up within a bounded time all the same."""
    draw = random.Random(seed)
    pools = {f"p{i}": draw.sample(sorted(COST), draw.randint(1, 3)) for i in range(12)}
    ledger, running, begun, now = Ledger(), {}, {}, 0.0
    count = sum(map(len, pools.values()))
    spread = (max(COST.values()) - min(COST.values()) + len(COST) + at_once) * INTERVAL
    bound = 2 * (count * 5.0 / at_once + spread + INTERVAL)
    waited = 0.0
    for tick in range(int(2.5 * bound)):
        now = float(tick)
        views = {name: view(name, f"{name}-{tick}", tick + 1, **{method: {} for method in methods}) for name, methods in pools.items()}
        for job in [job for job, until in running.items() if until <= now]:
            del running[job]
            ledger.finish(job, JobEvent.SUCCEEDED)
        ready = jobs(now, list(views.values()), ledger)
        assert len(set(ready)) == len(ready)
        assert not set(ready) & set(running)
        ledger.queue(ready, now)
        for job in ready[: at_once - len(running)]:
            waited = max(waited, now - begun.get(job, 0.0))
            begun[job] = now
            ledger.start(job, views[job.pool][job], now)
            running[job] = now + 5.0
    assert len(begun) == count
    assert max(now - last for last in begun.values()) <= bound
    assert waited <= bound
