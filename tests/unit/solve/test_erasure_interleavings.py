"""An erasure in the results of a pool while tasks end, are lost after any of their steps, the store fails, and engines start again.

When the scheduler says that a name is erased, no file, no board and no history in the store has it. In the end the erasure is complete, and
the store has the newest solve of each board at the end of its history.
"""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from services.boards.history import KeptSolve, unpacked
from services.boards.result import AgentRow, CertificateRow, Intervals, SolvedBoard, SolveResult
from services.boards.store.backoff import Backoff
from services.boards.store.protocol import StoredBoard, StoreError
from services.boards.thinning import thinned
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.control.erasures import ErasureRequest, erased_name
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated, SolvePlan
from services.runtime.settings import Settings
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import open_scheduler
from services.solve.worker.task_pool import TaskLost
from services.solve.worker.tasks import publish_file
from services.wire.pools import Kind
from tests.support.deliveries import delivered
from tests.support.task_pool import FakeTask, FakeTaskPool

POOL: Final = "blitz"
METHODS: Final = ("copeland", "borda")
NAME: Final = erased_name("ann", ())
ENDS: Final = ("whole",) * 6 + ("before all", "failed", "after the file", "after the board", "after all")
STEPS: Final = 100


class Died(Exception):  # noqa: N818 - names the fact
    """The process of a task died."""


class Store:
    """Boards and histories by the rules of Redis. dies: whether a task dies after its board; down: whether the store fails."""

    url, log = "redis://none", "log"

    def __init__(self) -> None:
        self.dies = self.down = False
        self.lose()

    @property
    def solved(self) -> "Store":
        return self

    def lose(self) -> None:
        self.boards: dict[str, SolvedBoard] = {}
        self.sequences: dict[str, int] = {}
        self.histories: dict[str, list[KeptSolve]] = {}

    def _ask(self) -> None:
        if self.down:
            raise StoreError("down", retriable=True)

    def publish(self, board: SolvedBoard) -> bool:
        self._ask()
        before, name = self.boards.get(board.name), board.name
        if self.sequences.get(name, 0) > board.sequence:
            return False
        if before is not None and (before.generation, before.position) > (board.generation, board.position):
            return False
        self.boards[name], self.sequences[name] = board, board.sequence
        if self.dies:
            raise Died
        return True

    def remove(self, _: str, name: str, sequence: int) -> None:
        self._ask()
        self.boards.pop(name, None)
        self.histories.pop(name, None)
        self.sequences[name] = sequence

    def sequence(self, _: str, name: str) -> int:
        self._ask()
        return self.sequences.get(name, 0)

    def note_erasing(self, _: dict[str, int]) -> None:
        self._ask()

    def extend_history(self, _: str, name: str, before: KeptSolve, newest: KeptSolve, count: int, most: int) -> bool:
        self._ask()
        history = [*self.histories.get(name, []), newest]
        kept = [history[at] for at in thinned([solve.past.solved_at for solve in history[:-most]])] + history[-most:]
        if len(history) < 2 or history[-2].past != before.past or len(kept) != count:
            return False
        self.histories[name] = kept
        return True

    def publish_history(self, _: str, name: str, history: Iterable[KeptSolve], sequence: int) -> None:
        self._ask()
        if self.sequences.get(name, 0) <= sequence:
            self.histories[name] = list(history)

    def complete(self, pools: Iterable[str]) -> dict[str, dict[str, StoredBoard]]:
        self._ask()
        return {pool: {name: self._stored(name) for name in self.boards} for pool in pools}

    def _stored(self, name: str) -> StoredBoard:
        history = self.histories.get(name, [])
        return StoredBoard(self.boards[name], len(history), history[-1].past.solve if history else None)

    def holders(self) -> list[str]:
        """Boards that show the erased name, in their rows or in their history."""
        shown = {name: [row.agent for row in board.result.agents] for name, board in self.boards.items()}
        for name, history in self.histories.items():
            shown.setdefault(name, []).extend(row.agent for solve in history for row in unpacked(solve.rows))
        return [name for name, agents in shown.items() if "ann" in agents]


class World:
    """A scheduler, its tasks and the store. read: results that running tasks of intervals have read."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.drawn, self.store = folder, random.Random(seed), Store()
        self.now, self.engine, self.position, self.generation = 0.0, 0, 1, 1
        self.control, fields = ControlState(), {"pool": POOL, "start": 0, "time": 0.0, "fold": FoldSettings()}
        records = [
            PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0),
            Generation(number=1, **fields),
            SolvePlan(pool=POOL, methods={method: {} for method in METHODS}, time=0.0),
            ErasureRequest(pool=POOL, name=NAME, by="x", time=0.0),
            Generation(number=2, erased=(NAME,), **fields),
        ]
        for offset, record in enumerate(records):
            self.control.apply(offset, record)
        self.start()

    def start(self) -> None:
        """Start an engine. The tasks of the one before are lost."""
        self.engine += 1
        self.tasks, self.read = FakeTaskPool(), dict[FakeTask, SolvedBoard]()
        settings = Settings(data=self.folder, solve_seconds=1.0, interval_seconds=60.0, solves_kept=3, solve_deadline_seconds=1e9)
        limits, store, files = TaskLimits(3, None, 1 << 20), self.store, CheckpointStore(self.folder.as_uri())
        options: dict[str, Any] = {"clock": lambda: self.now, "backoff": Backoff(lambda: 0.0)}
        self.runner = open_scheduler(settings, files, store, self.tasks, limits, self.engine, **options)  # type: ignore[arg-type]  # no Redis

    def running(self) -> list[FakeTask]:
        return [task for task in self.tasks.tasks if not task.ended]

    def step(self) -> None:
        at = {"position": self.position, "outcomes": self.position, "digest": f"d{self.position}", "generation": self.generation}
        entry = PoolEntry(pool=POOL, kind="games", object="o", sha256="", bytes=0, **at)  # type: ignore[arg-type]
        fields: dict[str, Any] = {"log_identity": "log", "last_offset": None, "last_sha256": None, "fold_version": 1, "written_at": 0.0}
        manifest = Manifest(format=FORMAT, partition=0, position=self.position, epoch=1, pools=[entry], **fields)
        self.runner.step(self.now, [manifest], self.control)

    def end(self, task: FakeTask, how: str) -> None:
        """End a task after any of its steps."""
        if how in ("before all", "failed"):
            task.end(TaskLost("killed") if how == "before all" else RuntimeError("broken"))
            return
        self.store.dies = how == "after the board"
        down, self.store.down = self.store.down, self.store.down or how == "after the file"
        try:
            answer = self._intervals(task) if task.function == "add_and_publish" else self._solve(task)
            task.end(answer if how == "whole" else TaskLost("killed"))
        except Died:
            task.end(TaskLost("killed"))
        except OSError as error:
            task.end(error)
        finally:
            self.store.dies, self.store.down = False, down

    def _solve(self, task: FakeTask) -> bytes:
        generation = msgspec.json.decode(task.arguments[1], type=PoolEntry).generation
        names = ["ann" if generation == 1 else NAME.token, "bob"]
        rows = [AgentRow(agent=name, rating=-float(i), rank=i + 1) for i, name in enumerate(names)]
        certificate = CertificateRow(kind="exact", value=0.0)
        method = str(task.arguments[2])
        found = SolveResult(method=method, input="pairs", agents=rows, certificate=certificate, status="optimal", seconds=0.001)
        return delivered(task, self.store, Solved(found), self.now)

    def files(self) -> ResultFiles:
        return ResultFiles(CheckpointStore(self.folder.as_uri()).blobs, 3)

    def _intervals(self, task: FakeTask) -> bytes:
        files, file = self.files(), task.arguments[5]
        board = self.read.pop(task, None) or files.read(file)
        if board is None:
            raise FileNotFoundError(file)
        intervals = Intervals(kind="cells", replicates=64, position=board.position)
        board = msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, intervals=intervals))
        files.add_intervals(file, board)
        return msgspec.json.encode(publish_file(files, self.store, board, file))  # type: ignore[arg-type]  # no Redis

    def happen(self) -> None:
        """Let some of everything happen that can happen between two steps."""
        drawn = self.drawn
        self.position += drawn.random() < 0.3
        self.store.down = drawn.random() < 0.1
        for task in self.running():
            if task.function == "add_and_publish" and drawn.random() < 0.5 and (board := self.files().read(task.arguments[5])) is not None:
                self.read.setdefault(task, board)
        for task in self.running():
            if drawn.random() < 0.35:
                self.end(task, drawn.choice(ENDS))
        if drawn.random() < 0.04:
            for task in self.running():
                self.end(task, drawn.choice(ENDS))
            self.start()
        if drawn.random() < 0.02:
            self.store.lose()

    def check(self) -> bool:
        """Whether the scheduler says that the name is erased. Fails if something still has it then."""
        if not self.runner.has_erased(POOL):
            return False
        assert [str(path) for path in self.folder.rglob("*.json") if b'"ann"' in path.read_bytes()] == []
        assert self.store.holders() == []
        return True


@pytest.mark.parametrize("seed", [10, 11, 12, 27, 52, 77])  # each found a fault once
def test_an_erasure_is_complete_when_the_scheduler_says_so_and_it_ends(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    switch = world.drawn.randrange(3, 25)
    for i in range(STEPS):
        world.now += world.drawn.choice([0.2, 1.0, 5.0])
        world.generation = 1 if i < switch else 2
        world.happen()
        if world.drawn.random() < 0.5:
            world.step()
        else:
            world.runner.go_on(world.now, 0.0)
        world.check()
    world.store.down = False
    world.position += 1
    for _ in range(60):
        world.now += 5.0
        for task in world.running():
            world.end(task, "whole")
        world.step()
    assert world.check()
    assert world.runner.health(world.now).outdated == {}
    for method in METHODS:
        board = world.store.boards[method]
        assert (board.generation, board.position) == (2, world.position)
        assert world.store.histories[method][-1].past.solve == board.solve
