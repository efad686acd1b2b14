"""Decodes the records of one poll into columns: one or more parts for each pool, each of one kind.

If all records of a pool contain only plain games, its outcomes are scanned from the bytes, which is faster. Other records are decoded into
events, and these into columns. Both give the same columns.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.wire import events
from services.wire.columns import Outcomes, by_kind
from services.wire.events import Decoded
from services.wire.plain import plain_games
from services.wire.refusals import Refusal
from services.wire.scanning.scan import Scanned

_SCANNED_PART: Final = 2
"""If more than one in `_SCANNED_PART` records is not plain, all records are decoded as events: scanning would save no time."""
_MOST_POOLS: Final = 64
"""With more pools than this, all records are decoded as events: splitting columns takes one pass over all rows for each pool."""


class PoolOutcomes(NamedTuple):
    """n entries of one pool and one kind, in the order of the log.

    Attributes:
        pool: Name of the pool.
        outcomes: The entries.
        record: int64 (n,), index of the record of each entry in the poll.
        item: int64 (n,), index of each entry in its record.
    """

    pool: str
    outcomes: Outcomes
    record: NDArray[np.int64]
    item: NDArray[np.int64]


class Reading(NamedTuple):
    """The content of the records of a poll.

    Attributes:
        parts: The accepted entries: at most one part of each kind for a pool.
        refusals: Refused outcomes and records, ordered by record, then item.
    """

    parts: Sequence[PoolOutcomes]
    refusals: Sequence[Refusal]


def read(values: Sequence[bytes]) -> Reading:
    """Decode the records of a poll. No content of a record raises an exception: each outcome is accepted or refused."""
    scanned = plain_games(values)
    if _SCANNED_PART * len(scanned.rest) > len(values) or len(scanned.pools) > _MOST_POOLS:
        decoded = events.decode(values)
        return Reading(list(_of_events(decoded)), decoded.refusals)
    rest: Sequence[int] = scanned.rest
    decoded = decode_chosen(values, rest)
    mixed = {event.pool for event in decoded.events} & set(scanned.pools)
    if mixed:  # all records of a pool are decoded as events if one of them is not plain, which keeps the pool's outcomes in order
        of_mixed = np.isin(scanned.pool, [i for i, pool in enumerate(scanned.pools) if pool in mixed])
        rest = sorted({*rest, *scanned.record[of_mixed].tolist()})
        decoded = decode_chosen(values, rest)
    return Reading([*_of_columns(scanned, mixed), *_of_events(decoded)], decoded.refusals)


def decode_chosen(values: Sequence[bytes] | Mapping[int, bytes], chosen: Sequence[int]) -> Decoded:
    """Decode the records with the indices `chosen` into events. The result refers to records by their indices in `values`."""
    decoded = events.decode([values[record] for record in chosen])
    refusals = [msgspec.structs.replace(refusal, record=chosen[refusal.record]) for refusal in decoded.refusals]
    return Decoded(decoded.events, [chosen[record] for record in decoded.record], decoded.item, refusals)


def _of_columns(scanned: Scanned, left_out: set[str]) -> Iterator[PoolOutcomes]:
    item = scanned.item
    if len(scanned.pools) == 1 and not left_out:
        yield PoolOutcomes(scanned.pools[0], scanned.columns, scanned.record, item)
        return
    for number, pool in enumerate(scanned.pools):
        mask = scanned.pool == number
        if pool not in left_out:
            yield PoolOutcomes(pool, scanned.columns.take(mask), scanned.record[mask], item[mask])


def _of_events(decoded: Decoded) -> Iterator[PoolOutcomes]:
    record, item = np.array(decoded.record, np.int64), np.array(decoded.item, np.int64)
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for i, event in enumerate(decoded.events):
        groups[event.pool].append(i)
    for pool, entries in groups.items():
        own = np.array(entries, np.int64)
        for at, outcomes in by_kind([decoded.events[i] for i in entries]):
            yield PoolOutcomes(pool, outcomes, record[own[at]], item[own[at]])
