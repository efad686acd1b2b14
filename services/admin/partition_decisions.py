"""An operator's decisions on a partition that stopped at records that cannot be folded: go on without them, or try once more."""

from ratings_core.errors import InputError
from services.admin.log_coverage import archived_to
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import Attempt, ControlState, Skipped
from services.log.protocol import BatchDamaged, Log, Topic
from services.log.reading import read_parts
from services.log.skipping import beyond
from services.shard.attempts import isolated_at
from services.shard.recovery import beginning


def skip(partition: int, offset: int, log: Log, control: ControlLog, checkpoints: CheckpointStore, now: float) -> Skipped:
    """Go on without the damaged batch that holds `offset`, or without the record there at which shards died; nothing else can be skipped.

    Of a batch, those records are skipped that cannot be read and that no checkpoint holds. Where checkpoints hold all of it, generations
    that are still to be folded go on without what the archive does not hold of it. now: seconds since 1970.

    Raises:
        InputError: nothing at `offset` stops the partition, or it was skipped before.
        LogError: the log does not answer.

    """
    state = control.refresh()
    _check_partition(partition, log.outcomes)
    ranges = state.partitions.skipped.get(partition, [])
    if beyond(ranges, offset) != offset:
        raise InputError("offset", offset, "must not be skipped already")
    begin, end = _stopping(partition, offset, log, state, checkpoints)
    skipped = Skipped(partition=partition, begin=begin, end=end, time=now)
    control.append(skipped)
    return skipped


def retry(partition: int, log: Log, control: ControlLog, now: float) -> int:
    """Let a partition try the record again at which shards died, for example with more memory. Its offset.

    Raises:
        InputError: the partition is not isolated.
        LogError: the log does not answer.

    """
    state = control.refresh()
    _check_partition(partition, log.outcomes)
    offset = isolated_at(partition, state)
    if offset is None:
        raise InputError("partition", partition, "must be isolated at a record: `equirank partitions list` shows isolated partitions")
    control.append(Attempt(partition=partition, epoch=state.partitions.epochs[partition], time=now))
    return offset


def _check_partition(partition: int, topic: Topic) -> None:
    if partition >= topic.partitions:
        raise InputError("partition", partition, f"must be below {topic.partitions}")


def _stopping(partition: int, offset: int, log: Log, control: ControlState, checkpoints: CheckpointStore) -> tuple[int, int]:
    """The records that stop the partition or its new generations, from the first to before the second offset, `offset` among them."""
    if isolated_at(partition, control) == offset:
        return offset, offset + 1
    topic, newest = log.outcomes, checkpoints.newest(partition)
    folded = beginning(partition, topic, control) if newest is None else newest.position
    found = _damaged(partition, offset, offset + 1, topic, control)
    if found is None:
        rule = "must be in a damaged batch, or be the record at which the partition is isolated (`equirank partitions list`)"
        raise InputError("offset", offset, rule)
    held = folded if found.end > folded else archived_to(partition, log) or 0
    if found.end <= held:
        raise InputError("offset", offset, f"must not be archived: new generations read the archive, which has all offsets below {held}")
    first = _damaged(partition, max(found.base, held), found.end, topic, control) or found
    if not first.begin <= offset < first.end:
        raise InputError("offset", offset, f"must be from {first.begin} to {first.end - 1}, the records of the batch that cannot be read")
    return first.begin, first.end


def _damaged(partition: int, start: int, until: int, topic: Topic, control: ControlState) -> BatchDamaged | None:
    """The batch that ends a reading from `start`, where it begins before `until`; None where all before can be read. Raises `LogError`."""
    try:
        for _ in read_parts(topic, partition, start, min(until, topic.end(partition)), control.partitions.skipped):
            pass  # what can be read
    except BatchDamaged as error:
        return error if error.base < until else None
    return None
