"""The closer of seasons: one board at a time, tasks that fail, boards that do not apply, and a season without outcomes."""

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from services.boards.result import SolvedBoard
from services.boards.season_files import SeasonEnd, SeasonFiles
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.control.records import ControlState, Generation, Opening, Serve, SolvePlan
from services.demo import simulated
from services.engine.season_closer import SeasonCloser
from services.runtime.settings import Settings
from services.solve.worker.task_pool import TaskLost
from tests.support.folds import fold_events
from tests.support.pools import control_of, pool_of, state_of
from tests.support.task_pool import FakeTaskPool, InlineTaskPool

POOL = "p"
METHODS = {"bradley_terry": {"prior": 1.0}, "nash_average": {}}


class World:
    """An ended season of 50 games, or of none."""

    def __init__(self, folder: Path, games: int = 50) -> None:
        self.settings = Settings(data=folder)
        self.checkpoints = CheckpointStore(self.settings.checkpoint_url)
        self.files = SeasonFiles(self.checkpoints, "log")
        self.control: ControlState = control_of(pool_of(POOL))
        opening = Opening(generation=1, position=5, keep=0.0, first=2)
        first = self.control.generations[POOL][1]
        later: tuple[Generation | Serve | SolvePlan, ...] = (
            msgspec.structs.replace(first, number=2, start=5, season="autumn", opening=opening),
            SolvePlan(pool=POOL, methods=METHODS, time=0.0),  # type: ignore[arg-type]
        )
        for record in later:
            self.control.apply(self.control.position, record)
        state = state_of(POOL)
        fold_events(state, [msgspec.structs.replace(simulated.game(i, float(i)), pool=POOL) for i in range(games)])
        entry = PoolEntry(pool=POOL, kind="games", generation=1, position=5, outcomes=games, object="", sha256="", bytes=0, digest="")
        self.end = SeasonEnd(season="first", entry=entry, ended_at=0.0, log="log")
        self.arrays, self.now = state.arrays(), 0.0

    def serve(self) -> None:
        self.control.apply(self.control.position, Serve(pool=POOL, number=2, time=0.0))

    def closer(self, tasks: FakeTaskPool) -> SeasonCloser:
        return SeasonCloser(self.settings, tasks, self.checkpoints, "log")

    def step(self, closer: SeasonCloser, *held: int) -> None:
        self.now += 50.0
        closer.step(self.now, self.control, held)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_season_is_closed_when_it_has_ended_and_its_final_state_is_there(world: World) -> None:
    closer = world.closer(tasks := InlineTaskPool())
    world.step(closer)
    assert tasks.tasks == [], "the next season does not serve yet"
    world.serve()
    world.step(closer)
    assert tasks.tasks == [], "the final state is not written yet"
    world.files.write_end(world.end, world.arrays)
    world.step(closer, *range(world.settings.partitions))
    assert tasks.tasks == [], "names are being erased"
    for _ in range(6):
        world.step(closer)
    complete = world.files.complete(POOL, "first")
    assert complete is not None
    assert complete.methods == sorted(METHODS)
    rated, refused = (world.files.board(POOL, "first", method) for method in METHODS)
    assert rated is not None
    assert refused is not None
    assert (len(rated.result.agents) > 1, rated.parameters, rated.outcomes, rated.error) == (True, {"prior": 1.0}, 50, None)
    assert (refused.result.status, refused.result.agents) == ("not_applicable", [])
    assert refused.error
    assert len(tasks.tasks) == 2


def test_one_task_runs_at_a_time_and_one_that_keeps_dying_leaves_a_board_that_says_so(world: World) -> None:
    world.serve()
    world.files.write_end(world.end, world.arrays)
    closer = world.closer(tasks := FakeTaskPool())
    for tries in range(1, 4):
        world.step(closer)
        world.step(closer)
        assert len(tasks.tasks) == tries
        assert closer.solves(POOL)
        tasks.newest.end(TaskLost("killed"))
    for _ in range(3):
        world.step(closer)
    board = world.files.board(POOL, "first", "bradley_terry")
    assert board is not None
    assert (board.result.status, "did not end in 3 tries" in (board.error or "")) == ("failed", True)
    assert tasks.newest.arguments[2] == "nash_average", "the next method follows"


def test_files_that_do_not_answer_use_up_no_try(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.serve()
    world.files.write_end(world.end, world.arrays)
    write, refusals = SeasonFiles.write_board, iter(range(4))

    def write_board(self: SeasonFiles, season: str, board: SolvedBoard) -> None:
        if next(refusals, None) is not None:
            raise OSError("the object store does not answer")
        write(self, season, board)

    monkeypatch.setattr(SeasonFiles, "write_board", write_board)
    closer = world.closer(InlineTaskPool())
    for _ in range(20):
        with suppress(OSError):
            world.step(closer)
    board = world.files.board(POOL, "first", "bradley_terry")
    assert board is not None
    assert (board.result.status, board.error) == ("optimal", None)


def test_a_season_without_outcomes_has_no_solved_board(tmp_path: Path) -> None:
    world = World(tmp_path, games=0)
    world.serve()
    world.files.write_end(world.end, world.arrays)
    world.step(world.closer(tasks := FakeTaskPool()))
    complete = world.files.complete(POOL, "first")
    assert complete is not None
    assert (complete.methods, tasks.tasks) == ([], [])


def test_files_of_another_log_are_not_those_of_this_one(world: World) -> None:
    SeasonFiles(world.checkpoints, "another log").write_end(world.end, world.arrays)
    assert world.files.end(POOL, "first") is None
    world.files.write_end(world.end, world.arrays)
    assert world.files.end(POOL, "first") is not None
