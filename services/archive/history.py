"""The outcome log with its archive: records that the topic forgot are read from the archive.

A record from the archive has the offset, time, outcomes, retractions and refused items of the record in the log. Its value is encoded again
from the columns, so its bytes can differ.

The kernels and the packages of the extra `archive` are imported only if the topic forgot records.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from ratings_core import extras
from ratings_core.errors import MissingExtraError
from services.archive.location import table_uri
from services.log.protocol import LogError, OffsetLost, PoolRecords, Ranges, Reader, Records, Topic
from services.log.records import NO_RECORDS

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader
    from services.archive.records import ArchivedRecords

_logger: Final = logging.getLogger("equirank.archive")


class ArchiveFails(LogError):  # noqa: N818 - names the fact
    """The archive of a partition cannot be read, so a fold that needs it cannot continue. The records in the topic are readable.

    Attributes:
        partition: Number of the partition.
        retriable: Whether the same read can succeed later without an operator.
    """

    def __init__(self, partition: int, why: str, *, retriable: bool) -> None:
        self.partition = partition
        super().__init__(f"the archive of partition {partition} cannot be read: {why}", retriable=retriable)


PartT = TypeVar("PartT")


class ArchivedTopic:
    """A topic together with its archive, see `History`. Appends write to the topic.

    Args:
        topic: The outcome log.
        url: URL of its archive.
        archive_first: Read what the archive holds from the archive, also if the topic holds it too.
        is_copy: The archive is a copy of a topic that keeps all records, so a reader passes over an archive that cannot be read. The topic
            of a partition may have dropped records all the same, if its archive was the only place of them before.
    """

    def __init__(self, topic: Topic, url: str, *, archive_first: bool = False, is_copy: bool = False) -> None:
        self._topic, self._url, self._archive_first, self._is_copy = topic, url, archive_first, is_copy
        self.name, self.partitions, self.identity = topic.name, topic.partitions, topic.identity

    def append(self, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        """See `Topic.append`."""
        return self._topic.append(partition, records)

    def begin(self, partition: int) -> int:
        """First readable offset: that of the archive if it reaches the topic's first record without a gap, else that of the topic."""
        begin = self._topic.begin(partition)
        archive = self._archive(partition) if begin else None
        return min(begin, archive.begin) if archive is not None and archive.position >= begin else begin

    def end(self, partition: int) -> int:
        """See `Topic.end`."""
        return self._topic.end(partition)

    def reader(self, positions: Mapping[int, int]) -> Reader:
        """Open a reader that reads forgotten records from the archive, as `ArchivedRecords`, and the others from the topic."""
        reader = _HistoryReader(self, self._topic, positions)
        for partition in positions if self._archive_first else ():
            reader.go_back(partition)
        return reader

    def archive_first(self) -> "ArchivedTopic":
        """See `History.archive_first`."""
        return self if self._is_copy else ArchivedTopic(self._topic, self._url, archive_first=True)

    def passes_over(self, error: Exception, partition: int, offset: int) -> bool:
        """See `History.passes_over`. Raises `LogError`."""
        if not self._is_copy or self._topic.begin(partition):
            return False
        remedy = f"to have it written again, stop `equirank up` and remove {table_uri(self._url, partition)}"
        _logger.warning("%s; the log has these records and is read instead, from offset %d on; %s", error, offset, remedy)
        return True

    def archived_to(self, partition: int) -> int | None:
        """First offset that is not archived; None if the partition has no archive yet. Raises `LogError`."""
        archive = self._archive(partition)
        return None if archive is None else archive.position

    def archive(self, partition: int, position: int) -> "ArchiveReader | None":
        """Reader of a partition's archive; None if the archive does not include the offset `position`. Raises `LogError`."""
        archive = self._archive(partition)
        return archive if archive is not None and archive.begin <= position < archive.position else None

    def parts_of(self, pool: str, partition: int, begin: int, *, retractions: bool = False, skipped: Ranges = ()) -> Iterator[PoolRecords]:
        """See `History.parts_of`. Raises `ArchiveFails`, unless the reader passes over it: then the last part ends where reading failed."""
        end = begin
        try:
            for part in self._parts(pool, partition, begin, retractions=retractions, skipped=skipped):
                yield part
                end = part.end
        except (ArchiveFails, MissingExtraError) as error:
            if not self.passes_over(error, partition, end):
                raise
            yield PoolRecords(NO_RECORDS, end)

    def _parts(self, pool: str, partition: int, begin: int, *, retractions: bool, skipped: Ranges) -> Iterator[PoolRecords]:
        if (archive := self.archive(partition, begin)) is None:
            return
        from services.archive.records import parts  # noqa: PLC0415 - imports the kernels
        from services.archive.schema import RETRACTION  # noqa: PLC0415 - needs the extra `archive`

        following = parts(archive, begin, pool=pool, kind=RETRACTION if retractions else None)
        while (records := next_archived(partition, following)) is not None:
            if len(left := records.without(skipped)):
                yield PoolRecords(left, int(records.offset[-1]) + 1)
        yield PoolRecords(NO_RECORDS, archive.position)

    def _archive(self, partition: int) -> "ArchiveReader | None":
        """Open the archive of a partition; None if the partition has no archive yet. Raises `ArchiveFails`."""
        exceptions = extras.load("deltalake.exceptions", "archive", "reading the archive")
        from services.archive.reader import open_reader  # noqa: PLC0415 - see above

        try:
            archive = open_reader(self._url, partition)
        except exceptions.TableNotFoundError:
            return None
        except (OSError, exceptions.DeltaError) as error:
            raise ArchiveFails(partition, str(error), retriable=True) from error
        if archive.log != self.identity:
            rule = "set EQUIRANK_ARCHIVE to the archive of this log, or to an empty folder"
            why = f"{self._url} is of log {archive.log}, and this is log {self.identity}; {rule}"
            raise ArchiveFails(partition, why, retriable=False)
        if self._is_copy and archive.position > (end := self._topic.end(partition)):
            why = f"it holds records up to offset {archive.position}, and the log ends at {end}"
            raise ArchiveFails(partition, why, retriable=False)
        return archive


class _HistoryReader:
    """Reads the topic. If the topic forgot the next records of a partition, reads its archive to the end, then the topic again."""

    def __init__(self, history: ArchivedTopic, topic: Topic, positions: Mapping[int, int]) -> None:
        self._history, self._topic, self._reached = history, topic, dict(positions)
        self._past: dict[int, tuple[Iterator[ArchivedRecords], int]] = {}
        """By partition, the archived parts still to read, and the offset after the last of them."""
        self._reader: Reader | None = None

    def go_back(self, partition: int) -> bool:
        """Continue a partition in the archive. Returns whether the archive has the next record. Raises `LogError`."""
        archive = self._history.archive(partition, self._reached[partition])
        if archive is None:
            return False
        from services.archive.records import parts  # noqa: PLC0415 - imports the kernels

        self._past[partition] = parts(archive, self._reached[partition]), archive.position
        return True

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        """See `Reader.poll`. Raises `ArchiveFails`."""
        while self._past:
            partition, (following, end) = next(iter(self._past.items()))
            if (part := next_archived(partition, following)) is not None:
                self._reached[partition] = int(part.offset[-1]) + 1
                return {partition: part}
            del self._past[partition]
            self._reached[partition] = end
        self._reader = self._reader or self._topic.reader(self._reached)
        try:
            return self._reader.poll(timeout, max_records)
        except OffsetLost as error:
            self._leave_topic()
            if not (error.forgotten and self.go_back(error.partition)):
                raise
            return self.poll(timeout, max_records)

    def _leave_topic(self) -> None:
        if self._reader is not None:
            self._reached = {partition: self._reader.position(partition) for partition in self._reached}
            self._reader.close()
            self._reader = None

    def position(self, partition: int) -> int:
        """See `Reader.position`."""
        return self._reached[partition] if self._reader is None else self._reader.position(partition)

    def close(self) -> None:
        """See `Reader.close`."""
        self._past = {}
        if self._reader is not None:
            self._reader.close()


def next_archived(partition: int, following: Iterator[PartT]) -> PartT | None:
    """The next of the archived parts `following`; None after the last one. Raises `ArchiveFails`."""
    from deltalake.exceptions import DeltaError  # noqa: PLC0415 - see above

    from services.archive.reader import ArchiveDamagedError  # noqa: PLC0415 - see above

    try:
        return next(following, None)
    except ArchiveDamagedError as error:
        raise ArchiveFails(partition, str(error), retriable=False) from error
    except (OSError, DeltaError) as error:
        raise ArchiveFails(partition, str(error), retriable=True) from error
