"""Tasks in worker processes, at most one for each partition. A failed one may start again later, ever more seldom."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from services.runtime.logging import LogThrottle
from services.solve.worker.task_pool import Task, TaskLost, TaskPool, TaskType, failure_text

_LONGEST_PAUSE: Final = 60.0
"""Seconds after a failure, at most; the first failure in a row waits one second, each further one twice as long."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A task under way. started: seconds of the timer; seconds: how long it may take; take: takes its result."""

    task: Task
    started: float
    seconds: float
    take: Callable[[Any], None]


class PartitionTasks:
    """Never waits. Arguments named `now` are seconds of a timer that never goes back.

    trouble: what is logged of a failure, with a place for its reason. seconds: after which a task is cancelled. longest: after a task that
    was cancelled, the next one of its partition may take twice as long, up to this; None: no longer than the first. failures: tasks that
    failed.
    """

    def __init__(self, tasks: TaskPool, log: logging.Logger, trouble: str, seconds: float, longest: float | None = None) -> None:
        self._tasks, self._log, self._trouble, self._seconds = tasks, log, trouble, seconds
        self._longest = longest or seconds
        self._allowed: dict[int, float] = {}
        """Seconds of the next task of a partition whose last one was cancelled."""
        self._running: dict[int, _Running] = {}
        self._due_at: dict[int, float] = {}
        self._failed: Counter[int] = Counter()
        self._troubles = LogThrottle()
        self.failures = 0

    @property
    def busy(self) -> set[int]:
        """Partitions that a task works on now."""
        return set(self._running)

    def is_due(self, partition: int, now: float) -> bool:
        """Whether a task may start for a partition."""
        return partition not in self._running and now >= self._due_at.get(partition, now)

    def pause(self, partition: int, until: float) -> None:
        """Start no task for a partition before that."""
        self._due_at[partition] = until

    def start(self, partition: int, now: float, take: Callable[[Any], None], task_type: TaskType, *arguments: Any) -> None:
        """Start a task. take: is called with its result by a later `take_in`; whatever it raises counts as the task's failure."""
        seconds = self._allowed.get(partition, self._seconds)
        self._running[partition] = _Running(self._tasks.start(task_type, *arguments), now, seconds, take)

    def cancel(self) -> None:
        """End all tasks."""
        for running in self._running.values():
            self._tasks.cancel(running.task)
        self._running = {}

    def take_in(self, now: float) -> None:
        """Take the results of tasks that ended, and cancel those that are past their deadline."""
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
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the stream goes on
            self.failures += 1
            self._failed[partition] += 1
            self.pause(partition, now + min(2.0 ** min(self._failed[partition] - 1, 10), _LONGEST_PAUSE))
            why = failure_text(error)
            if isinstance(error, TaskLost) and now > running.started + running.seconds:
                why = f"it did not end within {running.seconds:g} s and was cancelled"
                self._allowed[partition] = min(2 * running.seconds, self._longest)
            self._troubles.warn(self._log, self._trouble, why, partition=partition)
        else:
            self._allowed.pop(partition, None)
            if self._failed.pop(partition, 0):
                self._troubles.over(self._trouble)
