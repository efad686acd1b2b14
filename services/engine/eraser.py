"""Erase names in dead letters and archives, by tasks in worker processes.

A task erases names in one partition. It starts when the partition's boards and results no longer hold these names. The control log holds
the requests, and notes the erasures that are complete everywhere. Tasks may be repeated, so the next engine continues after a restart.
Folding and solving do not wait for tasks.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from services.admin.erasure import erase_kept
from services.control.erasures import ErasedName, ErasureDone, ErasureRecords, ErasureRequest, parted
from services.control.log import ControlLog
from services.control.records import ControlState
from services.engine.partition_tasks import PartitionTasks
from services.log.partition import partition_of
from services.runtime.settings import Settings
from services.solve.worker.task_pool import TaskPool, TaskType

log = logging.getLogger("equirank.erasure")

_TROUBLE: Final = "an erasure failed, trying again: %s"
TASK_SECONDS: Final = 3600.0
"""First deadline of a task, which reads a partition's archive and may rewrite all of it. A task is cancelled at its deadline. The
partition's next task has twice as long, because a large archive may need it."""
_AT_ONCE: Final = 4
"""Maximum number of tasks at a time. It is low, because partitions are not archived while a task erases names in them."""
_LONGEST_SECONDS: Final = 24 * 3600.0
"""Maximum deadline of a task."""
_ERASE: Final = TaskType(erase_kept)


@dataclass(frozen=True, slots=True)
class ErasureHealth:
    """Progress of erasures, for metrics.

    Attributes:
        pending: Number of erasures that are not complete.
        oldest_seconds: Seconds since the oldest of them was requested; 0 without one.
        failures: Number of tasks that failed since the engine's start.
    """

    pending: int = 0
    oldest_seconds: float = 0.0
    failures: int = 0


class Eraser:
    """Starts tasks that erase names, and notes complete erasures. The engine's loop calls `step`; no method waits for a task.

    Arguments named `now` are seconds of a monotonic timer.

    Args:
        settings: The service's settings.
        pool: Pool of worker processes.
        control: The control log.
        has_erased: Function of a pool's name that returns the names already erased in its results and solved boards.
        clock: Returns seconds since 1970.

    Attributes:
        tasks: The running tasks. A cancelled task is started again after the engine's next start.
    """

    def __init__(
        self,
        settings: Settings,
        pool: TaskPool,
        control: ControlLog,
        has_erased: Callable[[str], Collection[ErasedName]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._control, self._has_erased, self._clock = settings, control, has_erased, clock
        self.tasks = PartitionTasks(pool, log, _TROUBLE, TASK_SECONDS, _LONGEST_SECONDS)
        self._seen: dict[int, tuple[int, int]] = {}
        """Partition -> numbers of erasures that tasks of this engine completed in it: those of its pools, and those of other pools."""

    def step(self, now: float, control: ControlState, archiving: Collection[int]) -> None:
        """Process ended tasks, and start due tasks.

        Args:
            now: Seconds of the timer.
            control: State of the control log.
            archiving: Partitions whose archive another task writes now; no task starts for these.

        Raises:
            LogError: The control log failed.
        """
        self.tasks.take_in(now)
        for number in sorted(self._numbers(control) - set(archiving) - self.tasks.busy):
            own, elsewhere = self._parted(number, control.erasures)
            # A prefix, because the archive stores only a count.
            ready = list(takewhile(lambda request: self._is_ready(request, control), own))
            due = (len(ready), len(elsewhere))
            if due != self._seen.get(number, (0, 0)) and len(self.tasks.busy) < _AT_ONCE and self.tasks.is_due(number, now):
                settled = [sum(map(control.erasures.is_done, some)) for some in (ready, elsewhere)]
                arguments = number, ready, _first(ready, control), settled[0], elsewhere, settled[1]
                self.tasks.start(number, now, partial(self._note, number, due), _ERASE, self._settings, *arguments)

    def waiting(self, control: ControlState) -> set[int]:
        """Partitions with an erasure that is not complete although a generation without the name serves.

        Final boards of seasons begin no task there, because the erasure waits for such tasks to end.
        """
        pending = [request for request in control.erasures.requests if not control.erasures.is_done(request)]
        served = [one for one in pending if (serving := control.serving(one.pool)) is not None and one.name in serving.erased]
        return {partition_of(request.pool, self._settings.partitions) for request in served}

    def health(self) -> ErasureHealth:
        """Progress of erasures, by the control log as last read."""
        control = self._control.known()
        pending = [request for request in control.erasures.requests if not control.erasures.is_done(request)]
        oldest = max((self._clock() - request.time for request in pending), default=0.0)
        return ErasureHealth(len(pending), max(0.0, oldest), self.tasks.failures)

    def _numbers(self, control: ControlState) -> set[int]:
        """Partitions that may hold an erased name: those of the erasures' pools; with an archive, all of them if any name is erased."""
        homes = {partition_of(request.pool, self._settings.partitions) for request in control.erasures.requests}
        return set(range(self._settings.partitions)) if homes and self._settings.archive_url is not None else homes

    def _parted(self, number: int, erasures: ErasureRecords) -> tuple[list[ErasureRequest], list[ErasureRequest]]:
        """Erasures of a partition's pools, and erasures of other pools to apply to its archive (empty without an archive)."""
        own, elsewhere = parted(erasures.requests, number, self._settings.partitions)
        return own, [] if self._settings.archive_url is None else elsewhere

    def _is_ready(self, request: ErasureRequest, control: ControlState) -> bool:
        serving = control.serving(request.pool)
        if serving is None or control.erasures.is_done(request):
            return True
        return request.name in serving.erased and request.name in self._has_erased(request.pool)

    def _note(self, partition: int, seen: tuple[int, int], _: None) -> None:
        """Process the result of a task, and note erasures that are now complete in all partitions. Raises `LogError`.

        seen: value of `_seen` after this task. After an error, the task is repeated.
        """
        known = self._control.known().erasures
        reached = self._seen | {partition: seen}
        done = [request for request in known.requests if not known.is_done(request) and self._is_everywhere(request, known, reached)]
        for request in done:
            self._control.append(ErasureDone(pool=request.pool, token=request.name.token, time=self._clock()))
            home = partition_of(request.pool, self._settings.partitions)
            log.info("%s is erased", request.name.token, extra={"pool": request.pool, "partition": home})
        self._seen = reached

    def _is_everywhere(self, request: ErasureRequest, erasures: ErasureRecords, reached: Mapping[int, tuple[int, int]]) -> bool:
        """Whether an erasure is complete in all partitions that may hold its name. reached: as `_seen`."""
        home = partition_of(request.pool, self._settings.partitions)
        if request not in self._parted(home, erasures)[0][: reached.get(home, (0, 0))[0]]:
            return False
        others = [] if self._settings.archive_url is None else [number for number in range(self._settings.partitions) if number != home]
        return all(request in self._parted(number, erasures)[1][: reached.get(number, (0, 0))[1]] for number in others)


def _first(requests: Sequence[ErasureRequest], control: ControlState) -> dict[str, int]:
    """Pool -> number of its first generation that erases all requested names; only pools with such a generation."""
    firsts: dict[str, int] = {}
    for pool in dict.fromkeys(request.pool for request in requests):
        names = {request.name for request in requests if request.pool == pool}
        erasing = [number for number, made in control.generations.get(pool, {}).items() if names.issubset(made.erased)]
        if erasing:
            firsts[pool] = min(erasing)
    return firsts
