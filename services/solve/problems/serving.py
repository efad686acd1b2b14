"""The checkpoints of the generation that readers see, for computations on request: the newest one, and earlier ones that are kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.boards.past import NotKept
from services.boards.past_contents import When
from services.boards.store.protocol import PoolHead, StoreError
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject

Arrays = dict[str, NDArray[Any]]


class NoCheckpoint(StoreError):  # noqa: N818 - names the fact
    """There is no checkpoint of what readers see of a pool, or it cannot be read now."""


def serving_entry(files: CheckpointStore, head: PoolHead) -> PoolEntry:
    """The newest checkpoint of the pool's serving generation. Raises `NoCheckpoint`."""
    try:
        newest = files.newest_entry(head.partition, head.pool, head.generation)
    except (BadObject, OSError) as error:
        raise _unreadable(head.pool, error) from error
    if newest is None:
        why = f"pool {head.pool} has no checkpoint of generation {head.generation} that can be read here yet"
        raise NoCheckpoint(why, retriable=True)
    return newest[0]


def kept_entry(files: CheckpointStore, head: PoolHead, position: int) -> PoolEntry:
    """The newest kept checkpoint of the serving generation at or before a log position.

    Raises:
        NotKept: All kept checkpoints are later.
        NoCheckpoint: There is no checkpoint yet, or it cannot be read now.
    """
    when, kept = When(position), list[tuple[int, float]]()
    try:
        for entry, manifest in files.kept_entries(head.partition, head.pool, head.generation):
            kept.append((entry.position, manifest.written_at))
            if when.reached(entry.position, manifest.written_at):
                return entry
    except OSError as error:
        raise _unreadable(head.pool, error) from error
    raise NotKept(when, kept, "EQUIRANK_CHECKPOINTS_KEPT")


def arrays_of(files: CheckpointStore, entry: PoolEntry) -> Arrays:
    """The arrays of a checkpointed pool. Raises `NoCheckpoint`."""
    try:
        arrays: dict[str, np.ndarray[Any, Any]] = files.read_pool(entry)
    except (BadObject, OSError) as error:
        raise _unreadable(entry.pool, error) from error
    return arrays


def _unreadable(pool: str, error: Exception) -> NoCheckpoint:
    return NoCheckpoint(f"the checkpoint of pool {pool} cannot be read now: {error}", retriable=True)
