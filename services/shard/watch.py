"""Checks the logs about once a second: the end of the topic, the owners of partitions, and operators' decisions."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Final

from services.archive.history import History
from services.control.lifecycles import PartitionEvent, PartitionStatus
from services.control.log import ControlLog
from services.control.records import ControlState
from services.log.protocol import CommitsPositions, Grows, Log, LogError, TopicReplaced
from services.runtime.deadlines import start
from services.shard.answer_watch import AnswerWatch
from services.shard.figures import ShardFigures
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.takeover import Takeovers

log = logging.getLogger("equirank.shard")

_LOOK_SECONDS: Final = 1.0
_ARCHIVE_SECONDS: Final = 60.0
_OFFLINE_SECONDS: Final = 5.0
"""Least time between two checks whether an offline partition answers."""
_NEWS_SECONDS: Final = 0.2
"""Time between two checks whether the control log grew. It is short, because an operator waits for the effect of a decision."""


class LogWatch:
    """Applies new records of the control log, and measures the topic. Called by the folding thread.

    timer: monotonic time in seconds. figures: receive the number of added partitions.
    """

    def __init__(
        self,
        log_: Log,
        control: ControlLog,
        owned: OwnedPartitions,
        takeovers: Takeovers,
        timer: Callable[[], float],
        figures: ShardFigures,
    ) -> None:
        self._topic, self._control, self._owned, self._takeovers, self._timer = log_.outcomes, control, owned, takeovers, timer
        self._figures = figures
        self._awaited = {PartitionStatus.OFFLINE: AnswerWatch(log_.outcomes.end, _OFFLINE_SECONDS)}
        """Checks for partitions that continue without an operator's decision, by the status of these partitions."""
        if isinstance(log_.archived, History):
            self._awaited[PartitionStatus.ARCHIVE_UNREADABLE] = AnswerWatch(log_.archived.archived_to, _ARCHIVE_SECONDS)
        self._measuring: dict[int, Future[tuple[float, int]]] = {}
        """Questions under way for the end of a partition, by its number."""
        self._committing: Future[None] | None = None
        """The newest commit, under way or done."""
        self._looked_at = self._asked_at = float("-inf")

    def step(self, now: float) -> None:
        """Check the logs if the last check was a second ago or the control log grew. Raises `Fenced` if another shard owns a partition."""
        if now - self._asked_at < _NEWS_SECONDS:
            return
        self._asked_at = now
        try:
            self._take_in()
            if now - self._looked_at >= _LOOK_SECONDS:
                self._looked_at = now
                self._measure()
                self._apply(self._control.refresh())
            elif self._control.has_news():
                self._apply(self._control.refresh())
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            log.warning("the log does not answer: %s", error)

    def close(self) -> None:
        """Wait at most one second for questions under way, because the caller closes the log next."""
        questions: list[Future[Any]] = [*self._measuring.values()]
        if self._committing is not None:
            questions.append(self._committing)
        wait(questions, _LOOK_SECONDS)

    def _apply(self, control: ControlState) -> None:
        """Check epochs, resume stopped partitions, and start builds, by the control log. Raises `Fenced` and `LogError`."""
        self._owned.check_epochs(control.partitions.epochs)
        self._resume(control)
        for runtime in self._owned.running().values():
            runtime.builder.look(self._timer(), control)

    def _measure(self) -> None:
        """Start to read the end of each partition, and to commit the folded positions, unless the topic was replaced.

        Each question has a thread, because a partition without a leader takes long to answer and must not delay anything of the others.
        """
        if self._owned.replaced:
            return
        self._look_for_more()
        for number, runtime in self._owned.runtimes.items():
            if runtime.status is PartitionStatus.OFFLINE:
                runtime.measured_at = self._timer()  # its status says that it does not answer
            elif number not in self._measuring:
                self._measuring[number] = start(partial(self._end, number), "measure")
        if isinstance(self._topic, CommitsPositions) and (self._committing is None or self._committing.done()):
            folded = {number: runtime.reached for number, runtime in self._owned.running().items()}
            self._committing = start(partial(_commit, self._topic, folded), "commit")

    def _end(self, number: int) -> tuple[float, int]:
        """Read the end of a partition; return the time before the read, by the timer, and the end."""
        return self._timer(), self._topic.end(number)

    def _take_in(self) -> None:
        """Store the results of finished questions. Raises `TopicReplaced`."""
        for number in [number for number, answer in self._measuring.items() if answer.done()]:
            runtime, answer = self._owned.runtimes[number], self._measuring.pop(number)
            try:
                runtime.measured_at, runtime.end = answer.result()
            except TopicReplaced:
                raise
            except LogError as error:
                log.warning("the log does not answer: %s", error)
                continue
            if runtime.lag == 0:
                runtime.even_at = runtime.measured_at

    def _look_for_more(self) -> None:
        """Count the partitions that were added to the topic, and log an error when their number rises."""
        found = self._topic.unread if isinstance(self._topic, Grows) else 0
        if found > self._figures.unread_partitions:
            what = "no shard reads them, producers now write pools to other partitions, and the next start is refused"
            log.error("%d partitions were added to topic %s: %s; replay the outcomes into a new topic", found, self._topic.name, what)
        self._figures.unread_partitions = found

    def _resume(self, control: ControlState) -> None:
        """Resume the partitions on which an operator has decided, and those whose log or archive answers again."""
        for number, runtime in list(self._owned.runtimes.items()):
            if (position := _resumed_at(runtime, control)) is not None:
                log.warning("by decision of an operator, folding continues at offset %d", position, extra={"partition": number})
                runtime.attempts.resume(runtime.end, position, control)  # the end as last read: a question now would delay all
                self._go_on(runtime, position, PartitionEvent.DECIDE)
            elif (awaited := self._awaited.get(runtime.status)) is not None and awaited.answers(number, self._timer()):
                log.warning("the partition was %s and is retried", runtime.status, extra={"partition": number})
                self._go_on(runtime, runtime.partition.position, PartitionEvent.RETRY)

    def _go_on(self, runtime: PartitionRuntime, position: int, event: PartitionEvent) -> None:
        """Resume a partition at `position`. If it stopped during recovery, recover it again instead."""
        number = runtime.partition.number
        if runtime.recovered:
            runtime.partition.position = position
            runtime.go_on(event)
        else:
            self._owned.runtimes[number] = self._takeovers.recover(number, runtime.epoch)
            runtime.builder.close()
        self._owned.changed = True


def _commit(topic: CommitsPositions, folded: Mapping[int, int]) -> None:
    """Commit the folded positions to the topic, for external tools that watch lag. Equirank never reads these positions."""
    try:
        topic.commit(folded)
    except LogError as error:
        log.warning("positions could not be committed to Kafka, so lag monitors show old values: %s", error)


def _resumed_at(runtime: PartitionRuntime, control: ControlState) -> int | None:
    """Return the offset at which a stopped partition resumes; None if it runs, or without an operator's decision.

    The partition's reader omits skipped records.
    """
    number, position = runtime.partition.number, runtime.partition.position
    offset = runtime.stopped_at
    match runtime.status:
        case PartitionStatus.RECORDS_LOST if offset is not None:
            begin = control.partitions.beyond_losses(number, offset)
            return begin if begin > offset else None
        case PartitionStatus.DAMAGED if offset is not None:
            return position if control.partitions.skips(number, offset) else None
        case PartitionStatus.ISOLATED:
            return position if runtime.attempts.is_decided(control) else None
    return None
