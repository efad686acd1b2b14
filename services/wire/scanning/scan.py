"""Entry point of the scanner: decodes records with plain games to columns, and returns the indices of all other records.

`services.wire.events` accepts every record that the scanner accepts, with the same values; tests compare both on arbitrary bytes. The
scanner is faster because it makes no Python object for an outcome, a side or a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.coded import Coded
from ratings_core.columns.outcomes import Games
from ratings_core.columns.tags import NO_TAGS, Tags
from ratings_core.kernels.compile import kernel
from ratings_core.records.names import is_name
from ratings_core.records.outcomes import MAX_TIME, MAX_WEIGHT, MIN_WEIGHT
from services.wire.pools import is_pool_name
from services.wire.rules import MAX_RECORD_BYTES
from services.wire.scanning import games
from services.wire.scanning.buffers import (
    AGENT_START,
    COUNTS,
    IDS,
    LATER,
    LATER_ROWS,
    LATER_TIME,
    LATER_WEIGHT,
    NAME_COUNT,
    NAMES,
    OUTCOMES,
    PLACE,
    POOL,
    POOL_COUNT,
    POOLS,
    RECORD,
    SIDE_START,
    SIDES,
    STARTS,
    TAGS,
    TAGS_COUNT,
    TAGS_OF,
    TASK_COUNT,
    TASK_OF,
    TASKS,
    TEXTS,
    TIME,
    WEIGHT,
    ColumnBuffers,
)
from services.wire.scanning.values import END

_BOUNDS: Final = {LATER_TIME: (-MAX_TIME, MAX_TIME), LATER_WEIGHT: (MIN_WEIGHT, MAX_WEIGHT)}


@dataclass(frozen=True, slots=True)
class Scanned:
    """n plain games of a poll, in order. A record gives all of its games or none.

    Attributes:
        columns: The games as columns.
        ids: n outcome ids.
        weight: float64 (n,), as in the records.
        record: int64 (n,), index of the record in the poll.
        pool: int64 (n,), index into `pools`.
        pools: Names of the pools of the games, each once.
        rest: Indices of the records that are not plain, ascending.
    """

    columns: Games
    ids: Arena
    weight: NDArray[np.float64]
    record: NDArray[np.int64]
    pool: NDArray[np.int64]
    pools: Sequence[str]
    rest: Sequence[int]

    @property
    def item(self) -> NDArray[np.int64]:
        """Index of each game in its record: int64 (n,)."""
        item: NDArray[np.int64] = _items(self.record)
        return item


def scan(values: Sequence[bytes]) -> Scanned:
    """Decode the plain games among the JSON records of a poll."""
    data = END.join([*values, b""])
    start = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)) + 1, out=start[1:])
    room = ColumnBuffers(len(data))
    games.scan(np.frombuffer(data, np.uint8), start, MAX_RECORD_BYTES, room.table)
    n = room.table[:COUNTS].tolist()
    pools = _arena(room, POOLS, n[POOL_COUNT]).names()
    tags, broken = _tags(room, n)
    wrong = [*_check_left_values(room, data, n[LATER]), *np.flatnonzero(broken).tolist()]
    ids = _arena(room, IDS, n[OUTCOMES])
    weight, record, pool = (room.columns[name][: n[OUTCOMES]] for name in (WEIGHT, RECORD, POOL))
    columns = _columns(room, n, ids, tags)
    sound = np.array([is_pool_name(name) for name in pools], np.bool_)[pool]
    if wrong or not sound.all():
        sound &= ~np.isin(record, record[wrong])
        columns, ids = columns.take(sound), ids.take(np.flatnonzero(sound))
        weight, record, pool = weight[sound], record[sound], pool[sound]
    pool, names = _distinct(pool, pools)
    return Scanned(columns, ids, weight, record, pool, names, rest(record, len(values)))


@kernel
def _items(record: NDArray[np.int64]) -> NDArray[np.int64]:
    item = np.zeros(len(record), np.int64)
    for i in range(1, len(record)):
        if record[i] == record[i - 1]:
            item[i] = item[i - 1] + 1
    return item


def _distinct(pool: NDArray[np.int64], pools: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Remove unused and repeated names from `pools`. Returns the index of each game's pool in the new list, and the new list."""
    met = np.flatnonzero(np.bincount(pool, minlength=len(pools))).tolist()
    numbers = {name: i for i, name in enumerate(dict.fromkeys(pools[k] for k in met))}
    number = np.zeros(len(pools), np.int64)
    number[met] = [numbers[pools[k]] for k in met]
    return number[pool], list(numbers)


def rest(record: NDArray[np.int64], records: int) -> list[int]:
    """Indices below `records` that are not in `record`, ascending."""
    read = np.zeros(records, np.bool_)
    read[record] = True
    return np.flatnonzero(~read).tolist()


def _check_left_values(room: ColumnBuffers, data: bytes, noted: int) -> list[int]:
    """Check the values that the kernel left to Python, and write the valid numbers into their columns.

    Returns:
        Indices of the outcomes with a value that breaks a rule.
    """
    numbers = {LATER_TIME: room.columns[TIME], LATER_WEIGHT: room.columns[WEIGHT]}
    wrong = []
    for outcome, what, begin, end in room.columns[LATER_ROWS][:noted].tolist():
        if what in numbers:
            low, high = _BOUNDS[what]
            value = float(data[begin:end])
            if right := low <= value <= high:
                numbers[what][outcome] = value
        else:
            right = _is_name(room.columns[TEXTS + 2 * what][begin:end].tobytes())
        if not right:
            wrong.append(outcome)
    return wrong


@lru_cache(maxsize=1 << 16)
def _is_name(text: bytes) -> bool:
    try:
        return is_name(text.decode())
    except UnicodeDecodeError:
        return False


def _tags(room: ColumnBuffers, n: Sequence[int]) -> tuple[Tags | None, NDArray[np.bool_]]:
    """Tags of the outcomes, and whether those of each outcome break a rule, bool (outcomes,)."""
    if not n[TAGS_COUNT]:
        return None, np.zeros(n[OUTCOMES], np.bool_)
    texts = _arena(room, TAGS, n[TAGS_COUNT]).pieces()
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    code = np.array([*(numbers[text] for text in texts), NO_TAGS], np.int32)[room.columns[TAGS_OF][: n[OUTCOMES]]]
    return Tags.of_json(list(numbers), code)


def _columns(room: ColumnBuffers, n: Sequence[int], ids: Arena, tags: Tags | None) -> Games:
    outcomes, sides, columns = n[OUTCOMES], n[SIDES], room.columns
    return Games.hashed(
        ids=ids,
        names=Coded.of(_arena(room, NAMES, n[NAME_COUNT])),
        side_start=columns[SIDE_START][: outcomes + 1],
        place=columns[PLACE][:sides].astype(np.int32),
        agent_start=columns[AGENT_START][: sides + 1],
        weight=columns[WEIGHT][:outcomes],
        time=columns[TIME][:outcomes],
        tasks=_arena(room, TASKS, n[TASK_COUNT]),
        task_of=columns[TASK_OF][:outcomes],
        tags=tags,
    )


def _arena(room: ColumnBuffers, kind: int, count: int) -> Arena:
    start = room.columns[STARTS + 2 * kind]
    return Arena(room.columns[TEXTS + 2 * kind][: start[count]], start[: count + 1])
