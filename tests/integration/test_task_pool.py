"""The laws of a task pool, on Ray and on the fake that tests of the scheduler use."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from services.solve.worker.task_pool import RayTaskPool, TaskLost, TaskPool, TaskType
from tests.support.task_pool import FakeTaskPool
from tests.support.waiting import until

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
IGNORE = "RAY_IGNORE_UNHANDLED_ERRORS"


def twice(number: int) -> int:
    return 2 * number


def fail(message: str) -> int:
    raise ValueError(message)


def pair(number: int) -> tuple[int, int]:
    return number, number + 1


def die(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


ANSWERS: dict[str, Callable[..., object]] = {
    "twice": twice,
    "fail": ValueError,
    "die": lambda _: TaskLost("WorkerCrashedError: killed"),
}
"""How the fake's tasks end that end at once."""


class Fake(FakeTaskPool):
    """Ends each task as its function would."""

    def start(self, task_type: TaskType, *arguments: Any) -> Any:
        task = super().start(task_type, *arguments)
        if task_type.function.__name__ in ANSWERS:
            self.newest.end(ANSWERS[task_type.function.__name__](*arguments))
        elif task_type.function is pair:
            self.newest.end(arguments[0])
        return task


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False,
             runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}})  # fmt: skip
    yield
    ray.shutdown()


@pytest.fixture(params=["ray", "fake"])
def pool(request: pytest.FixtureRequest) -> TaskPool:
    if request.param == "ray":
        request.getfixturevalue("local_ray")
        return RayTaskPool()
    return Fake()


def ended(pool: TaskPool, task: Any) -> Any:
    """The result of a task, once it ended."""
    until(lambda: pool.wait([task], 1.0), "the task ended")
    return pool.result(task)


def test_a_task_gives_what_its_function_returns(pool: TaskPool) -> None:
    assert ended(pool, pool.start(TaskType(twice), 21)) == 42


def test_a_task_raises_what_its_function_raises(pool: TaskPool) -> None:
    with pytest.raises(ValueError, match="no answer"):
        ended(pool, pool.start(TaskType(fail), "no answer"))


def test_a_task_whose_process_dies_is_lost(pool: TaskPool) -> None:
    with pytest.raises(TaskLost, match="WorkerCrashedError"):
        ended(pool, pool.start(TaskType(die), 0))


def test_several_results_have_a_name_each(pool: TaskPool) -> None:
    first, second = pool.start(TaskType(pair, results=2), 1)
    assert ended(pool, first) == 1
    assert first != second


def test_the_results_of_a_failed_task_that_nobody_asks_for_leave_nothing_in_the_log(
    local_ray: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(IGNORE, raising=False)
    monkeypatch.setattr(logging.getLogger("ray"), "propagate", True)
    pool = RayTaskPool()
    first, second = pool.start(TaskType(fail, results=2), "no answer")
    with pytest.raises(ValueError, match="no answer"):
        ended(pool, first)
    del first, second
    assert caplog.messages == []


def test_only_ended_tasks_are_returned_and_a_cancelled_one_is_lost(pool: TaskPool) -> None:
    slow, quick = pool.start(TaskType(sleep), 600.0), pool.start(TaskType(twice), 1)
    assert ended(pool, quick) == 2
    assert pool.wait([slow, quick]) == [quick]
    pool.cancel(slow)
    with pytest.raises(TaskLost):
        ended(pool, slow)


def test_a_task_that_takes_no_processor_does_not_wait_for_those_that_take_all(pool: TaskPool) -> None:
    slow = [pool.start(TaskType(sleep), 600.0) for _ in range(3)]
    assert ended(pool, pool.start(TaskType(twice, processors=0), 2)) == 4
    assert pool.wait(slow) == []
    for task in slow:
        pool.cancel(task)


def test_waiting_for_nothing_ends_at_once(pool: TaskPool) -> None:
    assert pool.wait([], 600.0) == []
