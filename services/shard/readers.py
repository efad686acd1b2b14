"""The open readers of a shard.

One reader of the topic serves all partitions whose next records the topic holds. Every other partition has a reader of the archive.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import Final, NamedTuple

from services.control.log import ControlLog
from services.log.protocol import Log, LogError, OffsetLost, Reader, Records
from services.log.records import NO_RECORDS
from services.log.skipping import open_reader
from services.runtime.deadlines import start

_AHEAD_SECONDS: Final = 0.005
"""Longest wait of a poll for records of the topic while an archive is read on threads."""
_FULL_BYTES: Final = 1 << 20
"""A poll that brings at least this many bytes counts as full."""
_PROBES: Final = 10
_PROBE_SECONDS: Final = 0.5


class ForgottenRecords:
    """Reads from the archive the records of one partition that the topic forgot: from `position` to `until`, or a little further.

    It reads on a thread, so that the fold of other partitions does not wait for files.

    Args:
        partition: Number of the partition.
        position: First offset to read.
        until: First offset that the topic holds.
        open_: Opens a reader of the partition at `position`. Runs on the thread.
        most: Approximate limit of records in one part.
    """

    def __init__(self, partition: int, position: int, until: int, open_: Callable[[], Reader], most: int) -> None:
        self.partition, self.position, self._until = partition, position, until
        self._open, self._most = open_, most
        self._reader: Reader | None = None
        self._next: Future[tuple[Records, int]] | None = None

    @property
    def ended(self) -> bool:
        """Whether the topic holds the next records."""
        return self.position >= self._until

    def take(self) -> Records:
        """Return the part that the thread has read, and start to read the next one. Empty while the thread reads. Raises `LogError`."""
        if self._next is None:
            self._next = start(self._read, "archive")
        if not self._next.done():
            return NO_RECORDS
        records, self.position = self._next.result()
        self._next = None if self.ended else start(self._read, "archive")
        return records

    def _read(self) -> tuple[Records, int]:
        self._reader = self._reader or self._open()
        try:
            records = self._reader.poll(1.0, self._most).get(self.partition, NO_RECORDS)
            position = self._reader.position(self.partition)
        except BaseException:
            self._reader.close()
            raise
        if position >= self._until:
            self._reader.close()
        return records, position


class Poll(NamedTuple):
    """The result of one poll.

    records: by partition. passed: for each running partition, the offset below which all records were read. full: whether the poll
    reached its limit of records or bytes, so that more records are likely to wait.
    """

    records: Mapping[int, Records]
    passed: Mapping[int, int]
    full: bool


class LogReaders:
    """Polls running partitions, each from the topic or, if the topic forgot its next records, from the archive.

    stopping: set when the shard must end.
    """

    def __init__(self, log_: Log, control: ControlLog, most_records: int, stopping: threading.Event) -> None:
        self._topic, self._control, self._most_records, self._stopping = log_.outcomes, control, most_records, stopping
        self._history = log_.archived
        self._reader: Reader | None = None
        self._forgotten: list[ForgottenRecords] | None = None
        """Archive readers of the partitions whose next records the topic forgot; None while no readers are open."""
        self._begins: dict[int, int] = {}
        """First offset that the topic holds of each partition whose next records it forgot. The topic names it in the error of a read.
        It is not asked for it beforehand, because a partition without a leader takes long to answer and must not delay the others."""

    def poll(self, seconds: float, positions: Mapping[int, int]) -> Poll:
        """Read records, waiting at most `seconds` for the first. Raises `LogError`.

        positions: next offset of each running partition. If no readers are open, they are opened there. Until `close`, all calls must name
        the same partitions.
        """
        if self._forgotten is None:
            self._forgotten = self._open(positions)
        forgotten = self._forgotten
        records = {source.partition: taken for source in forgotten if len(taken := source.take())}
        passed = {source.partition: source.position for source in forgotten}
        seconds = min(seconds, 0.0 if records else _AHEAD_SECONDS) if forgotten else seconds
        if self._reader is None:
            self._stopping.wait(seconds)
        else:
            records |= self._reader.poll(seconds, self._most_records)
            passed |= {number: self._reader.position(number) for number in positions if number not in passed}
        if any(source.ended for source in forgotten):
            self.close()  # the topic holds the next records
        return Poll(records, passed, self._is_full(records))

    def close(self) -> None:
        """Close all readers."""
        self._forgotten = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def turn_to_archive(self, error: LogError) -> bool:
        """Whether `error` says that the topic forgot the next records of a partition whose archive is not being read yet.

        Readers that are opened afterwards read the partition from the archive.
        """
        archived = {source.partition for source in self._forgotten or ()}
        if self._history is None or not isinstance(error, OffsetLost) or not error.forgotten or error.partition in archived:
            return False
        self._begins[error.partition] = error.begin
        return True

    def unreadable(self, number: int, position: int) -> LogError | None:
        """Return the error of reading one partition from `position` on; None if it can be read, or if its archive is to be read."""
        try:
            end = self._topic.end(number)
            with closing(open_reader(self._topic, {number: position}, self._control.known().partitions.skipped)) as reader:
                for _ in range(_PROBES):  # valid records may precede the damage
                    if reader.position(number) >= end:
                        break
                    reader.poll(_PROBE_SECONDS, self._most_records)
        except LogError as error:
            return None if self.turn_to_archive(error) else error
        return None

    def _open(self, positions: Mapping[int, int]) -> list[ForgottenRecords]:
        """Open readers at the next offset of each partition. Returns the readers of the archive. Raises `LogError`."""
        forgotten = [number for number, position in positions.items() if position < self._begins.get(number, 0)]
        followed = {number: position for number, position in positions.items() if number not in forgotten}
        if followed:
            self._reader = open_reader(self._topic, followed, self._control.known().partitions.skipped)
        return [self._make_archive_source(number, positions[number]) for number in forgotten]

    def _is_full(self, records: Mapping[int, Records]) -> bool:
        count = sum(map(len, records.values()))
        return count >= self._most_records or sum([part.nbytes for part in records.values()]) >= _FULL_BYTES

    def _make_archive_source(self, number: int, position: int) -> ForgottenRecords:
        topic, skipped = self._history or self._topic, self._control.known().partitions.skipped
        open_ = partial(open_reader, topic, {number: position}, skipped)
        return ForgottenRecords(number, position, self._begins[number], open_, self._most_records)
