"""Checks the logs about once a second: the end of the topic, the owners of partitions, and operators' decisions."""

import logging
from collections.abc import Callable
from typing import Final

from services.control.lifecycles import PartitionEvent, PartitionStatus
from services.control.log import ControlLog
from services.control.records import ControlState
from services.log.protocol import Log, LogError, TopicReplaced
from services.shard.answer_watch import AnswerWatch
from services.shard.figures import ShardFigures
from services.shard.folding import Folding
from services.shard.measuring import TopicMeasurement
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.restarts import isolated_at
from services.shard.takeover import Takeovers

log = logging.getLogger("equirank.shard")

_LOOK_SECONDS: Final = 1.0
_ARCHIVE_SECONDS: Final = 60.0
_OFFLINE_SECONDS: Final = 5.0
"""Least time between two checks whether an offline partition answers."""
_LETTERS_SECONDS: Final = 15.0
"""Least time between two attempts to write refused dead letters. An attempt can write some of them again."""
_NEWS_SECONDS: Final = 0.2
"""Time between two checks whether the control log grew. It is short, because an operator waits for the effect of a decision."""


class LogWatch:
    """Applies new records of the control log, and measures the topic. Called by the folding thread.

    folding: has dead letters that the log refused. timer: monotonic time in seconds. figures: receive the number of added partitions.
    """

    def __init__(
        self,
        log_: Log,
        control: ControlLog,
        owned: OwnedPartitions,
        takeovers: Takeovers,
        folding: Folding,
        timer: Callable[[], float],
        figures: ShardFigures,
    ) -> None:
        self._control, self._owned, self._takeovers, self._folding, self._timer = control, owned, takeovers, folding, timer
        self._awaited = {
            PartitionStatus.OFFLINE: AnswerWatch(log_.outcomes.end, _OFFLINE_SECONDS),
            PartitionStatus.LETTERS_REFUSED: AnswerWatch(lambda number: folding.send_letters(owned.runtimes[number]), _LETTERS_SECONDS),
        }
        """Checks for partitions that continue without an operator's decision, by the status of these partitions."""
        if log_.archived is not None:
            self._awaited[PartitionStatus.ARCHIVE_UNREADABLE] = AnswerWatch(log_.archived.archived_to, _ARCHIVE_SECONDS)
        self._measurement = TopicMeasurement(log_.outcomes, owned, timer, figures)
        self._looked_at = self._asked_at = float("-inf")

    def step(self, now: float) -> None:
        """Check the logs if the last check was a second ago or the control log grew. Raises `Fenced` if another shard owns a partition."""
        if now - self._asked_at < _NEWS_SECONDS:
            return
        self._asked_at = now
        try:
            self._measurement.take_in()
            if now - self._looked_at >= _LOOK_SECONDS:
                self._looked_at = now
                self._apply(self._control.refresh())
                self._measurement.begin()
            elif self._control.has_news():
                self._apply(self._control.refresh())
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            log.warning("the log does not answer: %s", error)

    def close(self) -> None:
        """Wait at most one second for questions under way, because the caller closes the log next."""
        self._measurement.wait(_LOOK_SECONDS)

    def _apply(self, control: ControlState) -> None:
        """Check epochs, resume stopped partitions, and start builds, by the control log. Raises `Fenced` and `LogError`."""
        self._owned.check_epochs(control.partitions.epochs)
        self._resume(control)
        for runtime in self._owned.running().values():
            if not runtime.restarts.careful(runtime.reached):  # a build may be what ended the shards before
                runtime.builder.create_due(self._timer(), control, runtime.reached)

    def _resume(self, control: ControlState) -> None:
        """Resume the partitions on which an operator has decided, and those whose log or archive answers, or takes dead letters, again."""
        for number, runtime in list(self._owned.runtimes.items()):
            if (position := _resumed_at(runtime, control)) is not None:
                log.warning("by decision of an operator, folding continues at offset %d", position, extra={"partition": number})
                runtime.restarts.begin(position, runtime.end)  # the end as last read: a question now would delay all
                self._go_on(runtime, position, PartitionEvent.DECIDE)
            elif (awaited := self._awaited.get(runtime.status)) is not None and awaited.answers(number, self._timer()):
                log.warning("the partition was %s and is retried", runtime.status, extra={"partition": number})
                if runtime.status is PartitionStatus.LETTERS_REFUSED:
                    self._folding.settle_letters(runtime)
                self._go_on(runtime, runtime.partition.position, PartitionEvent.RETRY)

    def _go_on(self, runtime: PartitionRuntime, position: int, event: PartitionEvent) -> None:
        """Resume a partition at `position`. If it stopped during recovery, recover it again instead."""
        number = runtime.partition.number
        if runtime.recovered:
            runtime.partition.position = position
            if self._control.known().partitions.has_skips(number):
                runtime.partition.begin_unread()
            runtime.go_on(event)
        else:
            self._owned.runtimes[number] = self._takeovers.recover(number, runtime.epoch)
            runtime.builder.close()
        self._owned.changed = True


def _resumed_at(runtime: PartitionRuntime, control: ControlState) -> int | None:
    """Return the offset at which a stopped partition resumes; None if it runs, or without an operator's decision.

    The partition's reader omits skipped records.
    """
    number, position = runtime.partition.number, runtime.partition.position
    offset = runtime.stopped_at
    match runtime.status:
        case PartitionStatus.RECORDS_LOST if offset is not None:
            begin = control.partitions.beyond(number, offset)
            return begin if begin > offset else None
        case PartitionStatus.DAMAGED if offset is not None:
            return position if control.partitions.skips(number, offset) else None
        case PartitionStatus.ISOLATED:
            return position if isolated_at(number, control) is None else None
    return None
