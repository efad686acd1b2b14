"""Reads the running partitions of a shard from the log, and decides what a log that fails means for them."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Final, NamedTuple

from services.archive.history import ArchiveFails, History
from services.control.log import ControlLog
from services.log.protocol import BatchDamaged, Log, LogError, OffsetLost, Reader, Record, TopicReplaced
from services.log.skipping import open_reader
from services.shard.forgotten import ForgottenRecords
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.slices import size

log = logging.getLogger("equirank.shard")

_PAUSE_SECONDS: Final = 1.0
"""After a log that does not answer."""
_AHEAD_SECONDS: Final = 0.005
"""How long a poll waits for the topic while an archive is read."""
_FULL_BYTES: Final = 1 << 20
"""A poll that brought as many bytes is full."""
_PROBES: Final = 10
_PROBE_SECONDS: Final = 0.5


class Poll(NamedTuple):
    """What one look at the log brought.

    records: by partition. passed: offset below which all was read, of each partition that ran. full: whether the look brought as much as
    it may, so that more records are likely to wait.
    """

    records: Mapping[int, Sequence[Record]]
    passed: Mapping[int, int]
    full: bool


class LogFeed:
    """One reader over all running partitions; it is opened again when another set of them runs, and after a failure.

    What the topic forgot of a partition comes from the archive; the others go on meanwhile.

    stopping: set when the shard is to end. clock: seconds since 1970. polled_at: when the log was read last, or the start, by the clock.
    failures: polls that the log did not answer.
    """

    def __init__(
        self,
        log_: Log,
        control: ControlLog,
        owned: OwnedPartitions,
        most_records: int,
        stopping: threading.Event,
        clock: Callable[[], float],
    ) -> None:
        self._topic, self._control, self._owned = log_.outcomes, control, owned
        self._history = log_.archived if isinstance(log_.archived, History) else None
        self._most_records, self._stopping, self._clock = most_records, stopping, clock
        self._reader: Reader | None = None
        self._forgotten: list[ForgottenRecords] | None = None
        """Of partitions whose next records the topic forgot; None while nothing is open."""
        self.polled_at = clock()
        self.failures = 0

    def poll(self, seconds: float) -> Poll | None:
        """Read, waiting at most `seconds` for a record. None after a failure: what it means for the partitions is done.

        Raises `LogError` where neither stopping a partition nor waiting helps.
        """
        try:
            if self._owned.take_change():
                self.close()
            poll = self._polled(seconds, self._forgotten if self._forgotten is not None else self._open())
        except LogError as error:
            archived = {one.partition for one in self._forgotten or ()}
            self.close()
            if not self._is_in_archive(error, archived):
                self._failed(error)
            return None
        self.polled_at = self._clock()
        return poll

    def close(self) -> None:
        """Close all readers."""
        self._forgotten = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _polled(self, seconds: float, forgotten: Sequence[ForgottenRecords]) -> Poll:
        records = {one.partition: taken for one in forgotten if (taken := one.take())}
        passed = {one.partition: one.position for one in forgotten}
        seconds = min(seconds, 0.0 if records else _AHEAD_SECONDS) if forgotten else seconds
        if self._reader is None:
            self._stopping.wait(seconds)
        else:
            records |= self._reader.poll(seconds, self._most_records)
            passed |= {number: self._reader.position(number) for number in self._owned.running() if number not in passed}
        if any(one.ended for one in forgotten):
            self.close()  # the topic holds what follows
        return Poll(records, passed, self._is_full(records))

    def _is_full(self, records: Mapping[int, Sequence[Record]]) -> bool:
        count = sum(map(len, records.values()))
        return count >= self._most_records or sum(map(size, records.values())) >= _FULL_BYTES

    def _open(self) -> list[ForgottenRecords]:
        positions = {number: runtime.partition.position for number, runtime in self._owned.running().items()}
        history = self._history
        forgotten = [number for number, position in positions.items() if history is not None and history.forgot(number, position)]
        followed = {number: position for number, position in positions.items() if number not in forgotten}
        if followed:
            self._reader = open_reader(self._topic, followed, self._control.known().partitions.skipped)
        self._forgotten = [self._from_archive(number, positions[number]) for number in forgotten]
        return self._forgotten

    def _from_archive(self, number: int, position: int) -> ForgottenRecords:
        topic, skipped = self._history or self._topic, self._control.known().partitions.skipped
        opened = partial(open_reader, topic, {number: position}, skipped)
        return ForgottenRecords(number, position, self._topic.begin(number), opened, self._most_records)

    def _is_in_archive(self, error: LogError, archived: Collection[int]) -> bool:
        """Whether the topic forgot what it was to give next, so that the archive is read. archived: partitions that it was read for."""
        return self._history is not None and isinstance(error, OffsetLost) and error.forgotten and error.partition not in archived

    def _failed(self, error: LogError) -> None:
        """Stop the partition whose offset is lost or whose records cannot be read, or all where the log is another one; wait where the
        log does not answer.
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
        self.failures += 1
        self._stopping.wait(_PAUSE_SECONDS)

    def _stop_unreadable(self, error: LogError) -> None:
        """Stop the partitions that cannot be read alone either: a damaged batch has no position, and holds up all partitions of
        its reader. Waits where the log does not answer that; raises `error` where each partition alone can be read.
        """
        probed = {number: self._unreadable(number, runtime) for number, runtime in self._owned.running().items()}
        reasons = {number: reason for number, reason in probed.items() if reason is not None}
        for number, reason in reasons.items():
            if not reason.retriable:
                self._owned.stop(number, reason)
        if all(reason.retriable for reason in reasons.values()):
            if not reasons:
                raise error
            self._wait(next(iter(reasons.values())))

    def _unreadable(self, number: int, runtime: PartitionRuntime) -> LogError | None:
        """Why a partition cannot be read on, now or ever; None if it can."""
        try:
            end = self._topic.end(number)
            skipped = self._control.known().partitions.skipped
            with closing(open_reader(self._topic, {number: runtime.partition.position}, skipped)) as reader:
                for _ in range(_PROBES):  # sound records may come before the damage
                    if reader.position(number) >= end:
                        break
                    reader.poll(_PROBE_SECONDS, self._most_records)
        except LogError as error:
            return error
        return None


def retry(work: Callable[[], None], stopping: threading.Event, seconds: Sequence[float] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)) -> None:
    """Do `work` again while the log says that this can help and the shard does not end. seconds: pauses; the last one for all later tries.

    Raises `LogError`.
    """
    tries = 0
    while True:
        try:
            return work()
        except LogError as error:
            if not error.retriable or stopping.is_set():
                raise
            log.warning("trying again: %s", error)
            stopping.wait(seconds[min(tries, len(seconds) - 1)])
            tries += 1
