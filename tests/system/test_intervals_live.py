"""Intervals of a live pool's boards on a real Ray and a real Redis: they come by themselves, reproduce, and outlive the engine."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.boards.result import Intervals, SolvedBoard, SolveResult
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.control.records import ControlState, SolvePlan
from services.demo import simulated
from services.runtime.settings import Settings
from services.solve.intervals.replicates import add_intervals, seed_of
from services.solve.problems.checkpointed import problem
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import open_scheduler
from services.solve.worker.task_pool import RayTaskPool
from services.state.pool import PoolState
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.redis import flush
from tests.support.waiting import until

pytestmark = [
    pytest.mark.usefixtures("one_node"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

POOL, METHOD, OTHER, NORMAL = simulated.POOL, "fenchel_young_fit", "maximal_lottery", "bradley_terry"


def without_intervals(board: SolvedBoard) -> SolveResult:
    """The result as the solve left it."""
    rows = [msgspec.structs.replace(row, low=None, high=None, rank_low=None, rank_high=None) for row in board.result.agents]
    return msgspec.structs.replace(board.result, agents=rows, intervals=msgspec.UNSET)


class World:
    """A pool at a checkpoint, and the runner on it. Its clock runs fast, so that a rest is no wait."""

    def __init__(self, folder: Path, store: RedisStore, state: PoolState) -> None:
        self.store, self.state = store, state
        self.control = ControlState()
        plan = SolvePlan(pool=POOL, methods={METHOD: {"prior": 1.0}, OTHER: {}, NORMAL: {}}, time=0.0)
        for offset, record in enumerate([state.created, state.generation, plan]):
            self.control.apply(offset, record)
        checkpoints = CheckpointStore((folder / "checkpoints").as_uri())
        settings = Settings(data=folder, solve_seconds=0.01, solve_deadline_seconds=1e6, interval_seconds=600.0)
        limits = TaskLimits(workers=2, memory_bytes=None, solve_memory_bytes=settings.solve_memory_bytes)
        self.runner = open_scheduler(settings, checkpoints, store, RayTaskPool(), limits)
        position = state.content.counts["outcomes"]
        name = f"objects/at-{position}"
        sha256, size = checkpoints.write_object(name, state.arrays(), {})
        entry = PoolEntry(pool=POOL, kind="games", generation=1, position=position, outcomes=position, object=name, sha256=sha256,
                          bytes=size, digest=f"d{position}")  # fmt: skip
        log: dict[str, Any] = {"log_identity": "log", "last_offset": None, "last_sha256": None, "fold_version": 1, "written_at": 0.0}
        self.manifests = [Manifest(format=FORMAT, partition=0, position=position, epoch=1, pools=[entry], **log)]

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(lambda: condition() or self._step(), what)

    def _step(self) -> None:
        self.runner.step(time.time() * 100, self.manifests, self.control)

    def board(self, method: str) -> SolvedBoard | None:
        found = self.store.solved.page(POOL, method, 0, 100)
        return None if found is None else found[0]

    def redrawn(self, method: str, position: int) -> Callable[[], bool]:
        def told() -> bool:
            board = self.board(method)
            return board is not None and isinstance(board.result.intervals, Intervals) and board.result.intervals.position == position

        return told


def played(games: range, state: PoolState | None = None) -> PoolState:
    if state is None:
        state = state_of(POOL)
    assert fold_events(state, [simulated.game(i, float(i)) for i in games]) == []
    return state


def test_boards_get_their_intervals_which_reproduce_and_outlive_store_and_engine(tmp_path: Path, store: RedisStore, redis_url: str) -> None:
    state = played(range(300))
    world = World(tmp_path, store, state)
    for method in (METHOD, OTHER):
        world.until(world.redrawn(method, 300), f"intervals of {method}")
    board = world.board(METHOD)
    assert board is not None
    told = board.result.intervals
    assert isinstance(told, Intervals)
    assert (told.kind, told.failed, told.why_not) == ("posterior", 0, None)
    assert "can jump" not in told.assumes
    world.until(lambda: METHOD in world.runner.health(0.0).replicates, "the scheduler knows the intervals, which their task has published")
    assert world.runner.health(0.0).replicates[METHOD] == told.replicates

    found, seed = problem(Kind.GAMES, state.arrays()), seed_of(POOL, 300, METHOD)
    offline = add_intervals(METHOD, found, board.parameters, without_intervals(board), 3600.0, seed)
    ends = [[(row.agent, row.low, row.high, row.rank_low, row.rank_high) for row in rows] for rows in (board.result.agents, offline.agents)]
    assert ends[0] == ends[1], "the same replicates in other slices, elsewhere"

    flush(redis_url)
    later = World(tmp_path, store, played(range(300, 310), state))
    later.until(lambda: (found := later.board(METHOD)) is not None and found.position == 310, "solved at the next position")
    newer = later.board(METHOD)
    assert newer is not None
    later.until(lambda: (found := later.board(NORMAL)) is not None and found.position == 310, "the next Bradley-Terry solve")
    normal = later.board(NORMAL)
    assert normal is not None
    assert isinstance(normal.result.intervals, Intervals)
    assert normal.result.intervals.kind == "sandwich", "they come with the solve itself"
    assert all(row.low < row.rating < row.high for row in normal.result.agents if row.rating is not None and row.low and row.high)
    if not isinstance(newer.result.intervals, Intervals):
        assert all(row.low is None and row.rank_low is None for row in newer.result.agents)
    later.until(later.redrawn(METHOD, 310), "newer ones")
