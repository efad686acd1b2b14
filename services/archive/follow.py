"""Archives what the log holds, up to a position that a checkpoint covers.

The archive reads the log by itself: nothing waits for it, a crash loses nothing, and catching up is the same work as keeping up.
Records above the newest checkpoint are left for later: the caller checks that the log still holds the last record of that checkpoint, so
records that took the place of lost ones are never archived.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from services.archive.encode import rows
from services.archive.writer import ArchiveWriter, open_writer
from services.control.erasures import ErasureRequest
from services.log.protocol import CUT, LogError, Reader, Record, Topic
from services.log.skipping import Ranges, open_reader

COMMIT_BYTES: Final = 64 << 20
"""Bytes of records in one commit, about; one more poll may exceed it."""
_POLL_SECONDS: Final = 1.0
_POLL_RECORDS: Final = 20_000
_SILENT_POLLS: Final = 10
"""After so many polls that bring nothing, the log does not answer."""


class Followed(NamedTuple):
    """What one call did.

    Attributes:
        position: First offset that is not archived.
        rows: Rows appended.
        commits: Commits made.
        reached: Whether everything below the wanted end that the log holds is archived.
        dropped: Whether the log dropped all that it has to drop of what is archived.
    """

    position: int
    rows: int
    commits: int
    reached: bool
    dropped: bool = True


def follow(
    topic: Topic,
    skipped: Mapping[int, Ranges],
    url: str,
    partition: int,
    end: int,
    erasures: Sequence[ErasureRequest] = (),
    most_commits: int = 8,
) -> Followed:
    """Archive the records of a partition from the archive's position to before `end`.

    Args:
        topic: The outcome log.
        skipped: Records that an operator gave up, by partition; no fold reads them.
        url: URL of the archive.
        partition: Number of the partition.
        end: Position of a checkpoint of the partition.
        erasures: All erasures of the partition's pools, in the order of the control log.
        most_commits: Commits after which the call returns although more is left.

    Raises:
        LogError: The log cannot be read, or ends below `end`; `OffsetLost` where it forgot records that were not archived.
        ArchiveMovedError: Another writer appended first. Nothing is double.
        UnknownErasureError: The archive has undergone an erasure that is not among `erasures`.
        OtherLogError, ArchiveDamagedError, DeltaError, OSError: The archive cannot be written.
    """
    writer = open_writer(url, partition, topic.identity, erasures)
    if writer.position > (last := topic.end(partition)):
        ahead = f"the archive {url} holds partition {partition} up to offset {writer.position}, and the log ends at {last}"
        raise LogError(f"{ahead}: restore both from one time, or set EQUIRANK_ARCHIVE to an empty folder", retriable=False)
    before, commits = writer.rows, 0
    if writer.position >= end:
        return Followed(writer.position, 0, 0, True)
    with closing(open_reader(topic, {partition: writer.position}, skipped)) as reader:
        while commits < most_commits and writer.position < end:
            taken = _read(topic, reader, partition, end)
            if not taken:  # what is left below `end` is no record
                return Followed(writer.position, writer.rows - before, commits, True)
            _append(writer, taken, min(reader.position(partition), end))
            commits += 1
    return Followed(writer.position, writer.rows - before, commits, writer.position >= end)


def _read(topic: Topic, reader: Reader, partition: int, end: int) -> list[Record]:
    """The next records before `end`, of one commit. Raises `LogError` where the log gives none of those it has to hold."""
    taken: list[Record] = []
    size = silent = 0
    while size < COMMIT_BYTES and (begin := reader.position(partition)) < end:
        records = [record for record in reader.poll(_POLL_SECONDS, _POLL_RECORDS).get(partition, ()) if record.offset < end]
        taken += records
        size += sum(len(record.value) for record in records)
        silent = silent + 1 if reader.position(partition) == begin else 0
        if silent and begin >= topic.end(partition):
            raise LogError(f"{topic.name}[{partition}] ends at {begin}, and a checkpoint is at {end}: {CUT}", retriable=False)
        if silent == _SILENT_POLLS:
            raise LogError(f"{topic.name}[{partition}] gave no record from offset {begin} in {_SILENT_POLLS} tries", retriable=True)
    return taken


def _append(writer: ArchiveWriter, records: list[Record], reached: int) -> None:
    writer.append(rows(records), writer.position, max(reached, records[-1].offset + 1))
