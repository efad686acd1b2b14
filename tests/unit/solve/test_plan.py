"""The planner of solves: what is due, in which order; nothing twice, nothing forgotten."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.solve.plan import Job, Ledger, PoolView, due

COST = {"copeland": 0, "bradley_terry": 1, "maximal_lottery": 2}
INTERVAL = 10.0


def view(pool: str = "blitz", data: str = "d1", outcomes: int = 1, **methods: dict[str, float]) -> PoolView:
    return PoolView(pool, data, outcomes, methods or {"copeland": {}})


def jobs(now: float, pools: list[PoolView], ledger: Ledger) -> list[Job]:
    return due(now, pools, ledger, INTERVAL, COST)


def ran(ledger: Ledger, pool: PoolView, start: float, method: str = "copeland") -> None:
    ledger.start(Job(pool.pool, method), pool, start)
    ledger.finish(Job(pool.pool, method))


def test_a_new_pool_is_due_at_once_and_one_without_outcomes_is_not() -> None:
    assert jobs(0.0, [view(), view("empty", outcomes=0)], Ledger()) == [Job("blitz", "copeland")]


def test_unchanged_data_is_never_solved_again() -> None:
    ledger = Ledger()
    ran(ledger, view(), 0.0)
    assert jobs(1e9, [view()], ledger) == []


@pytest.mark.parametrize("changed", [view(data="d2"), view(copeland={"alpha": 0.5})])
def test_changed_data_or_parameters_are_solved_after_the_interval(changed: PoolView) -> None:
    ledger = Ledger()
    ran(ledger, view(), 5.0)
    assert jobs(5.0 + INTERVAL - 0.001, [changed], ledger) == []
    assert jobs(5.0 + INTERVAL, [changed], ledger) == [Job("blitz", "copeland")]


def test_only_one_of_a_job_runs_and_what_changed_meanwhile_is_due_after_it() -> None:
    ledger = Ledger()
    ledger.start(Job("blitz", "copeland"), view(), 0.0)
    assert jobs(1e9, [view(data="d2")], ledger) == []
    ledger.finish(Job("blitz", "copeland"))
    assert jobs(1e9, [view(data="d2")], ledger) == [Job("blitz", "copeland")]


def test_a_failed_try_is_not_repeated_on_the_same_data() -> None:
    """A solve that failed would fail again: it waits for other outcomes or parameters."""
    ledger = Ledger()
    ran(ledger, view(), 0.0)
    assert jobs(1e9, [view()], ledger) == []


def test_the_ledger_keeps_the_parameters_as_they_were() -> None:
    parameters = {"alpha": 0.5}
    ledger, pool = Ledger(), PoolView("blitz", "d1", 1, {"copeland": parameters})
    ran(ledger, pool, 0.0)
    parameters["alpha"] = 0.25
    assert jobs(INTERVAL, [pool], ledger) == [Job("blitz", "copeland")]


def test_cheap_methods_first_then_who_waited_longest_then_by_name() -> None:
    ledger = Ledger()
    methods = {"maximal_lottery": {}, "copeland": {}}
    ran(ledger, view("a", **methods), 3.0)
    ran(ledger, view("b", **methods), 1.0)
    pools = [view(name, data="d2", **methods) for name in ("a", "b", "d", "c")]
    assert jobs(100.0, pools, ledger) == [
        Job("c", "copeland"),
        Job("d", "copeland"),
        Job("b", "copeland"),
        Job("a", "copeland"),
        *[Job(pool, "maximal_lottery") for pool in "abcd"],
    ]
    assert jobs(100.0, pools[::-1], ledger) == jobs(100.0, pools, ledger), "the order of pools decides nothing"


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
    def pools(self) -> list[PoolView]:
        return [view(f"p{i}", f"p{i}-{version}", version, copeland={}, bradley_terry={}) for i, version in enumerate(self.versions)]

    def start(self) -> None:
        views = {one.pool: one for one in self.pools}
        for job in jobs(self.now, self.pools, self.ledger)[: self.at_once - len(self.running)]:
            assert job not in self.running, "a job that runs was started again"
            self.ledger.start(job, views[job.pool], self.now)
            self.running.append(job)
            self.begun.append((job, views[job.pool].data, self.now))

    def finish(self, which: int) -> None:
        if self.running:
            self.ledger.finish(self.running.pop(which % len(self.running)))

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
    wanted = {(Job(one.pool, method), one.data) for one in world.pools if one.outcomes for method in one.methods}
    assert wanted <= {(job, data) for job, data, _ in world.begun}
    assert jobs(world.now, world.pools, world.ledger) == []


@pytest.mark.parametrize(("at_once", "rounds"), [(1, 4), (2, 2), (3, 2)])
def test_pools_that_change_all_the_time_take_turns(at_once: int, rounds: int) -> None:
    """Of four jobs of one cost each has its turn within as many rounds as it takes to run all four."""
    world = World(at_once)
    began: dict[Job, list[int]] = {}
    for number in range(60):
        world.versions = [version + 1 for version in world.versions]
        while world.running:
            world.finish(0)
        world.now += INTERVAL
        world.start()
        for job in world.running:
            began.setdefault(job, []).append(number)
    turns = [began[Job(f"p{i}", "copeland")] for i in range(4)]
    assert max(later - earlier for own in turns for earlier, later in pairwise([-1, *own])) <= rounds
