"""When an engine has to end: its Ray is gone, all of its shards are silent, or another engine took over."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray

from services.control.log import ControlLog
from services.control.records import EngineStarted, Takeover
from services.engine import engine as engine_module
from services.engine import guard as module
from services.engine.archiver import Archiver
from services.engine.engine import Engine
from services.engine.guard import Guard, RayLost, Silence, TakenOver
from services.engine.metrics import EngineMetrics
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.erasures import NoErasures
from tests.support.fake_ray import Answer, FakeRay
from tests.support.task_pool import FakeTaskPool
from tests.support.waiting import PATIENCE, until

PARTITIONS = 3
NODE = "this-node"

NO_ARCHIVE = Archiver(Settings(), FakeTaskPool(), 1)


class Nodes:
    """What Ray says of its nodes; `answer` may raise, or block."""

    def __init__(self) -> None:
        self.answer: Callable[[], list[dict[str, Any]]] = lambda: [self.node(NODE)]

    def node(self, name: str, *, alive: bool = True) -> dict[str, Any]:
        return {"NodeID": name, "Alive": alive}

    def nodes(self) -> list[dict[str, Any]]:
        return self.answer()

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: NODE)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    one = Nodes()
    monkeypatch.setattr(module, "ray", one)
    monkeypatch.setattr(module, "_ASK_SECONDS", 0.01)
    monkeypatch.setattr(module, "_JUDGE_SECONDS", 0.01)
    return one


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)) as log:
        yield log


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    one = ControlLog(log.control)
    yield one
    one.close()


def started(control: ControlLog) -> int:
    return control.append(EngineStarted(owner="machine/1", time=0.0))


def take(control: ControlLog, *partitions: int) -> None:
    for number in partitions:
        control.append(Takeover(partition=number, owner="shard-0/1", time=0.0))


@pytest.fixture
def limit(request: pytest.FixtureRequest) -> float:
    """Seconds for which Ray's control service may not answer; long, unless the test is about that."""
    return float(getattr(request, "param", PATIENCE))


@pytest.fixture
def guard(nodes: Nodes, log: Log, control: ControlLog, limit: float) -> Iterator[Guard]:
    number = started(control)
    take(control, *range(PARTITIONS))
    one = Guard(log, number, limit, lambda _: None)
    yield one
    one.stop()


def problem(guard: Guard) -> Exception:
    found: Exception = until(lambda: guard.problem, "the guard found something")
    with pytest.raises(type(found)):
        guard.check()
    return found


def quiet(guard: Guard) -> None:
    """Long enough for each question to be asked many times."""
    asked = []
    refresh = guard._control.refresh
    guard._control.refresh = lambda: asked.append(0) or refresh()  # type: ignore[method-assign,func-returns-value]
    until(lambda: len(asked) > 20, "it asked")
    guard.check()


def test_nothing_is_found_while_all_is_well(guard: Guard) -> None:
    guard.start()
    quiet(guard)


def test_a_dead_node_of_its_own_ends_the_engine_though_others_live(guard: Guard, nodes: Nodes) -> None:
    guard.start()
    nodes.answer = lambda: [nodes.node(NODE, alive=False), nodes.node("other")]
    assert str(problem(guard)) == "the Ray node of this engine is dead (1 of 2 nodes live)"


def test_the_death_of_another_node_does_not(guard: Guard, nodes: Nodes) -> None:
    nodes.answer = lambda: [nodes.node(NODE), nodes.node("other", alive=False)]
    guard.start()
    quiet(guard)


@pytest.mark.parametrize("limit", [0.3], indirect=True)
@pytest.mark.parametrize("how", ["it raises", "it blocks"])
def test_a_control_service_that_does_not_answer_ends_the_engine(guard: Guard, nodes: Nodes, how: str) -> None:
    blocked = threading.Event()

    def silent() -> list[dict[str, Any]]:
        if how == "it raises":
            raise ray.exceptions.RaySystemError("no answer")
        blocked.wait(PATIENCE)
        return [nodes.node(NODE)]

    nodes.answer = silent
    guard.start()
    assert str(problem(guard)) == "Ray's control service has not answered for 0.3 s"
    blocked.set()


def test_another_engine_ends_this_one_once_it_has_every_partition(guard: Guard, control: ControlLog) -> None:
    guard.start()
    started(control)
    take(control, 0, 1)
    quiet(guard)
    assert not guard.is_newest()
    take(control, 2)
    assert isinstance(problem(guard), TakenOver)


def test_takeovers_of_its_own_shards_do_not(guard: Guard, control: ControlLog) -> None:
    guard.start()
    take(control, *range(PARTITIONS))
    quiet(guard)
    assert guard.is_newest()


def test_a_process_whose_loop_is_blocked_is_ended(nodes: Nodes, log: Log, control: ControlLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAVE_SECONDS", 0.2)
    ended: list[Exception] = []
    guard = Guard(log, started(control), 30.0, ended.append)
    guard.note_problem(RayLost("x"))
    guard.note_problem(TakenOver())
    guard.start()
    until(lambda: ended, "ended")
    assert isinstance(ended[0], RayLost), "the first problem counts"
    guard.stop()


def test_silence_does_not_count_what_passed_while_nobody_listened() -> None:
    now = [0.0]
    silence = Silence(30.0, lambda: now[0])
    now[0] = 3600.0  # the process was stopped for an hour
    assert not silence.too_long()
    for _ in range(25):
        now[0] += 1.0
        assert not silence.too_long()
    now[0] += 1.0
    assert silence.too_long()
    silence.heard()
    now[0] += 4.0
    assert not silence.too_long()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(engine_module, "ray", fake)
    return fake


def shard(answer: object) -> Any:
    return engine_module._Shard("shard-0", SimpleNamespace(health=Answer(answer)))


class Idle:
    """A scheduler and control log with nothing to do."""

    def step(self, *_: object) -> None:
        return

    def refresh(self) -> None:
        return

    def health(self, _: float) -> Any:
        return engine_module.EngineMetrics(None).solves


def test_shards_that_are_all_silent_after_one_had_answered_end_the_engine(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, idle = Engine(Settings(), EngineMetrics(None)), Idle()
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(engine_module, "Silence", lambda limit: Silence(limit, lambda: now[0]))
    one = shard(ray.exceptions.RayActorError())
    driver._shards = [one]
    for _ in range(200):  # none has answered yet: shards that wait for room wait
        now[0] += 1.0
        driver._tick(idle, NO_ARCHIVE, NoErasures(), None, idle)
    one.actor.health.value = None, False
    driver._tick(idle, NO_ARCHIVE, NoErasures(), None, idle)
    driver._tick(idle, NO_ARCHIVE, NoErasures(), None, idle)
    one.actor.health.value = ray.exceptions.RayActorError()

    def go_on() -> None:
        for _ in range(200):
            now[0] += 1.0
            driver._tick(idle, NO_ARCHIVE, NoErasures(), None, idle)

    with pytest.raises(RayLost, match="no shard has answered for 30 s"):
        go_on()
    assert 229.0 <= now[0] <= 235.0


def test_a_shard_that_is_restarted_is_told_once(fake: FakeRay, caplog: pytest.LogCaptureFixture) -> None:
    driver = Engine(Settings(), EngineMetrics(None))
    one = shard(ray.exceptions.RayActorError())
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            driver._ask(one)
    assert caplog.text.count("shard-0 is being restarted") == 1


@pytest.mark.parametrize("newest", [True, False])
def test_a_shard_that_lost_its_partitions_is_started_again_by_the_newest_engine_only(fake: FakeRay, newest: bool) -> None:
    driver, replacement = Engine(Settings(), EngineMetrics(None)), shard((None, False))
    driver._guard = SimpleNamespace(is_newest=lambda: newest)  # type: ignore[assignment]
    one = shard((None, True))
    one.start_replacement = lambda _: replacement
    driver._shards = [one]
    driver._ask(one)
    if newest:
        driver._ask(one)
        assert driver._shards == [replacement]
    else:
        with pytest.raises(TakenOver):
            driver._ask(one)
    assert fake.killed == [one.actor]
