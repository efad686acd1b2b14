"""Erases names from what is kept, by tasks in worker processes: a partition at a time, once its boards and results hold them no more.

The control log says which names, and which of them are erased everywhere. All else follows from what is kept, so an engine that starts
continues the work of the last one. Folding and solving do not wait.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from services.admin.erasure import erase_kept
from services.control.erasures import ArchiveRewrite, ErasedName, ErasureDone, ErasureRequest
from services.control.log import ControlLog
from services.control.records import ControlState
from services.engine.partition_tasks import PartitionTasks
from services.log.partition import partition_of
from services.runtime.settings import Settings
from services.solve.worker.task_pool import TaskPool, TaskType

log = logging.getLogger("equirank.erasure")

_TROUBLE: Final = "an erasure waits: %s"
TASK_SECONDS: Final = 3600.0
"""Deadline of a task, which reads a partition's archive and may write all of it again. One that hangs is cancelled. The next one has
longer, because the archive may be that large."""
_LONGEST_SECONDS: Final = 24 * 3600.0
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
        self._settings, self._control, self._has_erased, self._clock = settings, control, has_erased, clock
        self._tasks = PartitionTasks(tasks, log, _TROUBLE, TASK_SECONDS, _LONGEST_SECONDS)
        self._erased: Counter[int] = Counter()
        """How many erasures of each partition this engine saw through."""

    @property
    def busy(self) -> set[int]:
        """Partitions that a task writes now."""
        return self._tasks.busy

    def step(self, now: float, control: ControlState, archiving: Collection[int]) -> None:
        """Take in what ended, and start what is due. archiving: partitions whose archive is written by others now.

        Raises `LogError`.
        """
        self._tasks.take_in(now)
        for number in self._numbers(control) - set(archiving):
            ready = self._ready(number, control)
            if len(ready) > self._erased[number] and self._tasks.is_due(number, now):
                settled = sum(control.erasures.is_done(request) for request in ready)
                take = partial(self._note, number, ready)
                self._tasks.start(number, now, take, _ERASE, self._settings, number, ready, _first(ready, control), settled)

    def cancel(self) -> None:
        """End all tasks. They begin again after the next start."""
        self._tasks.cancel()

    def health(self) -> ErasureHealth:
        """Where erasures stand, as far as the control log was read."""
        control = self._control.known()
        pending = [one for one in control.erasures.requests if not control.erasures.is_done(one)]
        oldest = max((self._clock() - one.time for one in pending), default=0.0)
        return ErasureHealth(len(pending), max(0.0, oldest), self._tasks.failures)

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

    def _note(self, partition: int, requests: Sequence[ErasureRequest], change: ArchiveRewrite | None) -> None:
        """Write down which names are erased everywhere. Raises `LogError`."""
        known = self._control.known().erasures
        for one in [one for one in requests if not known.is_done(one)]:
            self._control.append(ErasureDone(pool=one.pool, token=one.name.token, time=self._clock(), archive=change))
            log.info("%s is erased", one.name.token, extra={"pool": one.pool, "partition": partition})
        self._erased[partition] = len(requests)


def _first(requests: Sequence[ErasureRequest], control: ControlState) -> dict[str, int]:
    """Pool -> number of the first generation that erases all of the names."""
    found: dict[str, int] = {}
    for pool in dict.fromkeys(one.pool for one in requests):
        names = {one.name for one in requests if one.pool == pool}
        erasing = [number for number, made in control.generations.get(pool, {}).items() if names.issubset(made.erased)]
        if erasing:
            found[pool] = min(erasing)
    return found
