"""Reads the records of one pool from the archive, for a build."""

from collections.abc import Iterator
from concurrent.futures import Future, wait

from services.log.protocol import PoolRecords
from services.runtime.deadlines import start


class ArchivedPool:
    """Reads one pool's records from the archive on a thread, one part ahead. parts: the parts to read, from offset `begin` on."""

    def __init__(self, parts: Iterator[PoolRecords], begin: int) -> None:
        self.position, self.ended, self._parts = begin, False, parts
        self._next = self._read()

    def take(self, seconds: float) -> PoolRecords | None:
        """Return the next part; None if it was not read within `seconds`, or after the last part. Raises errors of reading the archive."""
        if not wait([self._next], seconds).done:
            return None
        part = self._next.result()
        self.ended = part is None or not len(part.records)
        if part is not None:
            self.position = part.end
        if not self.ended:
            self._next = self._read()
        return part

    def _read(self) -> "Future[PoolRecords | None]":
        return start(lambda: next(self._parts, None), "archive")
