"""Archive the records of the log up to the position of a checkpoint.

Archiving reads the log independently of folds: no fold waits for it, and after a crash it continues at the archive's position. An archive
begins at the topic's first offset. If the topic drops records before they are archived, archiving stops until an operator accepts the
loss.

Records above the newest checkpoint are archived later. The caller checks first that the log still holds the checkpoint's last record. So
if the log lost its end and new records got the same offsets, these are not archived in place of the lost ones.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from services.archive.encode import rows
from services.archive.writer import ArchiveWriter, open_writer
from services.control.erasures import ErasureRequest, parted
from services.log.protocol import CUT, LogError, Ranges, Reader, Record, Topic
from services.log.skipping import beyond, open_reader

COMMIT_BYTES: Final = 64 << 20
"""Approximate bytes of records in one commit; the last poll may exceed it."""
_MOST_COMMITS: Final = 8
"""Maximum number of commits of a call; the next call continues."""
_POLL_SECONDS: Final = 1.0
_POLL_RECORDS: Final = 20_000
_SILENT_POLLS: Final = 10
"""Consecutive polls without progress after which a call fails."""


class Followed(NamedTuple):
    """Result of a call.

    Attributes:
        position: First offset that is not archived.
        rows: Number of appended rows.
        commits: Number of commits.
        reached: Whether all records of the log below the wanted end are archived.
        dropped: Whether the log has dropped all archived records that it has to drop.
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
    lost: Ranges = (),
) -> Followed:
    """Archive the records of a partition from the archive's position to before `end`.

    Args:
        topic: The outcome log.
        skipped: Partition -> ranges of records that an operator skipped; no fold reads them.
        url: URL of the archive.
        partition: Number of the partition.
        end: Position of a checkpoint of the partition.
        erasures: All erasures, in the order of the control log.
        lost: Ranges of the partition's offsets that an operator accepted as lost.

    Raises:
        LogError: The log cannot be read, ends below `end` or the archive's position, or dropped records that are neither archived nor
            accepted as lost.
        ArchiveMovedError: Another writer appended first. No row is archived twice.
        UnknownErasureError: The archive has an erasure that is missing in `erasures`.
        OtherLogError, ArchiveDamagedError, DeltaError, OSError: The archive cannot be written.
    """
    writer = open_writer(url, partition, topic.identity, *parted(erasures, partition, topic.partitions))
    if writer.position > (last := topic.end(partition)):
        ahead = f"the archive {url} holds partition {partition} up to offset {writer.position}, and the log ends at {last}"
        raise LogError(f"{ahead}: restore both from one time, or set EQUIRANK_ARCHIVE to an empty folder", retriable=False)
    before, commits = writer.rows, 0
    if writer.position >= end:
        return Followed(writer.position, 0, 0, True)
    gap_to = _gap_to(topic, writer, partition, beyond(skipped.get(partition, ()), writer.position), lost)
    with closing(open_reader(topic, {partition: writer.position if gap_to is None else gap_to}, skipped)) as reader:
        while commits < _MOST_COMMITS and writer.position < end:
            taken = read_records(topic, reader, partition, end, COMMIT_BYTES)
            if not taken:  # no record follows below `end`
                return Followed(writer.position, writer.rows - before, commits, True)
            reached = max(min(reader.position(partition), end), taken[-1].offset + 1)
            writer.append(rows(taken), writer.position, reached, gap_to=gap_to)
            commits, gap_to = commits + 1, None
    return Followed(writer.position, writer.rows - before, commits, writer.position >= end)


def _gap_to(topic: Topic, writer: ArchiveWriter, partition: int, following: int, lost: Ranges) -> int | None:
    """Offset at which an archive continues after records that the topic dropped; None if the topic has the next record.

    following: first offset to archive. Raises `LogError` if the loss is not accepted.
    """
    begin = topic.begin(partition)
    if following >= begin:
        return None
    after = begin if not writer.rows else beyond(lost, following)
    if after < begin:
        what = f"{topic.name}[{partition}] begins at {begin}, and its archive ends at {writer.position}: the records between are lost"
        what = f"{what}; `equirank partitions accept-loss {partition}` lets the archive go on at {begin}"
        raise LogError(f"{what}, and folds from earlier offsets are then refused", retriable=False)
    return after


def read_records(topic: Topic, reader: Reader, partition: int, end: int, most: int) -> list[Record]:
    """The next records below `end`, of approximately `most` bytes; the last poll may exceed it. Empty if none follow.

    Raises `LogError` if the log ends below `end`, or gives no records in time.
    """
    taken: list[Record] = []
    size = silent = 0
    while size < most and (begin := reader.position(partition)) < end:
        records = [record for record in reader.poll(_POLL_SECONDS, _POLL_RECORDS).get(partition, ()) if record.offset < end]
        taken += records
        size += sum(len(record.value) for record in records)
        silent = silent + 1 if reader.position(partition) == begin else 0
        if silent and begin >= topic.end(partition):
            raise LogError(f"{topic.name}[{partition}] ends at {begin}, and a checkpoint is at {end}: {CUT}", retriable=False)
        if silent == _SILENT_POLLS:
            raise LogError(f"{topic.name}[{partition}] gave no record from offset {begin} in {_SILENT_POLLS} tries", retriable=True)
    return taken
