"""Erases names from what is kept, by tasks in worker processes: a partition at a time, once its boards and results hold them no more.

The control log says which names, and which of them are erased everywhere. All else follows from what is kept, so an engine that starts
continues the work of the last one. Folding and solving do not wait.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final

from services.admin.erasure import erase_kept
from services.control.erasures import ArchiveRewrite, ErasedName, ErasureDone, ErasureRecords, ErasureRequest, parted
from services.control.log import ControlLog
from services.control.records import ControlState
from services.engine.partition_tasks import PartitionTasks
from services.log.partition import partition_of
from services.runtime.settings import Settings
from services.solve.worker.task_pool import TaskPool, TaskType

log = logging.getLogger("equirank.erasure")

_TROUBLE: Final = "an erasure failed, trying again: %s"
TASK_SECONDS: Final = 3600.0
"""Deadline of a task, which reads a partition's archive and may write all of it again. One that hangs is cancelled. The next one has
longer, because the archive may be that large."""
_AT_ONCE: Final = 4
"""Tasks at once: their partitions are not archived meanwhile."""
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
        self._seen: dict[int, tuple[int, int]] = {}
        """How many erasures of each partition, and of others, this engine saw through there."""
        self._changes: dict[int, ArchiveRewrite] = {}
        """What the last task of each partition changed in its archive, if it did."""

    @property
    def busy(self) -> set[int]:
        """Partitions that a task writes now."""
        return self._tasks.busy

    def step(self, now: float, control: ControlState, archiving: Collection[int]) -> None:
        """Take in what ended, and start what is due. archiving: partitions whose archive is written by others now.

        Raises `LogError`.
        """
        self._tasks.take_in(now)
        for number in sorted(self._numbers(control) - set(archiving) - self.busy):
            own, elsewhere = self._parted(number, control.erasures)
            ready = list(takewhile(lambda one: self._is_ready(one, control), own))  # the archive counts them in this order
            due = (len(ready), len(elsewhere))
            if due != self._seen.get(number, (0, 0)) and len(self.busy) < _AT_ONCE and self._tasks.is_due(number, now):
                settled = [sum(map(control.erasures.is_done, some)) for some in (ready, elsewhere)]
                arguments = number, ready, _first(ready, control), settled[0], elsewhere, settled[1]
                self._tasks.start(number, now, partial(self._note, number, due), _ERASE, self._settings, *arguments)

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
        """Partitions that may hold a name that is to be erased: those of the pools, and all of an archive."""
        homes = {partition_of(one.pool, self._settings.partitions) for one in control.erasures.requests}
        return set(range(self._settings.partitions)) if homes and self._settings.archive is not None else homes

    def _parted(self, number: int, erasures: ErasureRecords) -> tuple[list[ErasureRequest], list[ErasureRequest]]:
        """The erasures of a partition, and those of others that its archive may hold."""
        own, elsewhere = parted(erasures.requests, number, self._settings.partitions)
        return own, [] if self._settings.archive is None else elsewhere

    def _is_ready(self, request: ErasureRequest, control: ControlState) -> bool:
        serving = control.serving(request.pool)
        if serving is None or control.erasures.is_done(request):
            return True
        return request.name in serving.erased and request.name in self._has_erased(request.pool)

    def _note(self, partition: int, seen: tuple[int, int], change: ArchiveRewrite | None) -> None:
        """Write down which names are erased everywhere. Raises `LogError`; the task is then run again."""
        self._changes.pop(partition, None)
        if change is not None:
            self._changes[partition] = change
        known = self._control.known().erasures
        pending = [one for one in known.requests if not known.is_done(one)]
        reached = self._seen | {partition: seen}
        ended = [one for one in pending if self._is_everywhere(one, known, reached)]
        if change is not None and not pending:
            ended = known.requests[-1:]  # of an archive from before its end was noted: what `verify` compares is another link now
        for one in ended:
            home = partition_of(one.pool, self._settings.partitions)
            elsewhere = {number: found for number, found in self._changes.items() if number != home}
            done = ErasureDone(
                pool=one.pool, token=one.name.token, time=self._clock(), archive=self._changes.get(home), elsewhere=elsewhere
            )
            self._control.append(done)
            log.info("%s is erased", one.name.token, extra={"pool": one.pool, "partition": home})
        self._seen = reached

    def _is_everywhere(self, request: ErasureRequest, erasures: ErasureRecords, reached: Mapping[int, tuple[int, int]]) -> bool:
        """Whether an erasure is through in all partitions that may hold its name. reached: see `_seen`."""
        home = partition_of(request.pool, self._settings.partitions)
        if request not in self._parted(home, erasures)[0][: reached.get(home, (0, 0))[0]]:
            return False
        others = [] if self._settings.archive is None else [number for number in range(self._settings.partitions) if number != home]
        return all(request in self._parted(number, erasures)[1][: reached.get(number, (0, 0))[1]] for number in others)


def _first(requests: Sequence[ErasureRequest], control: ControlState) -> dict[str, int]:
    """Pool -> number of the first generation that erases all of the names."""
    found: dict[str, int] = {}
    for pool in dict.fromkeys(one.pool for one in requests):
        names = {one.name for one in requests if one.pool == pool}
        erasing = [number for number, made in control.generations.get(pool, {}).items() if names.issubset(made.erased)]
        if erasing:
            found[pool] = min(erasing)
    return found
