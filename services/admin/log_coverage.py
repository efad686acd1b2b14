"""What log, archive and checkpoints hold of a partition, and operators' decisions to continue without lost records.

A partition whose checkpoints all end before the log begins stops: to skip what nobody folded would be silently wrong. Where it is lost for
good, a record of the control log says so, and the partition continues at the beginning of the log. The same record lets an archive continue
that fell behind its topic.
"""

from collections.abc import Iterator

import msgspec

from ratings_core.errors import InputError
from services.archive.history import ArchiveFails, History
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.control import generations
from services.control.log import ControlLog
from services.control.records import ControlState, GenerationRequest, LossAccepted
from services.log.partition import partition_of
from services.log.protocol import CUT, Log, LogError, Topic
from services.shard.recovery import WrongLog, beginning, check_bound, check_log


class LogCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """A partition.

    Attributes:
        begin, end: What topic and archive hold together; 0 where the partition does not answer.
        checkpoint: Position of the newest that is whole.
        lost: From where on records are gone, up to `begin`, that no checkpoint holds and no operator gave up.
        wrong: Why this is not the log that was folded, or not all of it.
        archived: First offset that is not archived, None where nothing is.
        unarchived: From where on the topic forgot records before they were archived, where no operator gave them up.
        unreadable: Why the archive cannot be read, where the topic lacks records that are still to be folded.
        offline: Why the partition does not answer; then no more is known than its checkpoint.
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
    offline: str | None = None


def coverage(log: Log, control: ControlState, checkpoints: CheckpointStore) -> Iterator[LogCoverage]:
    """Of each partition. Raises `LogError`, but for a partition that does not answer."""
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
    stands = control.partitions.beyond_losses(number, _stands(number, newest, log.outcomes, control))
    wrong = _wrong(number, newest, log.outcomes, stands, control)
    return LogCoverage(
        partition=number,
        begin=begin,
        end=log.outcomes.end(number),
        checkpoint=None if newest is None else newest.position,
        lost=stands if stands < begin and wrong is None else None,
        wrong=wrong,
        archived=archived,
        unarchived=None if unreadable is not None else _unarchived(number, log, control),
        unreadable=unreadable if stands < begin and wrong is None else None,
    )


def _begin(log: Log, number: int) -> tuple[int, int | None, str | None]:
    """Where the log begins, up to where it is archived, and why its archive cannot be read: then it begins where the topic does."""
    try:
        return log.history.begin(number), archived_to(number, log), None
    except ArchiveFails as error:
        return log.outcomes.begin(number), None, str(error)


def check_wish(wanted: GenerationRequest, control: ControlState, history: Topic) -> None:
    """Raises `InputError` for a generation that would be folded from before the log begins; `LogError`."""
    if control.serving(wanted.pool) is None or wanted.start == "now":
        return
    number = partition_of(wanted.pool, history.partitions)
    needed = generations.after_wish(control, (0, wanted), 0, 0, 0.0).start
    if needed < (begin := history.begin(number)):
        rule = f"must be now, or at least {begin}: the log of {wanted.pool} begins there, and neither topic nor archive has older records"
        raise InputError("start", wanted.start, rule)


def accept_loss(number: int, log: Log, control: ControlLog, checkpoints: CheckpointStore, now: float) -> LossAccepted:
    """Record that a partition and its archive continue where the log begins.

    Raises `InputError` if they lost nothing, or something else; `LogError`.
    """
    topic, newest = log.outcomes, checkpoints.newest(number)
    begin = log.history.begin(number)
    state = control.refresh()
    position = state.partitions.beyond_losses(number, _stands(number, newest, topic, state))
    if (wrong := _wrong(number, newest, topic, position, state)) is not None:
        raise InputError("partition", number, f"must have lost only the beginning of its own log: {wrong}")
    if (unarchived := _unarchived(number, log, state)) is not None:
        position = min(position, unarchived)
    if position >= begin:
        needed = "it needs records from offset" if newest is None else "its checkpoint is at offset"
        raise InputError(
            "partition", number, f"must have lost records, but has lost none: {needed} {position}, and the log starts at {begin}"
        )
    accepted = LossAccepted(partition=number, position=position, begin=begin, time=now)
    control.append(accepted)
    return accepted


def _wrong(number: int, newest: Manifest | None, topic: Topic, stands: int, control: ControlState) -> str | None:
    """Why a partition stops that no loss explains: what is known of it is of another log, or the log lost its end."""
    try:
        check_bound(number, topic, control)
        if newest is not None:
            check_log(newest, topic)
    except WrongLog as error:
        return str(error)
    end = topic.end(number)
    return None if stands <= end else f"partition {number} of {topic.name} is read from offset {stands}, but the log ends at {end}: {CUT}"


def archived_to(number: int, log: Log) -> int | None:
    """First offset of a partition that is not archived; None where nothing is. Raises `LogError`."""
    return log.archived.archived_to(number) if isinstance(log.archived, History) else None


def _unarchived(number: int, log: Log, control: ControlState) -> int | None:
    """Where the archive stands, if the topic forgot what follows there and no operator gave that up."""
    position = archived_to(number, log)
    forgot = position is not None and control.partitions.beyond_losses(number, position) < log.outcomes.begin(number)
    return position if forgot else None


def _stands(number: int, newest: Manifest | None, topic: Topic, control: ControlState) -> int:
    """Where a partition would go on that is started now, if the log held everything."""
    return beginning(number, topic, control) if newest is None else newest.position
