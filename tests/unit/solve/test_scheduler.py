"""The scheduler of solves without Ray: tries that fail or take too long, and what readers see of them."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ratings_core.errors import InputError
from ratings_core.methods import registry
from ratings_core.methods.registry import NotApplicable
from services.boards.history import KeptSolve
from services.boards.result import AgentRow, CertificateRow, Intervals, SolvedBoard, SolveResult
from services.boards.slice_boards import SliceName
from services.boards.store.backoff import Backoff
from services.boards.store.protocol import StoredBoard, StoreError
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest, PoolEntry
from services.checkpoints.objects import BadObject
from services.control.erasures import ErasedName, ErasureRequest, erased_name
from services.control.records import ControlState, FoldSettings, Generation, Opening, PoolCreated, SolvePlan
from services.runtime.settings import Settings
from services.solve.insight.job import alarms
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles
from services.solve.scheduler.flights import TaskLimits
from services.solve.scheduler.scheduler import SolveScheduler, open_scheduler
from services.solve.worker.task_pool import TaskLost
from services.solve.worker.tasks import Delivery
from services.wire.pools import Kind
from tests.support.boards import solved_of
from tests.support.deliveries import delivered, intervals_delivered
from tests.support.disk import fill, mounted
from tests.support.task_pool import FakeTask, FakeTaskPool

DEADLINE = 120.0


def method_of(task: FakeTask) -> str:
    """The method that a solve's task runs."""
    return str(task.arguments[2])


def previous_of(task: FakeTask) -> str | None:
    """The file of the result before it."""
    found: str | None = task.arguments[5]
    return found


class Store:
    """Holds the newest board of each method. fails: called at each access; it may raise."""

    url, log = "redis://none", ""

    def __init__(self) -> None:
        self.boards: dict[str, SolvedBoard] = {}
        self.least: dict[str, int] = {}
        self.histories_held: dict[str, list[int]] = {}
        self.erasing: dict[str, int] = {}
        self.refuses = False
        self.fails: Callable[[], None] = lambda: None

    @property
    def solved(self) -> "Store":
        return self

    def publish(self, board: SolvedBoard) -> bool:
        self.fails()
        method = board.name
        if self.refuses or self.least.get(method, 0) > board.sequence:
            return False
        self.boards[method], self.least[method] = board, board.sequence
        return True

    def remove(self, _: str, method: str, sequence: int) -> None:
        self.boards.pop(method, None)
        self.least[method] = sequence

    def sequence(self, _: str, method: str) -> int:
        return self.least.get(method, 0)

    def note_erasing(self, left: dict[str, int]) -> None:
        self.erasing = left

    def extend_history(self, *_: Any) -> bool:
        return False

    def publish_history(self, _: str, method: str, history: Iterable[KeptSolve], sequence: int) -> None:
        assert sequence == self.boards[method].sequence
        self.histories_held[method] = [one.past.position for one in history]

    def complete(self, pools: Iterable[str]) -> dict[str, dict[str, StoredBoard]]:
        self.fails()
        found = {method: StoredBoard(board, len(self.histories_held.get(method, ())), board.solve) for method, board in self.boards.items()}
        return dict.fromkeys(pools, found)


class Solves(FakeTaskPool):
    """Tasks that deliver to `store`, at the time of `clock`."""

    store: Any = None
    clock: Callable[[], float] = staticmethod(lambda: 0.0)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Solves:
    monkeypatch.setenv("EQUIRANK_INTERVAL_SECONDS", "0")  # intervals have tests of their own
    return Solves()


def scheduler_in(
    settings: Settings, tasks: Solves, store: Any, *, workers: int = 1, memory: int | None = None,
    checkpoints: CheckpointStore | None = None, log_identity: str = "", **options: Any,
) -> SolveScheduler:  # fmt: skip
    """A scheduler on the checkpoints in the settings' data folder."""
    limits = TaskLimits(workers, memory, settings.solve_memory_bytes)
    tasks.store, tasks.clock, store.log = store, options.get("clock", tasks.clock), log_identity
    return open_scheduler(settings, checkpoints or CheckpointStore(settings.data.as_uri()), store, tasks, limits, **options)


def manifest_at(position: int) -> Manifest:
    entry = PoolEntry(
        pool="blitz", kind="games", generation=1, position=position, outcomes=1, object="o", sha256="", bytes=0, digest=f"d{position}"
    )
    fields: dict[str, Any] = {"log_identity": "log", "last_offset": None, "last_sha256": None, "fold_version": 1, "written_at": 0.0}
    return Manifest(format=FORMAT, partition=0, position=position, epoch=1, pools=[entry], **fields)


def end(tasks: Solves, task: FakeTask, found: Solved | None = None) -> None:
    """End a task with a result, which it delivers."""
    try:
        task.end(delivered(task, tasks.store, found or solved_by(method_of(task)), tasks.clock()))
    except OSError as error:
        task.end(error)


def end_newest(tasks: Solves) -> None:
    if not tasks.newest.ended:
        end(tasks, tasks.newest)


def solved_by(method: str) -> Solved:
    certificate = CertificateRow(kind="exact", value=0.0)
    rows = [AgentRow(agent="a", rating=1.0, rank=1)]
    result = SolveResult(method=method, input="pairs", agents=rows, certificate=certificate, status="optimal", seconds=0.1)
    return Solved(result)


def test_a_try_that_takes_too_long_keeps_the_last_result_and_says_why(tasks: Solves, tmp_path: Path) -> None:
    store, control = Store(), ControlState()
    settings = Settings(data=tmp_path, solve_deadline_seconds=DEADLINE)
    runner = scheduler_in(settings, tasks, store)
    runner.step(0.0, [manifest_at(1)], control)
    [first] = tasks.tasks
    end(tasks, first)
    runner.step(1.0, [], control)
    assert store.boards[method_of(first)].error is None
    now = 100.0
    while method_of(tasks.tasks[-1]) != method_of(first) or len(tasks.tasks) == 1:
        runner.step(now, [manifest_at(2)], control)
        if method_of(tasks.tasks[-1]) != method_of(first):
            end_newest(tasks)
        now += 1.0
    runner.step(now + 2 * DEADLINE, [], control)
    assert [method_of(task) for task in tasks.cancelled] == [method_of(first)]
    runner.step(now + 2 * DEADLINE + 1.0, [], control)
    board = store.boards[method_of(first)]
    assert (board.position, board.result.agents[0].agent) == (1, "a"), "the last good one stands"
    assert board.error == "the solve did not end within 120 s and was cancelled"


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_clock_that_is_put_to_another_time_neither_cancels_a_solve_nor_keeps_one_waiting(
    tasks: Solves, tmp_path: Path, step: float
) -> None:
    wall, store, control = [1.8e9], Store(), ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}}, time=0.0))
    settings = Settings(data=tmp_path, solve_seconds=10.0)
    runner = scheduler_in(settings, tasks, store, clock=lambda: wall[0])
    runner.step(0.0, [manifest_at(1)], control)
    wall[0] += step
    runner.step(1.0, [manifest_at(1)], control)
    assert [method_of(task) for task in tasks.cancelled] == []
    end_newest(tasks)
    runner.step(2.0, [manifest_at(1)], control)
    assert store.boards["copeland"].solved_at == wall[0]
    assert method_of(tasks.tasks[-1]) == "insight"
    end_newest(tasks)
    wall[0] += step
    runner.step(10.0, [manifest_at(2)], control)
    assert method_of(tasks.tasks[-1]) == "copeland"
    end_newest(tasks)
    runner.step(20.0, [manifest_at(2)], control)
    assert method_of(tasks.tasks[-1]) == "insight", "of the new board, whose time may be before that of the old one"
    assert len(tasks.tasks) == 4


def solved_once(tasks: Solves, folder: Path, log: str, **options: Any) -> tuple[SolveScheduler, Store, str]:
    """A runner that has solved one method at position 1 and published it."""
    store = Store()
    runner = scheduler_in(Settings(data=folder), tasks, store, log_identity=log, **options)
    runner.step(0.0, [manifest_at(1)], ControlState())
    [first] = tasks.tasks
    end(tasks, first)
    runner.step(1.0, [], ControlState())
    return runner, store, method_of(first)


@pytest.mark.parametrize("held", ["nothing", "an older one", "another result of the same position"])
def test_whatever_the_store_holds_instead_is_found_and_published_again(tasks: Solves, tmp_path: Path, held: str) -> None:
    runner, store, method = solved_once(tasks, tmp_path, "log a")
    good = store.boards.pop(method)
    changed = {
        "an older one": {"position": 0, "solved_at": 0.0},
        "another result of the same position": {"solved_at": 0.5},
    }
    if held in changed:
        store.boards[method] = msgspec.structs.replace(good, **changed[held])
    runner.step(10.0, [], ControlState())
    assert store.boards[method] == good


def test_a_season_that_begins_shows_no_ratings_of_the_one_before(tasks: Solves, tmp_path: Path) -> None:
    runner, store, method = solved_once(tasks, tmp_path, "log a")
    season = msgspec.structs.replace(manifest_at(1), pools=[msgspec.structs.replace(manifest_at(1).pools[0], generation=2, outcomes=0)])
    runner.step(10.0, [season], ControlState())
    board = store.boards[method]
    assert (board.generation, board.result.agents, board.result.status) == (2, [], "pending")
    assert board.error == "generation 2 has no outcomes yet"
    assert not runner.health(10.0).outdated, "nothing is due before the first outcome"
    runner.step(11.0, [season], ControlState())
    assert store.boards[method] == board
    assert store.histories_held[method] == [1], "what the season before ended with stays in the history"
    played = msgspec.structs.replace(manifest_at(2), pools=[msgspec.structs.replace(manifest_at(2).pools[0], generation=2)])
    for second in range(100, 110):
        runner.step(float(second), [played], ControlState())
        end_newest(tasks)
    board = store.boards[method]
    assert (board.generation, board.position, board.error) == (2, 2, None)


@pytest.mark.parametrize("opening", [None, Opening(generation=1, position=1, keep=0.0, first=2)])
def test_the_first_solve_of_a_season_compares_no_ranks_with_the_season_before(
    tasks: Solves, tmp_path: Path, opening: Opening | None
) -> None:
    runner, _, method = solved_once(tasks, tmp_path, "log a")
    pool, control, started = manifest_at(1).pools[0].pool, ControlState(), len(tasks.tasks)
    control.apply(0, Generation(pool=pool, number=2, start=1, time=0.0, fold=FoldSettings(), opening=opening))
    for second in range(10):
        runner.step(100.0 + second, [of_generation(2, 2)], control)
        end_newest(tasks)
    previous = [previous_of(task) for task in tasks.tasks[started:] if method_of(task) == method]
    assert [name is not None for name in previous] == [opening is None]


def of_generation(number: int, position: int) -> Manifest:
    manifest = manifest_at(position)
    return msgspec.structs.replace(manifest, pools=[msgspec.structs.replace(manifest.pools[0], generation=number)])


def test_a_generation_whose_data_equal_those_of_the_one_before_is_solved_anew(tasks: Solves, tmp_path: Path) -> None:
    runner, store, method = solved_once(tasks, tmp_path, "log a")
    for second in range(100, 110):
        runner.step(float(second), [of_generation(2, 1)], ControlState())
        end_newest(tasks)
    assert store.boards[method].generation == 2
    started = len(tasks.tasks)
    again = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log a")
    again.step(200.0, [of_generation(2, 1)], ControlState())
    assert method not in map(method_of, tasks.tasks[started:]), "its result of the earlier run is of these data"


def test_a_generation_that_a_method_does_not_apply_to_shows_no_ratings_of_the_one_before(tasks: Solves, tmp_path: Path) -> None:
    """As where all agents but one are banned: the board of the earlier generation would rate them for ever."""
    runner, store, method = solved_once(tasks, tmp_path, "log a")
    refused = NotApplicable("method", method, "needs at least 2 agents, there are 1")
    for second in range(100, 110):
        runner.step(float(second), [of_generation(2, 2)], ControlState())
        for task in tasks.tasks:
            if not task.ended:
                task.end(refused) if method_of(task) == method else end(tasks, task)
    board = store.boards[method]
    assert (board.generation, board.result.agents, board.result.status) == (2, [], "not_applicable")
    assert board.error == refused.rule
    assert store.histories_held[method] == [1]


def test_a_board_of_another_release_is_removed_if_this_one_refuses_it(
    tasks: Solves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Games of teams were solved by pairs: the answer from no results would stay, with a reason beside it."""
    with monkeypatch.context() as earlier:
        earlier.setattr("services.solve.worker.tasks.VERSION", "0.0.1")
        _, store, method = solved_once(tasks, tmp_path, "log a")
    assert store.boards[method].result.agents
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log a")
    for second in range(100, 110):
        runner.step(float(second), [manifest_at(2)], ControlState())
        for task in tasks.tasks:
            if not task.ended:
                task.end(NotApplicable("method", method, registry.NO_PAIRS)) if method_of(task) == method else end(tasks, task)
    board = store.boards[method]
    assert (board.result.agents, board.result.status, board.error) == ([], "not_applicable", registry.NO_PAIRS)


def test_a_store_that_lost_a_large_board_is_given_all_of_its_rows_again(tasks: Solves, tmp_path: Path) -> None:
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store)
    runner.step(0.0, [manifest_at(1)], ControlState())
    [first] = tasks.tasks
    rows = [AgentRow(agent=f"a{i}", rating=float(-i), rank=i + 1) for i in range(1000)]
    found = solved_by(method_of(first))
    end(tasks, first, Solved(msgspec.structs.replace(found.result, agents=rows)))
    runner.step(1.0, [], ControlState())
    assert store.boards.pop(method_of(first)).result.agents == rows
    runner.step(10.0, [], ControlState())
    assert store.boards[method_of(first)].result.agents == rows


def test_a_history_that_the_store_lost_alone_is_published_again(tasks: Solves, tmp_path: Path) -> None:
    runner, store, method = solved_once(tasks, tmp_path, "log a")
    assert store.histories_held.pop(method) == [1]
    runner.step(10.0, [], ControlState())
    assert store.histories_held == {method: [1]}


def test_a_newer_board_of_another_engine_is_left_alone(tasks: Solves, tmp_path: Path) -> None:
    runner, store, method = solved_once(tasks, tmp_path, "log a")
    newer = store.boards[method] = msgspec.structs.replace(store.boards[method], position=99)
    runner.step(10.0, [], ControlState())
    assert store.boards[method] == newer


@pytest.mark.parametrize(("log", "shown"), [("log a", True), ("log b", False)])
def test_results_of_another_log_are_not_shown(tasks: Solves, tmp_path: Path, log: str, shown: bool) -> None:
    _, _, method = solved_once(tasks, tmp_path, "log a")
    store = Store()
    again = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity=log)
    again.step(0.0, [], ControlState())
    assert (method in store.boards) == shown


@pytest.mark.parametrize("trouble", [BadObject("o: checksum differs"), TimeoutError("o: no answer within 60 s")])
def test_a_checkpoint_object_that_cannot_be_read_is_told_and_tried_again(tasks: Solves, tmp_path: Path, trouble: Exception) -> None:
    store, control = Store(), ControlState()
    runner = scheduler_in(Settings(data=tmp_path, solve_seconds=10.0), tasks, store)
    runner.step(0.0, [manifest_at(1)], control)
    first = tasks.tasks[0]
    first.end(trouble)
    runner.step(1.0, [manifest_at(1)], control)
    assert store.boards[method_of(first)].error == f"{type(trouble).__name__}: {trouble}"
    for second in range(2, 100):
        end_newest(tasks)
        runner.step(float(second), [manifest_at(1)], control)
    assert [method_of(flight) for flight in tasks.tasks].count(method_of(first)) == 2
    assert store.boards[method_of(first)].error is None


def test_an_object_that_a_newer_checkpoint_replaced_is_no_failure(tasks: Solves, tmp_path: Path) -> None:
    store, control = Store(), ControlState()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store)
    runner.step(0.0, [manifest_at(1)], control)
    first = tasks.tasks[0]
    first.end(BadObject("o: not found"))
    newer = manifest_at(2)
    newer = msgspec.structs.replace(newer, pools=[msgspec.structs.replace(newer.pools[0], object="newer")])
    runner.step(1.0, [newer], control)
    assert method_of(first) not in store.boards
    assert runner.health(1.0).ended == {}


def test_a_plan_that_names_a_method_of_another_version_fails_alone(tasks: Solves, tmp_path: Path) -> None:
    store, control = Store(), ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"of_tomorrow": {}, "copeland": {}}, time=0.0))
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, workers=2)
    runner.step(0.0, [manifest_at(1)], control)
    assert sorted(method_of(flight) for flight in tasks.tasks) == ["copeland", "of_tomorrow"]


def test_the_newest_results_are_kept_over_a_restart_and_the_next_solve_is_told_of_the_last(tasks: Solves, tmp_path: Path) -> None:
    """Four of them at four positions. Two are kept, and the first one of the hour."""
    control = ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}}, time=0.0))
    settings = Settings(data=tmp_path, solves_kept=2)
    store = Store()
    runner = scheduler_in(settings, tasks, store)
    for position in (1, 2, 3, 4):
        for second in range(3):  # the method, then insight
            runner.step(100.0 * position + second, [manifest_at(position)], control)
            end_newest(tasks)
    assert store.histories_held == {"copeland": [1, 3, 4]}, "insight has none"
    solves = [flight for flight in tasks.tasks if method_of(flight) == "copeland"]
    assert previous_of(solves[0]) is None
    names = [str(previous_of(flight)).rpartition("-")[0] for flight in solves[1:]]
    assert names == [f"results/blitz/copeland/0000000001-{i:020d}" for i in (1, 2, 3)]
    again = Store()
    scheduler_in(settings, tasks, again).step(500.0, [manifest_at(4)], control)
    assert again.histories_held["copeland"] == [1, 3, 4]
    assert again.boards["copeland"].version


@pytest.mark.parametrize("content", [b'{"pool": "\xff"}', b'{"pool"', b"[]"])
def test_a_damaged_result_is_left_out_and_solved_anew(tasks: Solves, tmp_path: Path, content: bytes) -> None:
    _, _, method = solved_once(tasks, tmp_path, "log a")
    checkpoints, store = CheckpointStore(tmp_path.as_uri()), Store()
    [name] = checkpoints.blobs.tree(f"results/blitz/{method}")
    checkpoints.blobs.write(name, [content])
    again = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log a")
    again.step(0.0, [manifest_at(1)], ControlState())
    assert store.boards == {}
    assert method_of(tasks.tasks[-1]) == method


def test_what_another_version_found_raises_no_alarm_and_breaks_nothing() -> None:
    board = solved_of("blitz", method="insight", position=1, ratings=[])
    other = msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, extra={"connectivity": {"groups": 2}}))
    assert alarms([other]) == {"unconnected": 0, "thinly_led": 0}


def test_solves_that_may_not_fit_together_wait_until_it_is_known_what_they_take(tasks: Solves, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, solve_seconds=1.0, solve_memory_bytes=1 << 30)
    runner = scheduler_in(settings, tasks, Store(), workers=4, memory=3 << 29)
    first, rounds = manifest_at(1), 0
    runner.step(0.0, [first], ControlState())
    while tasks.tasks[-1].ended is False:
        assert sum(not flight.ended for flight in tasks.tasks) == 1, "two of them may take more than there is"
        flight = tasks.tasks[-1]
        end(tasks, flight, msgspec.structs.replace(solved_by(method_of(flight)), memory=100 << 20))
        rounds += 1
        runner.step(float(rounds), [first], ControlState())
    assert rounds >= 4
    runner.step(100.0, [manifest_at(2)], ControlState())
    assert sum(not flight.ended for flight in tasks.tasks) == 4


def test_a_small_solve_does_not_overtake_a_large_one_that_waits_for_memory(tasks: Solves, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, solve_seconds=1.0, solve_memory_bytes=1 << 30)
    runner = scheduler_in(settings, tasks, Store(), workers=4, memory=1100 << 20)
    runner.step(0.0, [manifest_at(1)], ControlState())
    order: list[str] = []
    while not tasks.newest.ended:
        order.append(method_of(tasks.newest))
        memory = (900 if len(order) == 2 else 100) << 20
        end(tasks, tasks.newest, msgspec.structs.replace(solved_by(order[-1]), memory=memory))
        runner.step(float(len(order)), [manifest_at(1)], ControlState())
    assert len(order) >= 4
    runner.step(100.0, [manifest_at(2)], ControlState())
    running = [method_of(task) for task in tasks.tasks if not task.ended]
    assert running == order[:1], "the second one waits for memory, and those behind it wait too"


def test_a_method_that_does_not_apply_is_told_as_that_and_is_no_failure(
    tasks: Solves, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A pool of one agent has nothing to compare; nobody is to be woken for it, and its boards do not age."""
    store, settings = Store(), Settings(data=tmp_path)
    runner = scheduler_in(settings, tasks, store)
    runner.step(0.0, [manifest_at(1)], ControlState())
    [first] = tasks.tasks
    first.end(NotApplicable("method", method_of(first), "needs at least 2 agents, there are 1"))
    with caplog.at_level("INFO", "equirank.solve"):
        runner.step(1.0, [], ControlState())
    assert [(record.levelname, "not applicable" in record.message) for record in caplog.records] == [("INFO", True)]
    board = store.boards[method_of(first)]
    assert (board.result.status, board.error) == ("not_applicable", "needs at least 2 agents, there are 1")
    found = runner.health(1e6)
    assert found.ended == {(method_of(first), "not_applicable"): 1}
    assert method_of(first) not in found.outdated


def test_data_with_gaps_that_a_method_cannot_take_are_told_as_not_applicable(tasks: Solves, tmp_path: Path) -> None:
    """The checkpoint says what parameters cannot: some pairs never met. Where the method was solved before, that board stands."""
    store, settings, control = Store(), Settings(data=tmp_path, solve_seconds=1.0), ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"alpharank": {}}, time=0.0))
    runner = scheduler_in(settings, tasks, store)
    runner.step(0.0, [manifest_at(1)], control)
    gaps = InputError("missing", "refuse", "must be prior or zero: 3 pairs were not compared")
    tasks.tasks[-1].end(gaps)
    runner.step(0.5, [manifest_at(1)], control)
    board = store.boards["alpharank"]
    assert (board.result.status, board.result.agents) == ("not_applicable", [])
    assert board.error == "missing must be prior or zero: 3 pairs were not compared"
    assert runner.health(0.5).ended == {("alpharank", "not_applicable"): 1}
    while method_of(tasks.tasks[-1]) != "alpharank" or tasks.tasks[-1].ended:
        end_newest(tasks)
        runner.step(100.0, [manifest_at(2)], control)
    end_newest(tasks)
    runner.step(101.0, [manifest_at(2)], control)
    assert (store.boards["alpharank"].result.status, store.boards["alpharank"].error) == ("optimal", None)


def test_a_pool_that_starves_shows_in_the_metrics(tasks: Solves, tmp_path: Path) -> None:
    """One solve holds the only worker: what waits for it, and how long, is told by method; boards that it keeps old show their age."""
    wall, settings, control = [10.0], Settings(data=tmp_path, solve_deadline_seconds=1e6), ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}, "bradley_terry": {}}, time=0.0))
    runner = scheduler_in(settings, tasks, Store(), clock=lambda: wall[0])
    runner.step(0.0, [manifest_at(1)], control)
    while not all(flight.ended for flight in tasks.tasks):
        end_newest(tasks)
        runner.step(10.0, [manifest_at(1)], control)
    runner.step(100.0, [manifest_at(2)], control)
    [stuck] = [method_of(flight) for flight in tasks.tasks if not flight.ended]
    waiting = {"copeland", "bradley_terry", "insight"} - {stuck}
    for now in (100.0, 130.0, 400.0):
        wall[0] = now
        runner.step(now, [manifest_at(2)], control)
        found = runner.health(now)
        assert found.waiting == dict.fromkeys(waiting, 1)
        assert found.longest_wait == dict.fromkeys(waiting, now - 100.0)
        assert found.outdated == {"copeland": now - 100.0, "bradley_terry": now - 100.0, "insight": now - 100.0}, "since they are due"
    end_newest(tasks)
    runner.step(401.0, [manifest_at(2)], control)
    assert stuck not in runner.health(401.0).outdated


def test_a_board_whose_solve_failed_ages_until_a_season_without_outcomes_begins(tasks: Solves, tmp_path: Path) -> None:
    runner, _, method = solved_once(tasks, tmp_path, "log a")
    runner.step(100.0, [manifest_at(2)], ControlState())
    while method_of(tasks.newest) != method:
        end_newest(tasks)
        runner.step(101.0, [manifest_at(2)], ControlState())
    tasks.newest.end(RuntimeError("broken"))
    runner.step(102.0, [manifest_at(2)], ControlState())
    assert runner.health(200.0).outdated[method] == 100.0
    season = msgspec.structs.replace(manifest_at(2), pools=[msgspec.structs.replace(manifest_at(2).pools[0], generation=2, outcomes=0)])
    runner.step(201.0, [season], ControlState())
    assert method not in runner.health(300.0).outdated, "readers see an empty board, and no solve can change that"


def test_what_the_store_has_not_taken_ages_by_what_readers_see(tasks: Solves, tmp_path: Path) -> None:
    control = ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}}, time=0.0))

    def gone() -> None:
        raise StoreError("gone", retriable=True)

    store, wall, settings = Store(), [1.0], Settings(data=tmp_path, solve_seconds=1.0)
    runner = scheduler_in(settings, tasks, store, workers=2, clock=lambda: wall[0], backoff=Backoff(lambda: 0.0))
    runner.step(0.0, [manifest_at(1)], control)
    end_newest(tasks)
    runner.step(1.0, [manifest_at(1)], control)
    assert store.boards["copeland"].solved_at == 1.0
    store.fails = gone
    runner.step(50.0, [manifest_at(2)], control)
    wall[0] = 60.0
    end(tasks, next(task for task in tasks.tasks[::-1] if method_of(task) == "copeland"))
    runner.step(60.0, [manifest_at(2)], control)
    wall[0] = 90.0
    assert runner.health(90.0).unpublished["copeland"] == 1
    assert runner.health(90.0).outdated["copeland"] == 40.0, "readers see the board that was outdated at 50, not the newer one"
    store.fails = lambda: None
    runner.step(91.0, [manifest_at(2)], control)
    assert store.boards["copeland"].position == 2
    assert "copeland" not in runner.health(92.0).outdated


def test_between_two_plans_the_next_solve_starts_as_one_ends_and_insight_waits_for_the_next_plan(tasks: Solves, tmp_path: Path) -> None:
    store, control = Store(), ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}, "bradley_terry": {}}, time=0.0))
    runner = scheduler_in(Settings(data=tmp_path), tasks, store)
    runner.step(0.0, [manifest_at(1)], control)
    while runner.go_on(1.0, 0.0) and len(tasks.tasks) < 10:
        assert sum(not flight.ended for flight in tasks.tasks) <= 1
        end_newest(tasks)
    assert sorted(method_of(flight) for flight in tasks.tasks) == ["bradley_terry", "copeland"]
    assert store.boards.keys() == {"bradley_terry", "copeland"}, "published without another plan"
    assert not runner.go_on(2.0, 0.0), "insight would be of boards that there were not"
    runner.step(3.0, [manifest_at(1)], control)
    assert method_of(tasks.tasks[-1]) == "insight"


def test_insight_waits_while_a_board_of_its_pool_is_solved_but_not_for_ever(tasks: Solves, tmp_path: Path) -> None:
    control = ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}}, time=0.0))
    settings = Settings(data=tmp_path, solve_deadline_seconds=1e6)
    runner = scheduler_in(settings, tasks, Store(), workers=2)
    for now in (0.0, 1.0, 50.0):
        runner.step(now, [manifest_at(1)], control)
        assert [method_of(flight) for flight in tasks.tasks] == ["copeland"], "a worker is free all the same"
    runner.step(61.0, [manifest_at(1)], control)
    assert [method_of(flight) for flight in tasks.tasks] == ["copeland", "insight"]


def test_a_result_that_finds_no_room_is_told_and_solved_again(tasks: Solves, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", 1 << 20) as disk:
        runner, store, method = solved_once(tasks, disk, "log")
        ballast, files = fill(disk), sorted(disk.rglob("*.json"))
        runner.step(100.0, [manifest_at(2)], ControlState())
        while method_of(tasks.newest) != method:
            end_newest(tasks)
            runner.step(101.0, [manifest_at(2)], ControlState())
        end_newest(tasks)
        runner.step(102.0, [manifest_at(2)], ControlState())
        assert (store.boards[method].position, "No space left" in str(store.boards[method].error)) == (1, True), "the last good one stands"
        assert sorted(disk.rglob("*.json")) == files, "nothing half-written"
        ballast.unlink()
        for second in range(110, 200):
            runner.step(float(second), [manifest_at(2)], ControlState())
            end_newest(tasks)
        assert (store.boards[method].position, store.boards[method].error) == (2, None)


def of_copeland(position: int = 1, **parameters: float | str | bool) -> tuple[ControlState, list[Manifest]]:
    """A pool that is solved by one method with these parameters, at this position."""
    control = ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": parameters}, time=0.0))
    return control, [manifest_at(position)]


def test_a_task_that_ends_after_a_newer_solve_changes_nothing(tasks: Solves, tmp_path: Path) -> None:
    """Its process was given up, and the parameters of the method changed meanwhile."""
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, workers=2, log_identity="log")
    control, manifests = of_copeland()
    runner.step(0.0, manifests, control)
    [late] = tasks.tasks
    late.end(TaskLost("WorkerCrashedError: killed"))
    runner.step(1.0, manifests, control)
    control, manifests = of_copeland(tie_tolerance=0.5)
    runner.step(100.0, manifests, control)
    end(tasks, next(task for task in tasks.tasks if not task.ended and method_of(task) == "copeland"))
    runner.step(101.0, manifests, control)
    shown, files = store.boards["copeland"], sorted(tmp_path.rglob("*.json"))
    assert shown.parameters == {"tie_tolerance": 0.5}
    assert msgspec.json.decode(delivered(late, store, solved_by("copeland"), 0.0), type=Delivery).superseded
    assert store.boards["copeland"] == shown
    assert sorted(tmp_path.rglob("*.json")) == files, "nor is its file kept"


def test_a_task_of_a_method_that_was_removed_during_its_solve_publishes_nothing(tasks: Solves, tmp_path: Path) -> None:
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, workers=2, log_identity="log")
    control, manifests = of_copeland()
    runner.step(0.0, manifests, control)
    end_newest(tasks)
    runner.step(1.0, manifests, control)
    runner.step(100.0, [manifest_at(2)], control)
    late = next(task for task in tasks.tasks if not task.ended and method_of(task) == "copeland")
    control.apply(1, SolvePlan(pool="blitz", methods={"borda": {}}, time=0.0))
    runner.step(101.0, [manifest_at(2)], control)
    assert "copeland" not in store.boards
    end(tasks, late)
    runner.step(102.0, [manifest_at(2)], control)
    runner.step(103.0, [manifest_at(2)], control)
    assert "copeland" not in store.boards
    assert list(tmp_path.rglob("copeland/*.json")) == []
    assert runner.health(103.0).ended["copeland", "superseded"] == 1
    assert runner.health(103.0).jobs["lost"] == 0, "nothing is left to try"


def test_boards_of_slices_that_a_pool_lost_are_removed_a_few_at_a_time(tasks: Solves, tmp_path: Path) -> None:
    """The engine asks its shards between two steps, so a step must not remove thousands of boards."""
    store, (control, manifests), files = Store(), of_copeland(), ResultFiles(BlobFiles(tmp_path.as_uri()), 10)
    for number in range(50):
        kept = solved_of("blitz", method="copeland", position=1, ratings=[("a", 1.0)])
        files.write(msgspec.structs.replace(kept, log="log", slice=f"map:{number}"))
    runner, left = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log"), []
    for now in range(4):
        runner.step(float(now), manifests, control)
        left.append(len(list(tmp_path.rglob("copeland~*/*.json"))))
    assert left == [30, 10, 0, 0]
    assert not [board for board in store.boards if "~" in board]


def test_files_that_cannot_be_deleted_hold_up_no_other_board_and_no_solve(
    tasks: Solves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store, (control, manifests), files = Store(), of_copeland(), ResultFiles(BlobFiles(tmp_path.as_uri()), 10)
    for number in range(3):
        kept = solved_of("blitz", method="copeland", position=1, ratings=[("a", 1.0)])
        files.write(msgspec.structs.replace(kept, log="log", slice=f"map:{number}"))
    refused, remove = SliceName("map", "0").board("copeland"), BlobFiles.remove

    def removing(self: BlobFiles, name: str) -> None:
        if f"/{refused}/" in name:
            raise PermissionError(13, "Permission denied", name)
        remove(self, name)

    monkeypatch.setattr(BlobFiles, "remove", removing)
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log")
    for now in range(4):
        runner.step(float(now), manifests, control)
    assert [path.parent.name for path in tmp_path.rglob("copeland~*/*.json")] == [refused]
    assert not [board for board in store.boards if "~" in board], "readers do not see it any more"
    assert method_of(tasks.newest) == "copeland", "the pool is solved"
    [line] = [record for record in caplog.records if "cannot be deleted, trying again" in record.message]
    assert (line.__dict__["pool"], line.__dict__["method"]) == ("blitz", refused)
    monkeypatch.undo()
    runner.step(4.0, manifests, control)
    assert list(tmp_path.rglob("copeland~*/*.json")) == []


def test_a_board_whose_file_was_gone_is_removed_with_its_method(tasks: Solves, tmp_path: Path) -> None:
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log")
    control, manifests = of_copeland()
    runner.step(0.0, manifests, control)
    end_newest(tasks)
    for file in tmp_path.rglob("copeland/*.json"):
        file.unlink()
    store.histories_held.clear()
    runner.step(10.0, manifests, control)
    assert "copeland" in store.boards
    control.apply(1, SolvePlan(pool="blitz", methods={}, time=0.0))
    runner.step(20.0, manifests, control)
    assert "copeland" not in store.boards


def test_a_task_of_an_earlier_engine_loses_against_those_of_a_later_one(tasks: Solves, tmp_path: Path) -> None:
    store, (control, manifests) = Store(), of_copeland()
    for engine in (7, 8):
        runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log", engine=engine)
        runner.step(0.0, manifests, control)
    late, newer = tasks.tasks
    end(tasks, newer)
    shown = store.boards["copeland"]
    end(tasks, late)
    assert store.boards["copeland"] == shown


def test_a_solve_that_the_store_refused_is_tried_again_with_growing_pauses(tasks: Solves, tmp_path: Path) -> None:
    store, (control, manifests) = Store(), of_copeland()
    runner = scheduler_in(Settings(data=tmp_path, solve_seconds=10.0), tasks, store, log_identity="log")
    store.refuses, started = True, []
    for second in range(200):
        runner.step(float(second), manifests, control)
        if method_of(tasks.newest) == "copeland" and not tasks.newest.ended:
            started.append(second)
        end_newest(tasks)
    assert started == [0, 20, 60, 140]


def test_a_sequence_in_the_store_that_no_engine_gave_is_exceeded(tasks: Solves, tmp_path: Path) -> None:
    """The control log and the result files were lost, and the store was not."""
    store, (control, manifests) = Store(), of_copeland()
    runner = scheduler_in(Settings(data=tmp_path, solve_seconds=10.0), tasks, store, log_identity="log")
    store.least["copeland"] = 1 << 40
    for second in range(60):
        runner.step(float(second), manifests, control)
        end_newest(tasks)
    assert store.boards["copeland"].sequence > 1 << 40


def test_intervals_are_those_of_the_newest_board(tasks: Solves, tmp_path: Path) -> None:
    """The parameters change while the intervals of the board before are planned."""
    store, (control, manifests) = Store(), of_copeland()
    runner = scheduler_in(Settings(data=tmp_path, interval_seconds=5.0), tasks, store, log_identity="log")
    runner.step(0.0, manifests, control)
    end_newest(tasks)
    control, manifests = of_copeland(tie_tolerance=0.5)
    runner.step(100.0, manifests, control)
    end(tasks, tasks.newest)
    runner.go_on(101.0, 0.0)
    assert "add_and_publish" not in {task.function for task in tasks.tasks}, "its board is not the newest one"
    for second in (102.0, 103.0):
        runner.step(second, manifests, control)
        if tasks.newest.function != "add_and_publish":
            end(tasks, tasks.newest)
    assert tasks.newest.function == "add_and_publish"
    tasks.newest.end(intervals_delivered(tasks.newest, store))
    runner.step(104.0, manifests, control)
    shown = store.boards["copeland"]
    assert (shown.parameters, isinstance(shown.result.intervals, Intervals)) == ({"tie_tolerance": 0.5}, True)


def test_a_name_that_a_task_brings_back_while_its_pool_rests_is_erased_again(tasks: Solves, tmp_path: Path) -> None:
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log")
    control, name = erasing()
    runner.step(0.0, [of_generation(1, 1)], control)
    [late] = tasks.tasks
    runner.step(1.0, [of_generation(2, 1)], control)
    end(tasks, late)
    runner.step(2.0, [], control)
    for second in (3.0, 4.0):
        runner.step(second, [of_generation(2, 1)], control)
    assert [row.agent for row in store.boards["copeland"].result.agents] == [name.token]
    assert all(b'"agent":"a"' not in path.read_bytes() for path in tmp_path.rglob("*.json"))


def test_an_erasure_waits_for_a_board_whose_file_is_gone(tasks: Solves, tmp_path: Path) -> None:
    """The store still shows the name, until the board is solved again."""
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log")
    control, name = erasing()
    runner.step(0.0, [of_generation(1, 1)], control)
    end_newest(tasks)
    runner.step(1.0, [of_generation(1, 1)], control)
    end_newest(tasks)
    for path in tmp_path.rglob("copeland/*.json"):
        path.unlink()
    for second in range(2, 100):
        runner.step(float(second), [of_generation(2, 1)], control)
        shown = [row.agent for row in store.boards["copeland"].result.agents]
        assert shown == [name.token] or not runner.has_erased("blitz")
        if not tasks.newest.ended:
            rows = [AgentRow(agent=name.token, rating=1.0, rank=1)]
            solved = solved_by(method_of(tasks.newest))
            end(tasks, tasks.newest, Solved(msgspec.structs.replace(solved.result, agents=rows)))
    assert runner.has_erased("blitz")


def test_a_result_whose_file_is_gone_is_solved_again(tasks: Solves, tmp_path: Path) -> None:
    runner, store, method = solved_once(tasks, tmp_path, "log")
    for path in tmp_path.rglob(f"{method}/*.json"):
        path.unlink()
    store.boards.clear()
    for second in range(10, 100):
        runner.step(float(second), [manifest_at(1)], ControlState())
        end_newest(tasks)
    assert store.boards[method].position == 1


def erasing() -> tuple[ControlState, ErasedName]:
    """A pool that is solved by one method, and whose second generation erases the agent `a`."""
    control, name, fields = ControlState(), erased_name("a", ()), {"pool": "blitz", "start": 0, "time": 0.0, "fold": FoldSettings()}
    records = [
        PoolCreated(pool="blitz", kind=Kind.GAMES, time=0.0),
        Generation(number=1, **fields),
        SolvePlan(pool="blitz", methods={"copeland": {}}, time=0.0),
        ErasureRequest(pool="blitz", name=name, by="x", time=0.0),
        Generation(number=2, erased=(name,), **fields),
    ]
    for offset, record in enumerate(records):
        control.apply(offset, record)
    return control, name


def test_no_task_of_an_earlier_generation_brings_an_erased_name_back(tasks: Solves, tmp_path: Path) -> None:
    store = Store()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, workers=2, log_identity="log")
    control, name = erasing()
    runner.step(0.0, [of_generation(1, 1)], control)
    end_newest(tasks)
    runner.step(1.0, [of_generation(1, 1)], control)
    runner.step(100.0, [of_generation(1, 2)], control)
    late = next(task for task in tasks.tasks if not task.ended and method_of(task) == "copeland")
    runner.step(101.0, [of_generation(2, 1)], control)
    assert [row.agent for row in store.boards["copeland"].result.agents] == [name.token]
    assert not runner.has_erased("blitz"), "a task may still write the name"
    end(tasks, late)
    assert [row.agent for row in store.boards["copeland"].result.agents] == [name.token]
    end(tasks, next(task for task in tasks.tasks if not task.ended and method_of(task) == "insight"))
    for second in (102.0, 103.0):
        runner.step(second, [of_generation(2, 1)], control)
    assert runner.has_erased("blitz")
    assert all(b'"agent":"a"' not in path.read_bytes() for path in tmp_path.rglob("*.json"))


def test_a_store_that_hangs_is_left_alone_for_longer_than_it_hung(tasks: Solves, tmp_path: Path) -> None:
    """Solves are started between: each of its failures takes as long as many of them."""
    now, asked = [0.0], list[float]()

    def hang() -> None:
        asked.append(now[0])
        now[0] += 15.0
        raise StoreError("no answer", retriable=True)

    runner, store, _ = solved_once(tasks, tmp_path, "log", backoff=Backoff(lambda: now[0]))
    store.boards.clear()
    store.fails = hang
    while now[0] < 300.0:
        runner.step(now[0], [manifest_at(1)], ControlState())
        now[0] += 1.0
    assert 5 <= len(asked) <= 8
    assert all(later - earlier >= 45.0 for earlier, later in pairwise(asked))
    store.fails = lambda: None
    while runner.health(now[0]).unpublished:
        runner.step(now[0], [manifest_at(1)], ControlState())
        now[0] += 1.0
    assert now[0] < 350.0, "it is asked again soon"


def test_a_board_that_may_hold_an_erased_name_is_solved_after_its_results_were_searched(
    tasks: Solves, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search gives its results a higher sequence, so the store would refuse a solve that began before."""
    store, (control, name) = Store(), erasing()
    runner = scheduler_in(Settings(data=tmp_path), tasks, store, log_identity="log")
    runner.step(0.0, [of_generation(1, 1)], control)
    end_newest(tasks)
    runner.step(1.0, [of_generation(1, 1)], control)
    end_newest(tasks)
    started = len(tasks.tasks)
    monkeypatch.setattr("services.solve.scheduler.scheduler._RESULTS_A_STEP", 0)
    for second in (100.0, 101.0):
        runner.step(second, [of_generation(2, 2)], control)
        assert (runner.health(second).erasing, store.erasing) == (2, {"blitz": 2})
    assert len(tasks.tasks) == started, "both boards wait"
    assert not runner.has_erased("blitz")
    monkeypatch.undo()
    runner.step(102.0, [of_generation(2, 2)], control)
    assert (runner.health(102.0).erasing, store.erasing) == (0, {"blitz": 0})
    assert [row.agent for row in store.boards["copeland"].result.agents] == [name.token]
    assert method_of(tasks.newest) == "copeland"
    assert len(tasks.tasks) == started + 1


def test_the_age_of_a_board_counts_from_when_its_next_solve_was_due(tasks: Solves, tmp_path: Path) -> None:
    """A board of a pool or slice that rarely gets an outcome is old when it becomes due, and nobody is late then."""
    control = ControlState()
    control.apply(0, SolvePlan(pool="blitz", methods={"copeland": {}}, time=0.0))
    runner = scheduler_in(Settings(data=tmp_path), tasks, Store())

    def outdated(now: float, position: int) -> dict[str, float]:
        runner.step(now, [manifest_at(position)], control)
        return {method: age for method, age in runner.health(now).outdated.items() if method == "copeland"}

    outdated(0.0, 1)
    end_newest(tasks)
    assert outdated(1.0, 1) == {}
    end_newest(tasks)
    assert outdated(1e6, 1) == {}, "nothing is due"
    assert outdated(1e6 + 1.0, 2) == {"copeland": 0.0}
    tasks.newest.end(ValueError("no convergence"))
    assert outdated(1e6 + 50.0, 2) == {"copeland": 49.0}, "a failed solve is no answer"
    assert outdated(1e6 + 90.0, 3) == {"copeland": 89.0}, "nor is the next one before it ends"
    while method_of(tasks.newest) != "copeland" or tasks.newest.ended:
        end_newest(tasks)
        outdated(1e6 + 90.0, 3)
    end_newest(tasks)
    assert outdated(1e6 + 91.0, 3) == {}
    runner.step(1e6 + 200.0, [], control)
    assert outdated(1e6 + 300.0, 4) == {"copeland": 0.0}
    runner.step(1e6 + 400.0, [], control)
    assert runner.health(1e6 + 400.0).outdated == {}, "its pool is stopped"
