"""Decode rows of the archive: as columns for folds, or as events."""

from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import UNSET, Raw
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.arrow import arena, coded, tasks, whole
from ratings_core.arrays.hashing import hash128
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.columns.tags import NO_TAGS, Tags
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.records.tags import tags_of
from services.archive.schema import GAME, RETRACTION, SCORES
from services.wire.columns import Retractions
from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent, Side


def games(table: pa.Table) -> Games:
    """Decode games as columns for a fold. Hashes equal those of the original records.

    Args:
        table: Rows of kind `GAME`, in the order of the log.

    Raises:
        InputError: A row lacks a list of games, or its lists have different lengths.

    """
    offsets, agents = _lists(table, "agents")
    side, place = _aligned(table, "sides", offsets), _aligned(table, "places", offsets)
    side_start, first = np.zeros(len(offsets), np.int64), np.empty(len(side) + 1, np.int64)
    first = first[: _cut_sides(offsets, side, side_start, first) + 1]
    named, task_of = tasks(_combined(table["task"]))
    return Games.hashed(
        ids=arena(_combined(table["id"])),
        names=coded(agents),
        side_start=side_start,
        place=place[first[:-1]],
        agent_start=first,
        weight=table["weight"].to_numpy(),
        time=table["time"].to_numpy(),
        tasks=named,
        task_of=task_of,
        meta=_metas(table),
        tags=_tags(table),
    )


def scores(table: pa.Table) -> TaskScores:
    """Decode rows of kind `SCORES` as columns for a fold. Raises `InputError` as `games` does."""
    offsets, agents = _lists(table, "agents")
    return TaskScores.hashed(
        ids=arena(_combined(table["id"])),
        names=coded(agents),
        start=offsets,
        score=_aligned(table, "scores", offsets),
        tasks=arena(_combined(table["task"])),
        weight=table["weight"].to_numpy(),
        time=table["time"].to_numpy(),
        tags=_tags(table),
    )


def retractions(table: pa.Table) -> Retractions:
    """Decode rows of kind `RETRACTION` as columns for a fold."""
    ids = arena(_combined(table["retracts"]))
    return Retractions(hash128(ids.bytes, ids.start), table["time"].to_numpy())


def events(table: pa.Table) -> list[Event]:
    """Decode rows as the outcomes and retractions that were sent. Raises `InputError` for an unread row."""
    return [event(row) for row in table.to_pylist()]


def event(row: dict[str, Any]) -> Event:
    """Decode a row as the outcome or retraction that was sent. Raises `InputError` for an unread row."""
    head = {"v": 1, "id": row["id"], "pool": row["pool"], "time": row["time"]}
    head["meta"] = UNSET if row["meta"] is None else Raw(row["meta"])
    tags = UNSET if row["tags"] is None else tags_of(row["tags"])
    if row["kind"] == GAME:
        return GameEvent(**head, sides=_sides(row), task=row["task"], weight=row["weight"], tags=tags)
    if row["kind"] == SCORES:
        measured = dict(zip(row["agents"], row["scores"], strict=True))
        return ScoreEvent(**head, task=row["task"], scores=measured, weight=row["weight"], tags=tags)
    if row["kind"] == RETRACTION:
        return RetractEvent(**head, retracts=row["retracts"])
    raise InputError("kind", row["kind"], f"must be an outcome or a retraction (offset {row['offset']}, item {row['item']})")


def _sides(row: dict[str, Any]) -> list[Side]:
    sides: list[Side] = []
    for agent, number, place in zip(row["agents"], row["sides"], row["places"], strict=True):
        if number == len(sides):
            sides.append(Side([agent], place))
        else:
            sides[number].agents.append(agent)
    return sides


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _lists(table: pa.Table, name: str) -> tuple[NDArray[np.int64], pa.Array]:
    """Offsets, int64 (n+1,), and concatenated values of a column of n lists. Raises `InputError` if a list is null."""
    column = _combined(table[name])
    if column.null_count:
        raise InputError(name, None, "must be a list in every row of this kind")
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], column.flatten()


def _aligned(table: pa.Table, name: str, offsets: NDArray[np.int64]) -> NDArray[Any]:
    own, values = _lists(table, name)
    if values.null_count or not np.array_equal(own, offsets):
        raise InputError(name, len(values), "must have one value for each agent of the row")
    numbers: NDArray[Any] = values.to_numpy()
    return numbers


@kernel
def _cut_sides(offset: NDArray[np.int64], side: NDArray[np.int32], side_start: NDArray[np.int64], first: NDArray[np.int64]) -> int:
    """Divide the agents of each row into sides. Returns the number of sides.

    Args:
        offset: Row -> its first agent; int64 (n+1,), ending with the number of agents.
        side: Agent -> number of its side within the row; int32 (agents,).
        side_start: Output: row -> its first side; int64 (n+1,), zeros on entry.
        first: Output: side -> its first agent, ending with the number of agents; int64 (agents+1,), used up to the number of sides.
    """
    total = 0
    for i in range(len(offset) - 1):
        for k in range(offset[i], offset[i + 1]):
            if k == offset[i] or side[k] != side[k - 1]:
                first[total] = k
                total += 1
        side_start[i + 1] = total
    first[total] = offset[-1]
    return total


def _metas(table: pa.Table) -> Arena:
    metas = _combined(table["meta"])
    if metas.null_count == len(metas):
        return Arena(np.zeros(0, np.uint8), np.zeros(len(metas) + 1, np.int64))
    return arena(metas.cast(pa.large_string()).fill_null(""))


def _tags(table: pa.Table) -> Tags | None:
    column = _combined(table["tags"])
    if column.null_count == len(column):
        return None
    encoded = column.dictionary_encode()
    return Tags(arena(encoded.dictionary), whole(encoded.indices, NO_TAGS).astype(np.int32))
