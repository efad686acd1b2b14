"""A pool of simulated games and the scheduler of its solves, on a running Ray."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from services.boards.result import SolvedBoard
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated, SolvePlan
from services.demo import simulated
from services.runtime.settings import Settings
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import open_scheduler
from services.solve.worker.task_pool import RayTaskPool, Task, TaskPool, TaskType
from services.state.pool import PoolState
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.waiting import until

POOL, GOOD, BAD = simulated.POOL, "copeland", "maximal_lottery"
DEADLINE = 100.0


class OtherSolve(RayTaskPool):
    """A task pool on Ray that runs the function `solve` instead of each task's function. It takes the arguments of `solve_and_publish`."""

    def __init__(self, solve: Callable[..., bytes]) -> None:
        super().__init__()
        self._solve = solve

    def start(self, task_type: TaskType, *arguments: Any) -> Task:
        return super().start(replace(task_type, function=self._solve), *arguments)


class World:
    """A pool with checkpoints on demand, and the scheduler of its solves.

    Attributes:
        ahead: Seconds to add to the scheduler's monotonic timer.
        wall: Seconds to add to its clock.
        runner: The scheduler.
        manifests: Manifest of the newest checkpoint; empty before the first one.
    """

    def __init__(self, folder: Path, store: RedisStore, tasks: TaskPool | None = None, interval_seconds: float = 0.0) -> None:
        self.ahead = self.wall = 0.0
        self.created = PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0)
        self.made = Generation(pool=POOL, number=1, start=0, time=0.0, fold=FoldSettings())
        self.state, self.played, self.store = PoolState(self.created, self.made), 0, store
        self.checkpoints = CheckpointStore((folder / "checkpoints").as_uri())
        self.control = ControlState()
        for offset, record in enumerate([self.created, self.made, SolvePlan(pool=POOL, methods={GOOD: {}, BAD: {}}, time=0.0)]):
            self.control.apply(offset, record)
        limits = {"solve_deadline_seconds": DEADLINE, "solve_memory_bytes": 512 << 20}
        settings = Settings(data=folder, solve_seconds=0.01, interval_seconds=interval_seconds, **limits)
        solves = TaskLimits(workers=2, memory_bytes=None, solve_memory_bytes=settings.solve_memory_bytes)
        self.runner = open_scheduler(settings, self.checkpoints, store, tasks or RayTaskPool(), solves, clock=self.clock)
        self.manifests: list[Manifest] = []

    def play(self, games: int) -> int:
        """Fold `games` further games, and write a checkpoint. Returns its position."""
        assert fold_events(self.state, [simulated.game(i, float(i)) for i in range(self.played, self.played + games)]) == []
        self.played += games
        name = f"objects/at-{self.played}"
        sha256, size = self.checkpoints.write_object(name, self.state.arrays(), {})
        entry = PoolEntry(pool=POOL, kind="games", generation=1, position=self.played, outcomes=self.played, object=name, sha256=sha256,
                          bytes=size, digest=f"d{self.played}")  # fmt: skip
        log: dict[str, Any] = {"log_identity": "log", "last_offset": None, "last_sha256": None, "fold_version": 1, "written_at": 0.0}
        self.manifests = [Manifest(format=FORMAT, partition=0, position=self.played, epoch=1, pools=[entry], **log)]
        return self.played

    def clock(self) -> float:
        return time.time() + self.wall

    def timer(self) -> float:
        """The scheduler's monotonic timer."""
        return time.monotonic() + self.ahead

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(lambda: condition() or self._step(), what)

    def _step(self) -> None:
        self.runner.step(self.timer(), self.manifests, self.control)

    def board(self, method: str) -> SolvedBoard | None:
        found = self.store.solved.page(POOL, method, 0, 100)
        return None if found is None else found[0]

    def solved(self, method: str, position: int) -> Callable[[], bool]:
        return lambda: (board := self.board(method)) is not None and board.position == position and board.error is None

    def ended(self, method: str, status: str) -> int:
        return self.runner.health(0.0).ended.get((method, status), 0)
