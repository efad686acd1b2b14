"""Erases names from what is kept, by tasks in worker processes: a partition at a time, once its boards and results hold them no more.

The control log says which names, and which of them are erased everywhere. All else follows from what is kept, so an engine that starts
continues the work of the last one. Folding and solving do not wait.
"""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from services.admin.erasure import erase_kept
from services.control.erasures import ArchiveRewrite, ErasedName, ErasureDone, ErasureRequest
from services.control.log import ControlLog
from services.control.records import ControlState
from services.log.partition import partition_of
from services.runtime.logging import LogThrottle
from services.runtime.settings import Settings
from services.solve.worker.task_pool import Task, TaskPool, TaskType, failure_text

log = logging.getLogger("equirank.erasure")

_LONGEST_PAUSE: Final = 60.0
"""Seconds after a failure, at most; the first failure in a row waits one second, each further one twice as long."""
_TROUBLE: Final = "an erasure waits: %s"
_ERASE: Final = TaskType(erase_kept)


@dataclass(frozen=True, slots=True)
class ErasureHealth:
    """Where erasures stand, for metrics.

    Attributes:
        pending: Names that something still holds.
        oldest_seconds: For how long the first of them has been asked for.
        failures: Tasks that failed since the engine's start.
    """

    pending: int = 0
    oldest_seconds: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class _Partition:
    """The erasures of one partition. erased: how many this engine saw through; due_at: seconds of the timer; failures: in a row."""

    erased: int = 0
    due_at: float = float("-inf")
    failures: int = 0


@dataclass(frozen=True, slots=True)
class _Running:
    """A task under way for the first erasures of a partition."""

    partition: int
    requests: Sequence[ErasureRequest]
    task: Task


class Eraser:
    """Driven by the engine's loop; never waits. Arguments named `now` are seconds of a timer that never goes back.

    has_erased: Names that results of a pool, and what the store was given of them, hold no more. clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: Settings,
        tasks: TaskPool,
        control: ControlLog,
        has_erased: Callable[[str], Collection[ErasedName]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._tasks, self._control, self._has_erased, self._clock = settings, tasks, control, has_erased, clock
        self._partitions: dict[int, _Partition] = {}
        self._running: list[_Running] = []
        self._failures = 0
        self._troubles = LogThrottle()

    @property
    def busy(self) -> set[int]:
        """Partitions that a task writes now."""
        return {running.partition for running in self._running}

    def step(self, now: float, control: ControlState, archiving: Collection[int]) -> None:
        """Take in what ended, and start what is due. archiving: partitions whose archive is written by others now.

        Raises `LogError`.
        """
        self._take_in_ended(now, control)
        for number in self._numbers(control) - self.busy - set(archiving):
            one, ready = self._partitions.setdefault(number, _Partition()), self._ready(number, control)
            if len(ready) > one.erased and now >= one.due_at:
                settled = all(control.erasures.is_done(request) for request in ready)
                task = self._tasks.start(_ERASE, self._settings, number, ready, _first(ready, control), settled)
                self._running.append(_Running(number, ready, task))

    def cancel(self) -> None:
        """End all tasks. They begin again after the next start."""
        for running in self._running:
            self._tasks.cancel(running.task)
        self._running = []

    def health(self) -> ErasureHealth:
        """Where erasures stand, as far as the control log was read."""
        control = self._control.known()
        pending = [one for one in control.erasures.requests if not control.erasures.is_done(one)]
        oldest = max((self._clock() - one.time for one in pending), default=0.0)
        return ErasureHealth(len(pending), max(0.0, oldest), self._failures)

    def _numbers(self, control: ControlState) -> set[int]:
        """Partitions of which a name is to be erased."""
        return {partition_of(one.pool, self._settings.partitions) for one in control.erasures.requests}

    def _ready(self, number: int, control: ControlState) -> list[ErasureRequest]:
        """The first erasures of a partition, up to one whose name boards or results still hold: the archive counts them in this order."""
        requests = control.erasures.in_pools(lambda pool: partition_of(pool, self._settings.partitions) == number)
        return list(takewhile(lambda one: self._is_ready(one, control), requests))

    def _is_ready(self, request: ErasureRequest, control: ControlState) -> bool:
        serving = control.serving(request.pool)
        if serving is None or control.erasures.is_done(request):
            return True
        return request.name in serving.erased and request.name in self._has_erased(request.pool)

    def _take_in_ended(self, now: float, control: ControlState) -> None:
        ended = self._tasks.wait([running.task for running in self._running])
        done = [running for running in self._running if any(running.task is task for task in ended)]
        self._running = [running for running in self._running if running not in done]
        for running in done:
            one = self._partitions[running.partition]
            try:
                self._note(running, self._tasks.result(running.task), control)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the stream goes on
                one.failures, self._failures = one.failures + 1, self._failures + 1
                one.due_at = now + min(2.0 ** min(one.failures - 1, 10), _LONGEST_PAUSE)
                self._troubles.warn(log, _TROUBLE, failure_text(error), partition=running.partition)
            else:
                one.failures, one.erased = 0, len(running.requests)
                self._troubles.over(_TROUBLE)

    def _note(self, running: _Running, change: ArchiveRewrite | None, control: ControlState) -> None:
        """Write down which names are erased everywhere. Raises `LogError`."""
        for one in running.requests:
            if not control.erasures.is_done(one):
                self._control.append(ErasureDone(pool=one.pool, token=one.name.token, time=self._clock(), archive=change))
                log.info("%s is erased", one.name.token, extra={"pool": one.pool, "partition": running.partition})


def _first(requests: Sequence[ErasureRequest], control: ControlState) -> dict[str, int]:
    """Pool -> number of the first generation that erases all of the names."""
    found: dict[str, int] = {}
    for pool in dict.fromkeys(one.pool for one in requests):
        names = {one.name for one in requests if one.pool == pool}
        erasing = [number for number, made in control.generations.get(pool, {}).items() if names.issubset(made.erased)]
        if erasing:
            found[pool] = min(erasing)
    return found
