"""The pool of worker processes that solves run in: a protocol of four operations, and Ray behind it."""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, ParamSpec, Protocol, TypeAlias, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

from services.runtime.private_files import make_files_private

Task: TypeAlias = Any
"""A running task, or the result of one, as the pool names it; its type is the pool's own."""


class TaskLost(Exception):  # noqa: N818 - names the fact
    """The process of a task died, or the task was cancelled, so there is no result. The same task may succeed in another try."""


@dataclass(frozen=True, slots=True)
class TaskType:
    """A function that runs in worker processes.

    Attributes:
        function: The function. Arguments and results travel between processes.
        restarts: How often the pool itself runs a task again whose process died.
        results: Number of results. With more than one, `start` returns one name for each of them.
        processors: Number of processors that it takes. A task that takes 0 starts at once, even if no processor is free.
    """

    function: Callable[..., Any]
    restarts: int = 0
    results: int = 1
    processors: int = 1


class TaskPool(Protocol):
    """Worker processes that run functions. Only `wait` waits for a task, up to its time limit."""

    def start(self, task_type: TaskType, *arguments: Any) -> Task:
        """Start a task. It waits in the pool until its processors are free. Results of other tasks may be arguments."""

    def wait(self, tasks: Collection[Task], seconds: float = 0.0) -> list[Task]:
        """The tasks that ended. Returns at once if a task has ended; otherwise waits up to `seconds` for the first one."""

    def result(self, task: Task) -> Any:
        """What an ended task returned.

        Raises:
            TaskLost: Its process died, or the task was cancelled.
            Exception: The exception that the function raised.
        """

    def cancel(self, task: Task) -> None:
        """End a task at once, with its process. It then counts as ended, and `result` raises `TaskLost`."""


def failure_text(error: Exception) -> str:
    """The reason of a failed task, for readers: the kind of error and the first line of its message."""
    return str(error) if isinstance(error, TaskLost) else f"{type(error).__name__}: {error}".splitlines()[0]


class RayTaskPool:
    """A `TaskPool` on the Ray cluster that this process has joined. Tasks run at low priority."""

    def __init__(self) -> None:
        self._functions: dict[TaskType, Any] = {}
        # The scheduler reads one result of a failed task and reports the error. Ray would also write a traceback for each other result.
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")

    def start(self, task_type: TaskType, *arguments: Any) -> Task:
        """See `TaskPool.start`."""
        if task_type not in self._functions:
            # Task events would grow the memory of the driver with every solve.
            options = {"num_cpus": task_type.processors, "max_retries": task_type.restarts, "num_returns": task_type.results}
            self._functions[task_type] = ray.remote(**options, enable_task_events=False)(giving_way(task_type.function))
        return self._functions[task_type].remote(*arguments)

    def wait(self, tasks: Collection[Task], seconds: float = 0.0) -> list[Task]:
        """See `TaskPool.wait`."""
        if not tasks:
            return []
        if seconds:
            ray.wait(list(tasks), num_returns=1, timeout=seconds)
        ended: list[Task] = ray.wait(list(tasks), num_returns=len(tasks), timeout=0)[0]
        return ended

    def result(self, task: Task) -> Any:
        """See `TaskPool.result`."""
        try:
            return ray.get(task)
        except RayTaskError as error:
            raise getattr(error, "cause", None) or error from None
        except RayError as error:
            msg = f"{type(error).__name__}: {error}"
            raise TaskLost(msg.splitlines()[0]) from error

    def cancel(self, task: Task) -> None:
        """See `TaskPool.cancel`."""
        ray.cancel(task, force=True)


NICE: Final = 15
"""Unix niceness of processes that solve, so that shards come first. Ray also gives it to workers, unless RAY_worker_niceness is set."""

P = ParamSpec("P")
R = TypeVar("R")


def giving_way(task: Callable[P, R]) -> Callable[P, R]:
    """Wrap a task so that its process has niceness `NICE` or more and writes private files. The process keeps both after the task."""

    @wraps(task)
    def given_way(*args: P.args, **kwargs: P.kwargs) -> R:
        os.nice(max(0, NICE - os.nice(0)))
        make_files_private()  # nodes of a cluster that was started elsewhere may have another umask
        return task(*args, **kwargs)

    return given_way
