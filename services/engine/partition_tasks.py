"""Run tasks in worker processes, at most one for each partition. After each failure in a row, the partition waits twice as long."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from services.runtime.logging import LogThrottle
from services.solve.worker.task_pool import Task, TaskLost, TaskPool, TaskType, failure_text

_LONGEST_PAUSE: Final = 60.0
"""Maximum pause of a partition after a failure, in seconds. The first failure in a row causes 1 s, and each further one doubles it."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A running task.

    Attributes:
        task: The task.
        started: Start time, in seconds of the timer.
        seconds: Time from the start to the deadline.
        take: Function to call with the result.
    """

    task: Task
    started: float
    seconds: float
    take: Callable[[Any], None]


@dataclass(slots=True)
class _Failures:
    """Failures of a partition in a row.

    Attributes:
        seconds: Time from the start of the next task to its deadline.
        count: Number of failures.
    """

    seconds: float
    count: int = 0


class PartitionTasks:
    """Running tasks by partition. No method waits for a task. Arguments named `now` are seconds of a monotonic timer.

    Args:
        tasks: Pool of worker processes.
        log: Logger for failures.
        trouble: Log message of a failure, with `%s` for its reason.
        seconds: Time after which a task is cancelled.
        longest: Maximum of this time. It doubles for a partition after each task that was cancelled at its deadline. None keeps `seconds`.

    Attributes:
        failures: Number of failed tasks.
    """

    def __init__(self, tasks: TaskPool, log: logging.Logger, trouble: str, seconds: float, longest: float | None = None) -> None:
        self._tasks, self._log, self._trouble, self._seconds = tasks, log, trouble, seconds
        self._longest = longest or seconds
        self._running: dict[int, _Running] = {}
        self._due_at: dict[int, float] = {}
        self._failed: dict[int, _Failures] = {}
        self._troubles = LogThrottle()
        self.failures = 0

    @property
    def busy(self) -> set[int]:
        """Partitions with a running task."""
        return set(self._running)

    def is_due(self, partition: int, now: float) -> bool:
        """Whether a partition may start a task: it has no running task, and its pause is over."""
        return partition not in self._running and now >= self._due_at.get(partition, now)

    def pause(self, partition: int, until: float) -> None:
        """Let `is_due` return False for a partition until time `until`, in seconds of the timer."""
        self._due_at[partition] = until

    def start(self, partition: int, now: float, take: Callable[[Any], None], task_type: TaskType, *arguments: Any) -> None:
        """Start a task of a partition.

        Args:
            partition: Number of the partition.
            now: Seconds of the timer.
            take: Function that a later `take_in` calls with the result. An exception in it counts as a failure of the task.
            task_type: Type of the task.
            arguments: Arguments of its function.
        """
        failed = self._failed.get(partition)
        seconds = self._seconds if failed is None else failed.seconds
        self._running[partition] = _Running(self._tasks.start(task_type, *arguments), now, seconds, take)

    def cancel(self) -> None:
        """Cancel all tasks."""
        for running in self._running.values():
            self._tasks.cancel(running.task)
        self._running = {}

    def take_in(self, now: float) -> None:
        """Cancel tasks after their deadline, and process the results of ended tasks."""
        for running in self._running.values():
            if now > running.started + running.seconds:
                self._tasks.cancel(running.task)
        ended = self._tasks.wait([running.task for running in self._running.values()])
        for partition, running in list(self._running.items()):
            if any(running.task is task for task in ended):
                del self._running[partition]
                self._end(partition, running, now)

    def _end(self, partition: int, running: _Running, now: float) -> None:
        try:
            running.take(self._tasks.result(running.task))
        except Exception as error:  # noqa: BLE001 - no error of a task may stop the engine
            self.failures += 1
            failed = self._failed.setdefault(partition, _Failures(self._seconds))
            failed.count += 1
            self.pause(partition, now + min(2.0 ** min(failed.count - 1, 10), _LONGEST_PAUSE))
            why = failure_text(error)
            if isinstance(error, TaskLost) and now > running.started + running.seconds:
                why = f"it did not end within {running.seconds:g} s and was cancelled"
                failed.seconds = min(2 * running.seconds, self._longest)
            self._troubles.warn(self._log, self._trouble, why, partition=partition)
        else:
            if self._failed.pop(partition, None) is not None:
                self._troubles.over(self._trouble)
