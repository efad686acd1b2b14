"""Solves of the sliced pool: a scheduler on the checkpoints of an installation, whose tasks run in this process."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.solve.registry.choice import plan_of
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import SolveScheduler, open_scheduler
from tests.support.sliced_pools import POOL
from tests.support.task_pool import InlineTaskPool
from tests.support.worker import HOME, store_of, until

METHODS: dict[str, dict[str, Any]] = {"bradley_terry": {"prior": 1.0}, "copeland": {}, "maximal_lottery": {}}
SLICES = {"language": ["bradley_terry", "maximal_lottery"], "map": ["bradley_terry"]}


class Solver:
    """The scheduler of an installation, whose tasks run in this process.

    Attributes:
        scheduler: The scheduler.
        control: The control log.
        now: Seconds of its timer; each step adds an hour, so that all jobs with new data are due.
    """

    def __init__(self, scheduler: SolveScheduler, checkpoints: CheckpointStore, control: ControlLog) -> None:
        self.scheduler, self._checkpoints, self.control, self.now = scheduler, checkpoints, control, 0.0

    def choose(self, slices: dict[str, list[str]], methods: dict[str, dict[str, Any]] = METHODS) -> None:
        self.control.append(plan_of(self.control.refresh(), POOL, methods, 0.0, slices))

    def step(self) -> None:
        self.now += 3600.0
        manifest = self._checkpoints.newest(HOME)
        self.scheduler.step(self.now, [] if manifest is None else [manifest], self.control.refresh())

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(lambda: condition() or self.step(), what)  # type: ignore[func-returns-value]

    @property
    def solves(self) -> int:
        """Number of solves that ended, without insight."""
        return sum(count for (method, _), count in self.scheduler.health(self.now).ended.items() if method in METHODS)


@contextmanager
def solving(settings: Settings, log: Log) -> Iterator[Solver]:
    """A scheduler on the checkpoints of an installation."""
    with store_of(settings, log) as store, closing(ControlLog(log.control)) as control:
        checkpoints = CheckpointStore(settings.checkpoint_url)
        limits = TaskLimits(workers=2, memory_bytes=None, solve_memory_bytes=settings.solve_memory_bytes)
        yield Solver(open_scheduler(settings, checkpoints, store, InlineTaskPool(), limits), checkpoints, control)
