"""Archives what the log holds, up to a position that a checkpoint covers.

The archive reads the log by itself: nothing waits for it, a crash loses nothing, and catching up is the same work as keeping up.
An archive begins where its topic begins. It stops where the topic forgot records that were not archived, until an operator accepts
the loss.

Records above the newest checkpoint are left for later: the caller checks that the log still holds the last record of that checkpoint, so
records that took the place of lost ones are never archived.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from services.archive.encode import rows
from services.archive.writer import ArchiveWriter, open_writer
from services.control.erasures import ErasureRequest, parted
from services.log.protocol import CUT, LogError, Reader, Record, Topic
from services.log.skipping import Ranges, beyond, open_reader

COMMIT_BYTES: Final = 64 << 20
"""Bytes of records in one commit, about; one more poll may exceed it."""
_MOST_COMMITS: Final = 8
"""Commits after which a call returns although more is left."""
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
    lost: Ranges = (),
) -> Followed:
    """Archive the records of a partition from the archive's position to before `end`.

    Args:
        topic: The outcome log.
        skipped: Records that an operator gave up, by partition; no fold reads them.
        url: URL of the archive.
        partition: Number of the partition.
        end: Position of a checkpoint of the partition.
        erasures: All erasures, in the order of the control log.
        lost: Offsets of the partition that an operator accepted as lost.

    Raises:
        LogError: The log cannot be read, ends below `end`, or forgot records that are neither archived nor accepted as lost.
        ArchiveMovedError: Another writer appended first. Nothing is double.
        UnknownErasureError: The archive has undergone an erasure that is not among `erasures`.
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
            taken = _read(topic, reader, partition, end)
            if not taken:  # what is left below `end` is no record
                return Followed(writer.position, writer.rows - before, commits, True)
            reached = max(min(reader.position(partition), end), taken[-1].offset + 1)
            writer.append(rows(taken), writer.position, reached, gap_to=gap_to)
            commits, gap_to = commits + 1, None
    return Followed(writer.position, writer.rows - before, commits, writer.position >= end)


def _gap_to(topic: Topic, writer: ArchiveWriter, partition: int, following: int, lost: Ranges) -> int | None:
    """Where an archive goes on whose topic forgot the next records; None where the topic has them. Raises `LogError`.

    following: first offset to archive.
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
