"""A fake task pool without processes. A test ends the tasks in any order, and chooses their results."""

from collections.abc import Collection
from typing import Any

from services.solve.worker.task_pool import TaskLost, TaskType


class FakeTask:
    """A task that runs until a test ends it with `end`.

    Attributes:
        function: Name of the function.
        arguments: Its arguments.
        ended: Whether it ended.
    """

    def __init__(self, task_type: TaskType, arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = task_type.function.__name__, arguments
        self.ended = False
        self._answer: object = None

    def end(self, answer: object) -> None:
        """End the task. If `answer` is an exception, `result` raises it; otherwise `result` returns it."""
        self.ended, self._answer = True, answer

    def result(self) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class FakeTaskPool:
    """Implements `TaskPool`. tasks: all started tasks; cancelled: tasks that were cancelled before they ended."""

    def __init__(self) -> None:
        self.tasks: list[FakeTask] = []
        self.cancelled: list[FakeTask] = []

    def start(self, task_type: TaskType, *arguments: Any) -> Any:
        task = FakeTask(task_type, arguments)
        self.tasks.append(task)
        return task if task_type.results == 1 else (task, *("data" for _ in range(task_type.results - 1)))

    def wait(self, tasks: Collection[FakeTask], seconds: float = 0.0) -> list[FakeTask]:
        return [task for task in tasks if task.ended]

    def result(self, task: FakeTask) -> object:
        return task.result()

    def cancel(self, task: FakeTask) -> None:
        if not task.ended:
            self.cancelled.append(task)
            task.end(TaskLost("WorkerCrashedError: killed"))

    @property
    def newest(self) -> FakeTask:
        """The task that was started last."""
        return self.tasks[-1]


class InlineTaskPool(FakeTaskPool):
    """Implements `TaskPool`: `start` runs the task in the test process."""

    def start(self, task_type: TaskType, *arguments: Any) -> Any:
        task = super().start(task_type, *arguments)
        try:
            task.end(task_type.function(*arguments))
        except Exception as error:  # noqa: BLE001 - raised again by `result`
            task.end(error)
        return task
