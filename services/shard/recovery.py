"""Recovery: a partition from the newest checkpoint that verifies, ready to continue at its position."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Final

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import RatingsError
from services.archive.history import History
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry, SkippedCheckpoint
from services.control.records import FOLD_VERSION, ControlState, Generation
from services.log.partition import partition_of
from services.log.protocol import CUT, OTHER, BatchDamaged, Log, LogError, OffsetLost, Topic
from services.log.reading import read_parts, read_range
from services.shard.generations.build import Build, retracted_below
from services.shard.partition import Partition
from services.state.edits import Retracted
from services.state.pool import PoolState
from services.wire.events import RetractEvent

log = logging.getLogger("equirank.recovery")

_OTHER_COUNT: Final = "the log was folded with another number of partitions"


class WrongLog(Exception):  # noqa: N818 - names the fact
    """The checkpoint belongs to another log than the one at hand: going on would count outcomes wrongly."""


def recover(
    number: int, log_: Log, control: ControlState, checkpoints: CheckpointStore, skipped: list[SkippedCheckpoint]
) -> tuple[Partition, Manifest | None]:
    """The partition as its newest whole checkpoint holds it, or empty at its beginning, and that checkpoint.

    Raises `WrongLog` where log identity or last record differ, `LogError` where the log does not answer.
    """
    topic = log_.outcomes
    check_bound(number, topic, control)
    found = checkpoints.recover(number, skipped)
    for one in skipped:
        log.warning("checkpoint %s was skipped: %s", one.name, one.reason, extra={"partition": number})
    if found is None:
        partition, manifest = Partition(number, topic.partitions, beginning(number, log_.history, control)), None
    else:
        manifest, arrays = found
        check_log(manifest, topic)
        partition = restore(manifest, arrays, topic.partitions, control)
    begin_edited(partition, log_.history, control)
    partition.position = control.partitions.beyond_losses(number, partition.position)
    return partition, manifest


def restore(manifest: Manifest, arrays: Mapping[str, Arrays], partitions: int, control: ControlState) -> Partition:
    """The partition that a checkpoint holds; arrays: of its objects. Raises `WrongLog` where the control log does not know a generation, or
    a pool lives in another partition.

    A pool that serves a later generation by now is hidden: readers go on with what they have until that one is built again.
    """
    partition = Partition(manifest.partition, partitions, manifest.position)
    if manifest.last_offset is not None and manifest.last_sha256 is not None:
        partition.last = manifest.last_offset, manifest.last_sha256
    for entry in manifest.pools:
        state = partition.pools[entry.pool] = _restored(manifest, entry, arrays[entry.object], partitions, control)
        if state.generation.number < control.served(entry.pool):
            partition.readers.hidden.add(entry.pool)
    for entry in manifest.builds:
        build = Build.restored(_restored(manifest, entry, arrays[entry.object], partitions, control), entry.position)
        if build.failed is None:  # one that failed is begun anew
            partition.builds[build.key] = build
    return partition


def begin_edited(partition: Partition, topic: Topic, control: ControlState) -> None:
    """Begin the pools that no checkpoint holds and whose generation leaves retracted outcomes out: the log is read for those first."""
    for made in served(partition.number, topic, control):
        if made.pool not in partition.pools and made.retraction_horizon and made.fold_version == FOLD_VERSION:
            found = retracted(made, topic, partition.number, control)
            partition.pools[made.pool] = PoolState(control.pools[made.pool], made, found)


def retracted(made: Generation, topic: Topic, partition: int, control: ControlState) -> Retracted:
    """What the log retracts below the horizon of a generation, but for what an operator gave up as lost.

    Raises `LogError`, and `WrongLog` where the log ends before that horizon.
    """
    found, position, horizon = list[RetractEvent](), control.partitions.beyond_losses(partition, made.start), made.retraction_horizon
    if position < horizon:
        if (end := topic.end(partition)) < horizon:
            what = f"generation {made.number} of pool {made.pool} was made at {horizon}, and the log ends at {end}"
            raise WrongLog(f"partition {partition} of {topic.name}: {what}: {CUT}")
        skipped = control.partitions.skipped
        archived = (
            topic.parts_of(made.pool, partition, position, retractions=True, skipped=skipped.get(partition, ()))
            if isinstance(topic, History)
            else ()
        )
        for part in archived:
            found += retracted_below(horizon, made.pool, part.records)
            position = part.end
        for records in read_parts(topic, partition, position, horizon, skipped):
            found += retracted_below(horizon, made.pool, records)
    return Retracted.of(found)


def _restored(manifest: Manifest, entry: PoolEntry, arrays: Arrays, partitions: int, control: ControlState) -> PoolState:
    """One pool; stopped where it was, or where this version cannot go on with it."""
    if (home := partition_of(entry.pool, partitions)) != manifest.partition:
        what = f"the checkpoint holds pool {entry.pool}, which lives in partition {home} of {partitions}: {_OTHER_COUNT}"
        raise WrongLog(f"partition {manifest.partition}: {what}; {OTHER}")
    created, generation = control.pools.get(entry.pool), control.generations.get(entry.pool, {}).get(entry.generation)
    if created is None or generation is None:
        what = f"the control log has no generation {entry.generation} of pool {entry.pool}, which the checkpoint holds"
        raise WrongLog(f"partition {manifest.partition}: {what}; {OTHER}")
    why = entry.stopped
    if why is None and manifest.fold_version != FOLD_VERSION:
        why = f"folded by version {manifest.fold_version}, this is {FOLD_VERSION}: it needs a new generation"
    try:
        state = PoolState.restore(created, generation, arrays, entry.position)
    except (RatingsError, KeyError, ValueError) as error:  # whole, but not as this version writes it: the other pools go on
        state, why = PoolState(created, generation), why or f"its checkpoint cannot be read here: {type(error).__name__}: {error}"
    if why is not None:
        state.stop(why, entry.position)
    return state


def beginning(number: int, topic: Topic, control: ControlState) -> int:
    """Where a partition without checkpoint starts: at the first offset that any of its generations reads."""
    return min([made.start for made in served(number, topic, control)], default=topic.begin(number))


def served(number: int, topic: Topic, control: ControlState) -> list[Generation]:
    """The generations that readers see of a partition's pools."""
    known = list(control.generations)  # at once: other threads refresh the control log, too
    here = [pool for pool in known if partition_of(pool, topic.partitions) == number]
    return [made for pool in here if (made := control.serving(pool)) is not None]


def check_bound(number: int, topic: Topic, control: ControlState) -> None:
    """Raises `WrongLog` where the control log is about another log: starts of generations and losses are positions in that one."""
    if (bound := control.partitions.logs.get(number, topic.identity)) != topic.identity:
        raise WrongLog(f"partition {number} of {topic.name}: it was folded from log {bound}, this is {topic.identity}; {OTHER}")


def check_homes(control: ControlState, partitions: int) -> None:
    """Raises `LogError` where a pool was folded and nobody ever owned the partition that it lives in: its outcomes are in another one."""
    for pool in control.generations:
        if (home := partition_of(pool, partitions)) not in control.partitions.epochs:
            what = f"partition {home} of {partitions}, where pool {pool} lives, was never folded"
            raise LogError(f"{what}: {_OTHER_COUNT}; {OTHER}", retriable=False)


def check_log(manifest: Manifest, topic: Topic) -> None:
    """Raises `WrongLog` where a checkpoint was folded from another log, or from records that this one lost at its end; `LogError`."""
    where = f"partition {manifest.partition} of {topic.name}"
    if manifest.log_identity != topic.identity:
        raise WrongLog(f"{where}: the checkpoint was folded from log {manifest.log_identity}, this is {topic.identity}; {OTHER}")
    if manifest.last_offset is None or manifest.last_offset < topic.begin(manifest.partition):
        return
    if not holds(topic, manifest.partition, manifest.last_offset, manifest.last_sha256):
        end = topic.end(manifest.partition)
        what = "is not the one that the checkpoint was folded from" if end > manifest.last_offset else f"is gone, as the log ends at {end}"
        raise WrongLog(f"{where}: the record at offset {manifest.last_offset} {what}: {CUT}")


def holds(topic: Topic, partition: int, offset: int, sha256: str | None) -> bool:
    """Whether the log has the record at `offset` that was folded, by its hash. Raises `LogError`.

    Also where that record was damaged since: it is folded, and a skip concerns new generations only. Or forgotten, perhaps just now.
    """
    try:
        return sha256_at(topic, partition, offset) == sha256 or offset < topic.begin(partition)
    except BatchDamaged as error:
        log.warning("the last folded record is now damaged, so it cannot be compared: %s", error, extra={"partition": partition})
        return True


def sha256_at(topic: Topic, partition: int, offset: int) -> str | None:
    """Hash of the record at `offset`, None where the log has none. A log that does not answer is no other log: raises `LogError`."""
    if topic.end(partition) <= offset:
        return None
    try:
        found = [record for record in read_range(topic, partition, offset, offset + 1) if record.offset == offset]
    except OffsetLost:
        return None
    return hashlib.sha256(found[0].value).hexdigest() if found else None
