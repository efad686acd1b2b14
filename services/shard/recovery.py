"""Recovery: restores a partition from its newest valid checkpoint, so that folding continues at the checkpoint's position."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import RatingsError
from services.checkpoints.checkpoint import CheckpointStore, Manifest, PoolEntry, SkippedCheckpoint
from services.control.records import FOLD_VERSION, ControlState, Generation
from services.log.partition import partition_of
from services.log.protocol import CUT, OTHER, BatchDamaged, Log, LogError, OffsetLost, Topic
from services.log.reading import read_parts, read_range
from services.shard.generations.build import Build, retracted_below
from services.shard.partition import Partition
from services.state.edits import Retracted
from services.state.pool import PoolState

log = logging.getLogger("equirank.recovery")

_OTHER_COUNT: Final = "the log was folded with another number of partitions"


class WrongLog(Exception):  # noqa: N818 - names the fact
    """A checkpoint or the control log belongs to another log than the configured one. Continuing would count outcomes wrongly."""


def recover(
    number: int, log_: Log, control: ControlState, checkpoints: CheckpointStore, skipped_checkpoints: list[SkippedCheckpoint]
) -> tuple[Partition, Manifest | None]:
    """Restore a partition from its newest valid checkpoint. Without one, the partition is empty at its `beginning`.

    Args:
        number: Number of the partition.
        log_: Log of the partition.
        control: State of the control log.
        checkpoints: Where checkpoints are read.
        skipped_checkpoints: Receives the checkpoints that were not valid.

    Returns:
        The partition, and the manifest of the checkpoint or None.

    Raises:
        WrongLog: The log's identity or the last folded record differ.
        LogError: The log does not answer.
    """
    topic = log_.outcomes
    check_bound(number, topic, control)
    newest = checkpoints.recover(number, skipped_checkpoints)
    for checkpoint in skipped_checkpoints:
        log.warning("checkpoint %s was skipped: %s", checkpoint.name, checkpoint.reason, extra={"partition": number})
    if newest is None:
        partition, manifest = Partition(number, topic.partitions, beginning(number, log_.history, control)), None
    else:
        manifest, arrays = newest
        check_log(manifest, topic)
        partition = restore(manifest, arrays, topic.partitions, control)
    begin_edited(partition, log_, control)
    partition.position = control.partitions.beyond(number, partition.position)
    return partition, manifest


def restore(manifest: Manifest, arrays: Mapping[str, Arrays], partitions: int, control: ControlState) -> Partition:
    """Restore the partition of a checkpoint. arrays: arrays of the checkpoint's objects, by object name.

    If a pool serves a later generation now, the restored state is hidden. Readers keep the published boards until that generation is built
    again.

    Raises `WrongLog` if the control log lacks a generation of the checkpoint, or if a pool belongs to another partition.
    """
    partition = Partition(manifest.partition, partitions, manifest.position)
    if manifest.last_offset is not None and manifest.last_sha256 is not None:
        partition.last = manifest.last_offset, manifest.last_sha256
    for entry in manifest.pools:
        state = partition.pools[entry.pool] = _restore_pool(manifest, entry, arrays[entry.object], partitions, control)
        if state.generation.number < control.served(entry.pool):
            partition.readers.hidden.add(entry.pool)
    for entry in manifest.builds:
        build = Build.restored(_restore_pool(manifest, entry, arrays[entry.object], partitions, control), entry.position)
        if build.failed is None:  # a failed build is started again by the builder
            partition.builds[build.key] = build
    return partition


def begin_edited(partition: Partition, log_: Log, control: ControlState) -> None:
    """Add the pools that are in no checkpoint and whose generation applies retractions. The retractions are read from the log first."""
    for made in served(partition.number, log_.outcomes, control):
        seasonal = made.opening is not None  # `begin_seasons` adds these
        if made.pool not in partition.pools and made.retraction_horizon and made.fold_version == FOLD_VERSION and not seasonal:
            retractions = retracted(made, log_, partition.number, control)
            partition.pools[made.pool] = PoolState(control.pools[made.pool], made, retractions)


def retracted(made: Generation, log_: Log, partition: int, control: ControlState) -> Retracted:
    """Read from the log the retractions below the horizon of a generation. Skipped records are left out.

    Raises `LogError`, and `WrongLog` if the log ends before the horizon.
    """
    topic, ids = log_.history, list[NDArray[np.uint64]]()
    position, horizon = control.partitions.beyond(partition, made.start), made.retraction_horizon
    if position < horizon:
        if (end := topic.end(partition)) < horizon:
            what = f"generation {made.number} of pool {made.pool} was made at {horizon}, and the log ends at {end}"
            raise WrongLog(f"partition {partition} of {topic.name}: {what}: {CUT}")
        skipped = control.partitions.skipped
        if log_.archived is not None:
            for part in log_.archived.parts_of(made.pool, partition, position, retractions=True, skipped=skipped.get(partition, ())):
                ids += retracted_below(horizon, made.pool, part.records)
                position = part.end
        for records in read_parts(topic, partition, position, horizon, skipped):
            ids += retracted_below(horizon, made.pool, records)
    return Retracted.of(ids)


def _restore_pool(manifest: Manifest, entry: PoolEntry, arrays: Arrays, partitions: int, control: ControlState) -> PoolState:
    """Restore one pool. It is stopped if it was stopped before, or if this release cannot continue its generation."""
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
    except (RatingsError, KeyError, ValueError) as error:  # the object is intact, but another release wrote it: stop only this pool
        state, why = PoolState(created, generation), why or f"its checkpoint cannot be read here: {type(error).__name__}: {error}"
    if why is not None:
        state.stop(why, entry.position)
    return state


def beginning(number: int, topic: Topic, control: ControlState) -> int:
    """Return the start of a partition without a checkpoint: the lowest start of its serving generations, or the log's beginning.

    While all of them are first generations, no checkpoint may ever have been written, and dead letters of records before them may be
    missing: the log's beginning counts then. A later generation serves only once a checkpoint contains it, so these letters are written.

    Raises `LogError`.
    """
    serving = served(number, topic, control)
    starts = [made.start for made in serving]
    if all(made.number == 1 for made in serving):
        starts.append(topic.begin(number))
    return min(starts)


def served(number: int, topic: Topic, control: ControlState) -> list[Generation]:
    """Return the serving generations of a partition's pools."""
    known = list(control.generations)  # copied, because other threads refresh the control log
    here = [pool for pool in known if partition_of(pool, topic.partitions) == number]
    return [made for pool in here if (made := control.serving(pool)) is not None]


def check_bound(number: int, topic: Topic, control: ControlState) -> None:
    """Raise `WrongLog` if the control log was written for another outcome log: its positions are offsets of that log."""
    if (bound := control.partitions.logs.get(number, topic.identity)) != topic.identity:
        raise WrongLog(f"partition {number} of {topic.name}: it was folded from log {bound}, this is {topic.identity}; {OTHER}")


def check_homes(control: ControlState, partitions: int) -> None:
    """Raise `LogError` if no shard ever owned the partition of a folded pool: the number of partitions has changed since."""
    for pool in control.generations:
        if (home := partition_of(pool, partitions)) not in control.partitions.epochs:
            what = f"partition {home} of {partitions}, where pool {pool} lives, was never folded"
            raise LogError(f"{what}: {_OTHER_COUNT}; {OTHER}", retriable=False)


def check_log(manifest: Manifest, topic: Topic) -> None:
    """Raise `WrongLog` if a checkpoint was folded from another log, or from records missing at the log's end. Raises `LogError`."""
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
    """Whether the log's record at `offset` is the folded one, by its hash. Raises `LogError`.

    True also if the record cannot be compared: it was damaged since it was folded, or the topic forgot it, perhaps during this call.
    """
    try:
        return sha256_at(topic, partition, offset) == sha256 or offset < topic.begin(partition)
    except BatchDamaged as error:
        log.warning("the last folded record is now damaged, so it cannot be compared: %s", error, extra={"partition": partition})
        return True


def sha256_at(topic: Topic, partition: int, offset: int) -> str | None:
    """Return the SHA-256 of the record at `offset`; None if the log has no record there. Raises `LogError` if the log does not answer."""
    if topic.end(partition) <= offset:
        return None
    try:
        records = [record for record in read_range(topic, partition, offset, offset + 1) if record.offset == offset]
    except OffsetLost:
        return None
    return hashlib.sha256(records[0].value).hexdigest() if records else None
