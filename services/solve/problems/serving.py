"""Contents of the generation that readers see, for computations on request: of checkpoints, or folded again up to a past position."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.boards.past import NotKept
from services.boards.past_contents import NotFolded, PastContent, PastContents, When, check_begun, slice_entry
from services.boards.store.protocol import PoolHead, StoreError
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject

Arrays = dict[str, NDArray[Any]]


class NoCheckpoint(StoreError):  # noqa: N818 - names the fact
    """There is no checkpoint of what readers see of a pool, or it cannot be read now."""


class PoolAt(NamedTuple):
    """A pool, or one of its slices, at a position.

    entry: Its entry. arrays: Reads its arrays, which must not be changed; raises `NoCheckpoint`.
    """

    entry: PoolEntry
    arrays: Callable[[], Arrays]

    @classmethod
    def of(cls, content: PastContent) -> "PoolAt":
        """A content that is in memory."""
        return cls(content.entry, lambda: content.arrays)


def newest(files: CheckpointStore, head: PoolHead, part: str = "") -> PoolAt:
    """The pool, or its slice `part`, at the newest checkpoint of the pool's serving generation. Raises `NoCheckpoint`."""
    entry = serving_entry(files, head, part)
    return PoolAt(entry, partial(arrays_of, files, entry))


def pool_at(
    files: CheckpointStore, head: PoolHead, when: When, contents: PastContents | None, part: str = "", *, begun: bool = True
) -> PoolAt:
    """The pool, or one of its slices, at a past moment, by the pool's serving generation.

    Args:
        files: The checkpoints.
        head: Head of the pool.
        when: The position or time. A position that is later than the head's stands for the head's.
        contents: Folds pools again; None reads checkpoints only.
        part: The slice, such as `language:English`; empty for the pool.
        begun: Whether the pool must have an outcome.

    Returns:
        The pool or the slice at exactly this moment. If it cannot be folded again: at the newest kept checkpoint that is not later.

    Raises:
        NotKept: The pool cannot be folded again, and all kept checkpoints are later.
        StillFolding, LogError: As of `PastContents`.
        NoOutcomes: The pool had no outcome, and must have begun.
        NoSlice: The pool had no outcome of the slice.
        NoCheckpoint: There is no checkpoint yet, or it cannot be read now.
    """
    why = ""
    if contents is not None:
        try:
            found = contents.content(head, when, head.generation)
        except NotFolded as error:
            why = str(error)
        except OSError as error:
            raise unreadable(head.pool, error) from error
        else:
            if begun:
                check_begun(found, when)
            return PoolAt.of(found.of_slice(part))
    entry = kept_entry(files, head, when, why, part)
    return PoolAt(entry, partial(arrays_of, files, entry))


def serving_entry(files: CheckpointStore, head: PoolHead, part: str = "") -> PoolEntry:
    """The newest checkpoint of the pool's serving generation, or of its slice `part`. Raises `NoCheckpoint`."""
    try:
        newest = files.newest_entry(head.partition, head.pool, head.generation, part)
    except (BadObject, OSError) as error:
        raise unreadable(head.pool, error) from error
    if newest is None:
        what = f"slice {part} of pool {head.pool}" if part else f"pool {head.pool}"
        why = f"{what} has no checkpoint of generation {head.generation} that can be read here yet"
        raise NoCheckpoint(why, retriable=True)
    return newest[0]


def kept_entry(files: CheckpointStore, head: PoolHead, when: When, why: str = "", part: str = "") -> PoolEntry:
    """The newest kept checkpoint of the serving generation, or of its slice `part`, that is not later than a moment. why: As of `NotKept`.

    Raises:
        NotKept: All kept checkpoints are later.
        NoSlice: The checkpoint has no outcome of the slice.
        NoCheckpoint: There is no checkpoint yet, or it cannot be read now.
    """
    kept = list[tuple[int, float]]()
    try:
        for entry, manifest in files.kept_entries(head.partition, head.pool, head.generation):
            kept.append((entry.position, manifest.written_at))
            if when.reached(entry.position, manifest.written_at):
                return slice_entry(entry, part)
    except OSError as error:
        raise unreadable(head.pool, error) from error
    raise NotKept(when, kept, "EQUIRANK_CHECKPOINTS_KEPT", why)


def arrays_of(files: CheckpointStore, entry: PoolEntry) -> Arrays:
    """The arrays of a checkpointed pool. Raises `NoCheckpoint`."""
    try:
        arrays: dict[str, np.ndarray[Any, Any]] = files.read_pool(entry)
    except (BadObject, OSError) as error:
        raise unreadable(entry.pool, error) from error
    return arrays


def unreadable(pool: str, error: Exception) -> NoCheckpoint:
    """The error for checkpoints of a pool that cannot be read now."""
    return NoCheckpoint(f"the checkpoint of pool {pool} cannot be read now: {error}", retriable=True)
