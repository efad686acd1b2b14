"""Fast decoding of streams of games to columns, without a Python object for each outcome.

A stream is plain if every row is a valid game of one pool without `meta`. This module gives no verdict on other streams: the decoder of
`services.wire.events` reads them. Tests compare both on plain streams.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.arrow import arena, coded, numbers, tasks, whole
from ratings_core.arrays.coded import Coded
from ratings_core.columns.outcomes import NOT_USED, Games, name_hashes
from ratings_core.columns.tags import NO_TAGS, Tags
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.records.names import are_packed_names
from ratings_core.records.outcomes import MAX_AGENTS, MAX_SIDES, MAX_TIME, MAX_WEIGHT, MIN_WEIGHT
from services.wire.bulk import stream
from services.wire.pools import is_pool_name
from services.wire.refusals import UnreadableError
from services.wire.rules import MAX_PLACE, MAX_RECORD_BYTES, MIN_PLACE

_GAME: Final = "game"
_NEEDED: Final = ("id", "pool", "time", "agents", "sides", "places")
_OTHERS: Final = ("scores", "retracts", "meta")
_ASCII: Final = 0x7F
_FEW: Final = 8
"""In games of up to so many agents, the hashes of every two agents are compared: for few agents that takes less time than a table."""


class PlainStream(NamedTuple):
    """The games of one stream, in order.

    Attributes:
        columns: The n games as columns.
        ids: n outcome ids.
        weight: float64 (n,), as in the stream.
        pool: The pool of all games.
    """

    columns: Games
    ids: Arena
    weight: NDArray[np.float64]
    pool: str

    @property
    def is_ascii(self) -> bool:
        """Whether all ids, names, tasks and tags are ASCII. ASCII texts have no hidden characters."""
        tags = [] if self.columns.tags is None else [self.columns.tags.texts]
        return not any((texts.bytes > _ASCII).any() for texts in (self.ids, self.columns.names.texts, self.columns.tasks, *tags))


def plain(value: bytes) -> PlainStream | None:
    """The games of a stream; None if the stream is not plain or not readable."""
    try:
        table = stream.read(value) if len(value) <= MAX_RECORD_BYTES else None
    except UnreadableError:
        return None
    return None if table is None else _games(table)


def _games(table: pa.Table) -> PlainStream | None:
    chunks = {name: column.chunk(0) for name, column in zip(table.column_names, table.columns, strict=True)}
    column = {name: chunk for name, chunk in chunks.items() if chunk.null_count < len(table)}
    if any(name not in column or column[name].null_count for name in _NEEDED) or any(name in column for name in _OTHERS):
        return None
    if any(isinstance(chunk, pa.DictionaryArray) and chunk.dictionary.null_count for chunk in column.values()):
        return None  # `null_count` does not count a null in a dictionary
    pools, kinds = _distinct(column["pool"]), _distinct(column["kind"]) if "kind" in column else []
    if len(pools) > 1 or not is_pool_name(pools[0]) or not set(kinds) <= {_GAME, None}:
        return None
    ids, time, weight = arena(column["id"]), numbers(column["time"]), _weights(column.get("weight"), len(table))
    named, task_of = tasks(column.get("task", pa.nulls(len(table), pa.string())))
    sound = are_packed_names(ids) and are_packed_names(named) and _within(time, -MAX_TIME, MAX_TIME)
    tags, broken = _tags(column["tags"]) if "tags" in column else (None, False)
    lists = _lists(column["agents"], column["sides"], column["places"])
    if lists is None or broken or not sound or not _within(weight, MIN_WEIGHT, MAX_WEIGHT):
        return None
    names, hashes, side_start, place, agent_start = lists
    columns = Games.hashed(
        ids=ids,
        names=names,
        side_start=side_start,
        place=place,
        agent_start=agent_start,
        weight=weight,
        time=time,
        tasks=named,
        task_of=task_of,
        tags=tags,
        name_hash=hashes,
    )
    return PlainStream(columns, ids, weight, pools[0])


def _tags(column: pa.Array) -> tuple[Tags | None, bool]:
    """Tags of the rows, and whether the tags of a row break a rule."""
    coded_texts = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    texts, code = arena(coded_texts.dictionary), whole(coded_texts.indices, NO_TAGS).astype(np.int32)
    tags, broken = Tags.of_json(texts.pieces(), code)
    return tags, bool(broken.any())


def _distinct(texts: pa.Array) -> list[Any]:
    """Distinct texts of a column with one or more rows; None for a null."""
    is_constant = isinstance(texts, pa.DictionaryArray) and len(texts.dictionary) == 1 and not texts.null_count  # the usual case
    return list((texts.dictionary if is_constant else texts.unique()).to_pylist())


def _within(values: NDArray[np.float64], low: float, high: float) -> bool:
    return bool(((values >= low) & (values <= high)).all())  # false for NaN


def _weights(column: pa.Array | None, rows: int) -> NDArray[np.float64]:
    return np.ones(rows) if column is None else numbers(pc.fill_null(column.cast(pa.float64(), safe=False), 1.0))


def _lists(
    agents: pa.Array, sides: pa.Array, places: pa.Array
) -> tuple[Coded, NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | None:
    """Names, hashes of names, side_start, place and agent_start, as in `Games`; None if a row is not certainly a valid game."""
    offset = _offsets(agents)
    names, side, place = agents.flatten(), sides.flatten(), places.flatten()
    if not all(np.array_equal(offset, _offsets(lists)) for lists in (sides, places)) or names.null_count or side.null_count:
        return None
    names = names if isinstance(names, pa.DictionaryArray) else names.dictionary_encode()
    if place.null_count or names.dictionary.null_count or not are_packed_names((agent := coded(names)).texts):
        return None
    hashes, place_ = name_hashes(agent), whole(place)
    few = bool((np.diff(offset) <= _FEW).all())
    if not few and _are_any_equal(hashes):  # if the sender's dictionary has a text twice, two codes can mean the same agent
        return None
    side_start, begins = np.zeros(len(offset), np.int64), np.zeros(len(agent), np.bool_)
    seen = np.full(0 if few else len(agent.texts), -1, np.int64)
    if not _sound(offset, agent.code, hashes, whole(side), place_, seen, begins, side_start):
        return None
    first = np.flatnonzero(begins)
    return agent, hashes, side_start, place_[first].astype(np.int32), np.append(first, len(agent))


def _are_any_equal(hashes: NDArray[np.uint64]) -> bool:
    """Whether two used texts may be equal. hashes: result of `name_hashes`. `_sound` checks that no used text has the hash `NOT_USED`."""
    rising = np.sort(hashes)
    return bool(((rising[1:] == rising[:-1]) & (rising[1:] != NOT_USED)).any())


def _offsets(lists: Any) -> NDArray[np.int64]:
    offsets = whole(lists.offsets)
    offsets -= offsets[0]
    return offsets


@inlined
def _is_among(agent: NDArray[np.int32], hashes: NDArray[np.uint64], begin: int, k: int) -> bool:
    """Whether the agent of entry k is that of an earlier entry of its game, which begins at `begin`."""
    among = False
    for earlier in range(begin, k):
        among |= hashes[agent[earlier]] == hashes[agent[k]]
    return among


@kernel
def _sound(
    offset: NDArray[np.int64],
    agent: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    side: NDArray[np.int64],
    place: NDArray[np.int64],
    seen: NDArray[np.int64],
    begins: NDArray[np.bool_],
    side_start: NDArray[np.int64],
) -> bool:
    """Check the lists of all games: 2 to 64 sides that count up from 0, one place for each side, and each agent at most once a game.

    Args:
        offset: int64 (n+1,); game i has the entries from offset[i] up to offset[i+1].
        agent: Code of the agent of each entry.
        hashes: Hash of each code. A used name with the hash `NOT_USED` fails the check, because it looks like an unused one.
        side: Number of the side of each entry.
        place: Place of each entry.
        seen: Scratch memory, -1 for each code; not used if all games have at most `_FEW` agents.
        begins: Result: whether a side begins at the entry.
        side_start: Result, int64 (n+1,): number of sides before each game.
    """
    total = 0
    for i in range(len(offset) - 1):
        begin, end = offset[i], offset[i + 1]
        if not 2 <= end - begin <= MAX_AGENTS or side[begin] != 0:
            return False
        for k in range(begin, end):
            if k == begin or side[k] == side[k - 1] + 1:
                begins[k] = True
                total += 1
            elif side[k] != side[k - 1] or place[k] != place[k - 1]:
                return False
            if hashes[agent[k]] == NOT_USED or not MIN_PLACE <= place[k] <= MAX_PLACE:
                return False
            if _is_among(agent, hashes, begin, k) if end - begin <= _FEW else seen[agent[k]] == i:
                return False
            if end - begin > _FEW:
                seen[agent[k]] = i
        side_start[i + 1] = total
        if not 2 <= total - side_start[i] <= MAX_SIDES:
            return False
    return True
