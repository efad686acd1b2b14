"""Reads the running partitions of a shard from the log. After a failure it stops partitions, or waits and reads again."""

import logging
import threading
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Final

from services.archive.history import ArchiveFails
from services.log.protocol import BatchDamaged, LogError, OffsetLost, TopicReplaced
from services.shard.figures import ShardFigures
from services.shard.owned import OwnedPartitions
from services.shard.readers import LogReaders, Poll

log = logging.getLogger("equirank.shard")

_PAUSE_SECONDS: Final = 1.0
"""Pause after a read to which the log did not answer."""


class LogFeed:
    """Polls all running partitions. Reopens the readers when the set of running partitions changes, and after a failure.

    stopping: set when the shard must end. clock: seconds since 1970. figures: receive the time of the last poll and the number of failures.
    """

    def __init__(
        self, readers: LogReaders, owned: OwnedPartitions, stopping: threading.Event, clock: Callable[[], float], figures: ShardFigures
    ) -> None:
        self._readers, self._owned, self._stopping, self._clock, self._figures = readers, owned, stopping, clock, figures

    def poll(self, seconds: float) -> Poll | None:
        """Read records, waiting at most `seconds` for the first. Returns None after a failure that was handled.

        Raises `LogError` if neither stopping a partition nor waiting helps.
        """
        try:
            if self._owned.take_change():
                self.close()
            poll = self._readers.poll(seconds, {number: runtime.reached for number, runtime in self._owned.running().items()})
        except LogError as error:
            archived = self._readers.turn_to_archive(error)
            self.close()
            if not archived:
                self._handle_failure(error)
            return None
        self._figures.polled_at = self._clock()
        return poll

    def close(self) -> None:
        """Close all readers."""
        self._readers.close()

    def _handle_failure(self, error: LogError) -> None:
        """Handle a failed read.

        If an offset is lost, or a batch or the archive cannot be read, the partition of the error stops. If the topic was replaced, all
        partitions stop. After a retriable error, wait. After any other error, find the partitions that cannot be read.
        """
        match error:
            case OffsetLost() | BatchDamaged() | ArchiveFails():
                self._owned.stop(error.partition, error)
            case TopicReplaced():
                self._owned.stop_all(error)
            case _ if error.retriable:
                self._wait(error)
            case _:
                self._stop_unreadable(error)

    def _wait(self, error: LogError) -> None:
        log.warning("the log cannot be read, trying again: %s", error)
        self._figures.counts["log_failures"] += 1
        self._stopping.wait(_PAUSE_SECONDS)

    def _stop_unreadable(self, error: LogError) -> None:
        """Read each partition alone and stop those that cannot be read. The error does not name its partition, and a damaged batch blocks
        all partitions of its reader.

        Waits if all failures are retriable. Raises `error` if each partition can be read alone.
        """
        running = self._owned.running().items()
        probed = {number: self._readers.unreadable(number, runtime.reached) for number, runtime in running}
        reasons = {number: reason for number, reason in probed.items() if reason is not None}
        for number, reason in reasons.items():
            if not reason.retriable:
                self._owned.stop(number, reason)
        if all(reason.retriable for reason in reasons.values()):
            if not reasons:
                raise error
            self._wait(next(iter(reasons.values())))


def retry(work: Callable[[], None], stopping: threading.Event, seconds: Sequence[float] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)) -> None:
    """Call `work` until it succeeds. Raises `LogError` if the error is not retriable or the shard must end.

    seconds: pauses between tries. The last one is repeated.
    """
    for pause in chain(seconds, repeat(seconds[-1])):
        try:
            work()
        except LogError as error:
            if not error.retriable or stopping.is_set():
                raise
            log.warning("trying again: %s", error)
            stopping.wait(pause)
        else:
            return
