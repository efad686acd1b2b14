"""Record an operator's decision on a partition that stopped at certain records: skip these records, or try them again."""

from ratings_core.errors import InputError
from services.admin.log_coverage import archived_to
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import MOST_RESTARTS, ControlState, Restarts, Skipped, Why
from services.log.protocol import BatchDamaged, Log, Topic
from services.log.reading import read_parts
from services.shard.recovery import beginning
from services.shard.restarts import isolated_at


def skip(partition: int, offset: int, log: Log, control: ControlLog, checkpoints: CheckpointStore, now: float) -> Skipped:
    """Record that a partition is folded without the damaged batch at `offset`, or without the record at which it is isolated.

    Of a damaged batch, only unreadable records above the newest checkpoint are skipped. If the checkpoint includes the batch, its
    unreadable records above the archive's position are skipped instead: only new generations read these.

    Args:
        partition: Number of the partition.
        offset: Offset of a record that stops the partition.
        log: The log, with its archive.
        control: The control log.
        checkpoints: Checkpoints of the partition.
        now: Time of the decision, seconds since 1970.

    Returns:
        The decision: the skipped range of offsets.

    Raises:
        InputError: The partition does not exist, the record at `offset` stops no fold, or it is skipped or archived already.
        LogError: The log does not answer.

    """
    state = control.refresh()
    _check_partition(partition, log.outcomes)
    if state.partitions.skips(partition, offset):
        raise InputError("offset", offset, "must not be skipped already")
    begin, end = _stopping(partition, offset, log, state, checkpoints)
    why = Why.DEADLY if isolated_at(partition, state) == offset else Why.DAMAGED
    skipped = Skipped(partition=partition, begin=begin, end=end, time=now, why=why)
    control.append(skipped)
    return skipped


def retry(partition: int, log: Log, control: ControlLog, now: float) -> int:
    """Record that an isolated partition tries its record again, for example after an increase of memory.

    Args:
        partition: Number of the partition.
        log: The log.
        control: The control log.
        now: Time of the decision, seconds since 1970.

    Returns:
        Offset of the record.

    Raises:
        InputError: The partition does not exist, or it is not isolated.
        LogError: The log does not answer.

    """
    state = control.refresh()
    _check_partition(partition, log.outcomes)
    offset = isolated_at(partition, state)
    if offset is None:
        raise InputError("partition", partition, "must be isolated at a record: `equirank partitions list` shows isolated partitions")
    epoch, count = state.partitions.epochs[partition], MOST_RESTARTS - 1  # one more shard may fold the record
    control.append(Restarts(partition=partition, epoch=epoch, position=offset, count=count, time=now))
    return offset


def _check_partition(partition: int, topic: Topic) -> None:
    if partition >= topic.partitions:
        raise InputError("partition", partition, f"must be below {topic.partitions}")


def _stopping(partition: int, offset: int, log: Log, control: ControlState, checkpoints: CheckpointStore) -> tuple[int, int]:
    """Range of records that stop the partition or its new generations: its first offset, and the offset after its last one.

    Raises `InputError` if the range does not include `offset`.
    """
    if isolated_at(partition, control) == offset:
        return offset, offset + 1
    topic, newest = log.outcomes, checkpoints.newest(partition)
    folded = beginning(partition, topic, control) if newest is None else newest.position
    batch = _damaged(partition, offset, offset + 1, topic, control)
    if batch is None:
        rule = "must be in a damaged batch, or be the record at which the partition is isolated (`equirank partitions list`)"
        raise InputError("offset", offset, rule)
    held = folded if batch.end > folded else archived_to(partition, log) or 0
    if batch.end <= held:
        raise InputError("offset", offset, f"must not be archived: new generations read the archive, which has all offsets below {held}")
    first = _damaged(partition, max(batch.base, held), batch.end, topic, control) or batch
    if not first.begin <= offset < first.end:
        raise InputError("offset", offset, f"must be from {first.begin} to {first.end - 1}, the records of the batch that cannot be read")
    return first.begin, first.end


def _damaged(partition: int, start: int, until: int, topic: Topic, control: ControlState) -> BatchDamaged | None:
    """First damaged batch at or after `start` that begins before `until`; otherwise None. Raises `LogError`."""
    try:
        for _ in read_parts(topic, partition, start, min(until, topic.end(partition)), control.partitions.skipped):
            pass  # only the error of a damaged batch matters
    except BatchDamaged as error:
        return error if error.base < until else None
    return None
