"""Reads records again that a partition has already folded, for its builds."""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import Final

from services.archive.history import History, Part
from services.control.log import ControlLog
from services.log.protocol import Reader, Record, Topic
from services.log.skipping import open_reader
from services.runtime.deadlines import start
from services.shard.generations.build import Build
from services.shard.slices import slices

_RECORDS: Final = 2000


class PastReader:
    """Reads one partition of `topic` in slices that fold in a short time."""

    def __init__(self, topic: Topic, partition: int, control: ControlLog) -> None:
        self.topic, self._partition, self._control = topic, partition, control
        self._reader: Reader | None = None
        self._slices: deque[tuple[Sequence[Record], int]] = deque()
        """Slices that were read and not taken yet, each with the offset from which it is complete."""
        self._read_to = 0

    def take(self, start: int, timeout: float) -> tuple[Sequence[Record], int] | None:
        """Return the next slice for a build at position `start`, with the offset from which the slice is complete.

        Returns None if no record was read within `timeout` seconds. Raises `LogError`.
        """
        if self._slices and self._slices[0][1] > start:
            self.close()  # the slices that were read ahead begin after this build's position
        if not self._slices:
            self._read(start, timeout)
        return self._slices.popleft() if self._slices else None

    def close(self) -> None:
        """Close the reader, and drop slices that were not taken."""
        self._slices.clear()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _read(self, start: int, timeout: float) -> None:
        if self._reader is None or self._read_to != start:
            self.close()
            self._reader = open_reader(self.topic, {self._partition: start}, self._control.known().partitions.skipped)
            self._read_to = start
        for part in slices(self._reader.poll(timeout, _RECORDS).get(self._partition, [])):
            self._slices.append((part, self._read_to))
            self._read_to = part[-1].offset + 1


class ArchivedPool:
    """Reads one pool's records from the archive on a thread, one part ahead. parts: the parts to read, from offset `begin` on."""

    def __init__(self, parts: Iterator[Part], begin: int) -> None:
        self.position, self.ended, self._parts = begin, False, parts
        self._next = self._read()

    def take(self, seconds: float) -> Part | None:
        """Return the next part; None if it was not read within `seconds`, or after the last part. Raises errors of reading the archive."""
        if not wait([self._next], seconds).done:
            return None
        part = self._next.result()
        self.ended = part is None or not part.records
        if part is not None:
            self.position = part.end
        if not self.ended:
            self._next = self._read()
        return part

    def _read(self) -> "Future[Part | None]":
        return start(lambda: next(self._parts, None), "archive")


class ArchivedBuilds:
    """The readers of the archive for the builds of one partition. topic: the outcome log. control: gives the ranges to skip."""

    def __init__(self, topic: Topic, partition: int, control: ControlLog) -> None:
        self._history, self._partition, self._control = topic if isinstance(topic, History) else None, partition, control
        self._pools: dict[tuple[str, int, bool], ArchivedPool] = {}

    def of(self, build: Build) -> ArchivedPool | None:
        """Return the archive reader of a build; None if the archive does not contain the next records."""
        if self._history is None:
            return None
        scans = build.state is None
        key = (*build.key, scans)
        if key not in self._pools:
            skipped = self._control.known().partitions.skipped.get(self._partition, ())
            parts = self._history.parts_of(build.key[0], self._partition, build.position, retractions=scans, skipped=skipped)
            self._pools[key] = ArchivedPool(parts, build.position)
        pool = self._pools[key]
        return pool if pool.position == build.position and not pool.ended else None

    def forget(self, builds: Collection[tuple[str, int]]) -> None:
        """Drop the readers of builds that are not in `builds`, keyed by pool and number. Their threads end after the part they read now."""
        for key in [key for key in self._pools if key[:2] not in builds]:
            del self._pools[key]
