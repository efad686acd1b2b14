"""Measures how far the topic reaches in each partition, and commits how far each is folded. Neither delays the fold."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

from services.control.lifecycles import PartitionStatus
from services.log.protocol import CommitsPositions, Grows, LogError, Topic, TopicReplaced
from services.runtime.deadlines import start
from services.shard.figures import ShardFigures
from services.shard.owned import OwnedPartitions

log = logging.getLogger("equirank.shard")


class TopicMeasurement:
    """Questions to the topic of outcomes, each on a thread. Called by the folding thread.

    A partition without a leader takes long to answer, and must not delay anything of the others.

    timer: monotonic time in seconds. figures: receive the number of added partitions.
    """

    def __init__(self, topic: Topic, owned: OwnedPartitions, timer: Callable[[], float], figures: ShardFigures) -> None:
        self._topic, self._owned, self._timer, self._figures = topic, owned, timer, figures
        self.questions: dict[int, Future[tuple[float, int]]] = {}
        """Questions under way for the end of a partition, by its number."""
        self._committing: Future[None] | None = None
        """The commit under way."""

    def begin(self) -> None:
        """Start to read the end of each partition, and to commit the folded positions, unless the topic was replaced.

        A question or commit that is still under way is not started again.
        """
        if self._owned.replaced:
            return
        self._count_added_partitions()
        for number, runtime in self._owned.runtimes.items():
            if runtime.status is PartitionStatus.OFFLINE:
                runtime.measured_at = self._timer()  # its status says that it does not answer
            elif number not in self.questions:
                self.questions[number] = start(partial(self._end, number), "measure")
        if isinstance(self._topic, CommitsPositions) and self._committing is None:
            folded = {number: runtime.reached for number, runtime in self._owned.running().items()}
            self._committing = start(partial(_commit, self._topic, folded), "commit")

    def take_in(self) -> None:
        """Store the results of finished questions. Raises `TopicReplaced`, and what a commit failed with apart from errors of the log."""
        if self._committing is not None and self._committing.done():
            committed, self._committing = self._committing, None
            committed.result()
        for number in [number for number, answer in self.questions.items() if answer.done()]:
            runtime, answer = self._owned.runtimes[number], self.questions.pop(number)
            try:
                runtime.measured_at, runtime.end = answer.result()
            except TopicReplaced:
                raise
            except LogError as error:
                log.warning("the log does not answer: %s", error)
                continue
            if runtime.lag == 0:
                runtime.even_at = runtime.measured_at

    def wait(self, seconds: float) -> None:
        """Wait at most `seconds` for everything under way."""
        under_way: list[Future[Any]] = [*self.questions.values()]
        if self._committing is not None:
            under_way.append(self._committing)
        wait(under_way, seconds)

    def _end(self, number: int) -> tuple[float, int]:
        """Read the end of a partition; return the time before the read, by the timer, and the end."""
        return self._timer(), self._topic.end(number)

    def _count_added_partitions(self) -> None:
        """Count the partitions that were added to the topic, and log an error when their number rises."""
        added = self._topic.unread if isinstance(self._topic, Grows) else 0
        if added > self._figures.unread_partitions:
            what = "no shard reads them, producers now write pools to other partitions, and the next start is refused"
            log.error("%d partitions were added to topic %s: %s; replay the outcomes into a new topic", added, self._topic.name, what)
        self._figures.unread_partitions = added


def _commit(topic: CommitsPositions, folded: Mapping[int, int]) -> None:
    """Commit the folded positions to the topic, for external tools that watch lag. Equirank never reads these positions."""
    try:
        topic.commit(folded)
    except LogError as error:
        log.warning("positions could not be committed to Kafka, so lag monitors show old values: %s", error)
