"""Report which offsets of a partition the log, the archive and checkpoints hold, and accept the loss of records.

A partition stops if its newest checkpoint ends before the log begins: without the records between them, its ratings would be wrong. If
these records are lost, an operator accepts the loss. The decision is a record of the control log: the lost records are skipped, and the
partition continues at the log's first offset. The same record lets an archive continue if the topic dropped records before they were
archived.
"""

from collections.abc import Iterator

import msgspec

from ratings_core.errors import InputError
from services.archive.history import ArchiveFails
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.control import generations
from services.control.log import ControlLog
from services.control.records import ControlState, GenerationRequest, Skipped, Why
from services.log.partition import partition_of
from services.log.protocol import CUT, Log, LogError, Topic
from services.shard.recovery import WrongLog, beginning, check_bound, check_log


class LogCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage of one partition.

    Attributes:
        begin: First offset that topic or archive hold; 0 for an offline partition.
        end: Offset after the topic's last record; 0 for an offline partition.
        checkpoint: Position of the newest complete checkpoint; None without one.
        lost: First lost offset. Records from here to before `begin` are in no checkpoint, and their loss is not accepted. None if no
            record is lost.
        wrong: Reason why this is not the log that was folded, or why its end is missing; None for the right log.
        archived: First offset that is not archived; None without an archive or before its first row.
        unarchived: First offset that the topic dropped before it was archived, and whose loss is not accepted; None without one.
        unreadable: Reason why the archive cannot be read, given if the topic alone lacks records that have to be folded; otherwise None.
        unread: Reason why the archive cannot be read, given if the topic has all records that have to be folded; otherwise None.
        offline: Reason why the partition does not answer; only `checkpoint` is then known. None for a partition that answers.
    """

    partition: int
    begin: int
    end: int
    checkpoint: int | None
    lost: int | None
    wrong: str | None = None
    archived: int | None = None
    unarchived: int | None = None
    unreadable: str | None = None
    unread: str | None = None
    offline: str | None = None


def coverage(log: Log, control: ControlState, checkpoints: CheckpointStore) -> Iterator[LogCoverage]:
    """Coverage of each partition. A retriable `LogError` marks its partition as offline; any other one is raised."""
    for number in range(log.outcomes.partitions):
        newest = checkpoints.newest(number)
        try:
            yield _covered(number, newest, log, control)
        except LogError as error:
            if not error.retriable:
                raise
            held = None if newest is None else newest.position
            yield LogCoverage(partition=number, begin=0, end=0, checkpoint=held, lost=None, offline=str(error))


def _covered(number: int, newest: Manifest | None, log: Log, control: ControlState) -> LogCoverage:
    begin, archived, unreadable = _begin(log, number)
    position = control.partitions.beyond(number, _read_position(number, newest, log.outcomes, control))
    wrong = _wrong(number, newest, log.outcomes, position, control)
    lacks = position < begin and wrong is None
    return LogCoverage(
        partition=number,
        begin=begin,
        end=log.outcomes.end(number),
        checkpoint=None if newest is None else newest.position,
        lost=position if lacks else None,
        wrong=wrong,
        archived=archived,
        unarchived=None if unreadable is not None else _unarchived(number, log, control),
        unreadable=unreadable if lacks else None,
        unread=None if lacks else unreadable,
    )


def _begin(log: Log, number: int) -> tuple[int, int | None, str | None]:
    """First offset of the log, first offset that is not archived, and the reason why the archive cannot be read.

    If the archive cannot be read, the first offset is the topic's.
    """
    try:
        return log.history.begin(number), archived_to(number, log), None
    except ArchiveFails as error:
        return log.outcomes.begin(number), None, str(error)


def check_wish(wanted: GenerationRequest, control: ControlState, history: Topic) -> None:
    """Raise `InputError` for a requested generation that needs records from before the log's first offset. Raises `LogError`.

    A season that begins at an earlier position needs the season before from its start, because no checkpoint ends there.
    """
    serving = control.serving(wanted.pool)
    if serving is None or wanted.start == "now":
        return
    number = partition_of(wanted.pool, history.partitions)
    needed = least = generations.after_wish(control, (0, wanted), 0, 0, 0.0).start
    begin, end = history.begin(number), history.end(number)
    if wanted.season is not None and needed < end:
        needed, least = serving.start, end
    if needed < begin:
        least = max(least, begin)
        where = "there" if least == begin else f"at {begin}"
        older = f"the log of {wanted.pool} begins {where}, and neither topic nor archive (EQUIRANK_ARCHIVE) has older records"
        raise InputError("start", wanted.start, f"must be now, or at least {least}: {older}")


def placed_wish(wanted: GenerationRequest, control: ControlState, history: Topic) -> GenerationRequest:
    """Check a requested generation, and give a season that begins `now` its position: the present end of the log.

    So every outcome that was accepted before the request counts in the season before. Raises as `check_wish`.
    """
    check_wish(wanted, control, history)
    if wanted.season is None or wanted.start != "now" or control.serving(wanted.pool) is None:
        return wanted
    return msgspec.structs.replace(wanted, start=history.end(partition_of(wanted.pool, history.partitions)))


def accept_loss(number: int, log: Log, control: ControlLog, checkpoints: CheckpointStore, now: float) -> Skipped:
    """Record an operator's decision that a partition and its archive continue at the log's first offset.

    Raises:
        InputError: No record is lost, or the partition stops for another reason: it is another log, or the log's end is missing.
        LogError: The log failed.
    """
    topic, newest = log.outcomes, checkpoints.newest(number)
    begin = log.history.begin(number)
    state = control.refresh()
    position = state.partitions.beyond(number, _read_position(number, newest, topic, state))
    if (wrong := _wrong(number, newest, topic, position, state)) is not None:
        raise InputError("partition", number, f"must have lost only the beginning of its own log: {wrong}")
    if (unarchived := _unarchived(number, log, state)) is not None:
        position = min(position, unarchived)
    if position >= begin:
        needed = "it needs records from offset" if newest is None else "its checkpoint is at offset"
        raise InputError(
            "partition", number, f"must have lost records, but has lost none: {needed} {position}, and the log starts at {begin}"
        )
    accepted = Skipped(partition=number, begin=position, end=begin, time=now, why=Why.LOST)
    control.append(accepted)
    return accepted


def _wrong(number: int, newest: Manifest | None, topic: Topic, position: int, control: ControlState) -> str | None:
    """Reason why a partition stops that an accepted loss cannot remove: it is another log, or the log's end is missing. None without one.

    position: position from which the partition reads.
    """
    try:
        check_bound(number, topic, control)
        if newest is not None:
            check_log(newest, topic)
    except WrongLog as error:
        return str(error)
    end = topic.end(number)
    if position <= end:
        return None
    return f"partition {number} of {topic.name} is read from offset {position}, but the log ends at {end}: {CUT}"


def archived_to(number: int, log: Log) -> int | None:
    """First offset of a partition that is not archived; None without an archive or before its first row. Raises `LogError`."""
    return log.archived.archived_to(number) if log.archived is not None else None


def _unarchived(number: int, log: Log, control: ControlState) -> int | None:
    """First offset that is not archived, if the topic dropped its record and the loss is not accepted; otherwise None."""
    position = archived_to(number, log)
    forgot = position is not None and control.partitions.beyond(number, position) < log.outcomes.begin(number)
    return position if forgot else None


def _read_position(number: int, newest: Manifest | None, topic: Topic, control: ControlState) -> int:
    """Position from which a shard would fold the partition now: the newest checkpoint's, or the first one of its generations."""
    return beginning(number, topic, control) if newest is None else newest.position
