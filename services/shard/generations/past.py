"""Reads records again that a partition has already folded, for its builds."""

from collections import deque
from typing import Final

from services.control.log import ControlLog
from services.log.protocol import ArchivedTopic, Reader, Records, Topic
from services.log.records import NO_RECORDS
from services.log.skipping import open_reader
from services.shard.generations.archived_pool import ArchivedPool
from services.shard.generations.build import Build
from services.shard.slices import slices

_RECORDS: Final = 2000


class PastReader:
    """Reads one partition of `topic` in slices that fold in a short time."""

    def __init__(self, topic: Topic, partition: int, control: ControlLog) -> None:
        self.topic, self._partition, self._control = topic, partition, control
        self._reader: Reader | None = None
        self._slices: deque[tuple[Records, int]] = deque()
        """Slices that were read and not taken yet, each with the offset from which it is complete."""
        self.read_to = 0
        """Offset up to which the records were read. If `take` returned None, no record for a fold follows below it."""

    def take(self, start: int, timeout: float) -> tuple[Records, int] | None:
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
        if self._reader is None or self.read_to != start:
            self.close()
            self._reader = open_reader(self.topic, {self._partition: start}, self._control.known().partitions.skipped)
            self.read_to = start
        for part in slices(self._reader.poll(timeout, _RECORDS).get(self._partition, NO_RECORDS)):
            self._slices.append((part, self.read_to))
            self.read_to = int(part.offset[-1]) + 1
        if not self._slices:  # an operator skipped the records that were read, if any
            self.read_to = max(self.read_to, self._reader.position(self._partition))


def archive_of(build: Build, archive: ArchivedTopic | None, partition: int, control: ControlLog) -> ArchivedPool | None:
    """Return the archive reader of a build; None if the archive does not contain the next records.

    Args:
        build: The build, which keeps the reader.
        archive: The outcome log with its archive; None without an archive.
        partition: Number of the partition.
        control: Gives the ranges to skip.
    """
    if archive is None:
        return None
    if build.archived is None:
        skipped = control.known().partitions.skipped.get(partition, ())
        parts = archive.parts_of(build.key[0], partition, build.position, retractions=build.state is None, skipped=skipped)
        build.archived = ArchivedPool(parts, build.position)
    return build.archived if build.archived.position == build.position and not build.archived.ended else None
