"""The open readers of a shard: one over all partitions that the topic still holds, and one of the archive for each of the others."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import Final, NamedTuple

from services.archive.history import History
from services.control.log import ControlLog
from services.log.protocol import Log, LogError, OffsetLost, Reader, Record
from services.log.skipping import open_reader
from services.runtime.deadlines import start
from services.shard.slices import size

_AHEAD_SECONDS: Final = 0.005
"""How long a poll waits for the topic while an archive is read."""
_FULL_BYTES: Final = 1 << 20
"""A poll that brought as many bytes is full."""
_PROBES: Final = 10
_PROBE_SECONDS: Final = 0.5


class ForgottenRecords:
    """Reads what the topic forgot of one partition from the archive, on a thread: the fold of other partitions never waits for files.

    It reads from `position` to `until`, or a little further.

    Args:
        partition: Number of the partition.
        position: First offset to read.
        until: First offset that the topic holds.
        open_: Opens a reader of the partition at `position`. Runs on the thread.
        most: Most records of one part, about.
    """

    def __init__(self, partition: int, position: int, until: int, open_: Callable[[], Reader], most: int) -> None:
        self.partition, self.position, self._until = partition, position, until
        self._open, self._most = open_, most
        self._reader: Reader | None = None
        self._next: Future[tuple[Sequence[Record], int]] | None = None

    @property
    def ended(self) -> bool:
        """Whether the topic holds what follows."""
        return self.position >= self._until

    def take(self) -> Sequence[Record]:
        """The records that were read meanwhile; none where the thread still reads. Raises `LogError`."""
        if self._next is None:
            self._next = start(self._read, "archive")
        if not self._next.done():
            return ()
        records, self.position = self._next.result()
        self._next = None if self.ended else start(self._read, "archive")
        return records

    def _read(self) -> tuple[Sequence[Record], int]:
        self._reader = self._reader or self._open()
        records = self._reader.poll(1.0, self._most).get(self.partition, [])
        position = self._reader.position(self.partition)
        if position >= self._until:
            self._reader.close()
        return records, position


class Poll(NamedTuple):
    """What one look at the log brought.

    records: by partition. passed: offset below which all was read, of each partition that ran. full: whether the look brought as much as
    it may, so that more records are likely to wait.
    """

    records: Mapping[int, Sequence[Record]]
    passed: Mapping[int, int]
    full: bool


class LogReaders:
    """What the topic forgot of a partition comes from the archive; the others go on meanwhile. stopping: set when the shard is to end."""

    def __init__(self, log_: Log, control: ControlLog, most_records: int, stopping: threading.Event) -> None:
        self._topic, self._control, self._most_records, self._stopping = log_.outcomes, control, most_records, stopping
        self._history = log_.archived if isinstance(log_.archived, History) else None
        self._reader: Reader | None = None
        self._forgotten: list[ForgottenRecords] | None = None
        """Of partitions whose next records the topic forgot; None while nothing is open."""

    def poll(self, seconds: float, positions: Mapping[int, int]) -> Poll:
        """Read, waiting at most `seconds` for a record. Raises `LogError`.

        positions: the next offset of each partition that runs, where readers are opened if none are. The same partitions until `close`.
        """
        if self._forgotten is None:
            self._forgotten = self._open(positions)
        forgotten = self._forgotten
        records = {one.partition: taken for one in forgotten if (taken := one.take())}
        passed = {one.partition: one.position for one in forgotten}
        seconds = min(seconds, 0.0 if records else _AHEAD_SECONDS) if forgotten else seconds
        if self._reader is None:
            self._stopping.wait(seconds)
        else:
            records |= self._reader.poll(seconds, self._most_records)
            passed |= {number: self._reader.position(number) for number in positions if number not in passed}
        if any(one.ended for one in forgotten):
            self.close()  # the topic holds what follows
        return Poll(records, passed, self._is_full(records))

    def close(self) -> None:
        """Close all readers."""
        self._forgotten = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def is_in_archive(self, error: LogError) -> bool:
        """Whether the topic forgot what it was to give next, so that the archive has to be read, which is not read for it yet."""
        archived = {one.partition for one in self._forgotten or ()}
        return self._history is not None and isinstance(error, OffsetLost) and error.forgotten and error.partition not in archived

    def unreadable(self, number: int, position: int) -> LogError | None:
        """Why a partition cannot be read on from a position, now or ever; None if it can."""
        try:
            end = self._topic.end(number)
            with closing(open_reader(self._topic, {number: position}, self._control.known().partitions.skipped)) as reader:
                for _ in range(_PROBES):  # sound records may come before the damage
                    if reader.position(number) >= end:
                        break
                    reader.poll(_PROBE_SECONDS, self._most_records)
        except LogError as error:
            return error
        return None

    def _open(self, positions: Mapping[int, int]) -> list[ForgottenRecords]:
        """Open readers at the next offset of each partition; those of the archive. Raises `LogError`."""
        history = self._history
        forgotten = [number for number, position in positions.items() if history is not None and history.forgot(number, position)]
        followed = {number: position for number, position in positions.items() if number not in forgotten}
        if followed:
            self._reader = open_reader(self._topic, followed, self._control.known().partitions.skipped)
        return [self._from_archive(number, positions[number]) for number in forgotten]

    def _is_full(self, records: Mapping[int, Sequence[Record]]) -> bool:
        count = sum(map(len, records.values()))
        return count >= self._most_records or sum(map(size, records.values())) >= _FULL_BYTES

    def _from_archive(self, number: int, position: int) -> ForgottenRecords:
        topic, skipped = self._history or self._topic, self._control.known().partitions.skipped
        opened = partial(open_reader, topic, {number: position}, skipped)
        return ForgottenRecords(number, position, self._topic.begin(number), opened, self._most_records)
