"""Reads what the topic forgot of one partition from the archive, on a thread: the fold of other partitions never waits for files."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from services.log.protocol import Reader, Record
from services.runtime.deadlines import start


class ForgottenRecords:
    """Reads on from `position` to `until`, or a little further.

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
