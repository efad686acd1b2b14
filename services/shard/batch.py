"""Records of one call as what each pool has of them, and the dead letters they give.

A pool's outcomes come as columns, straight from the bytes, where all its records hold plain games only; else as events. Either way
they are the same outcomes: one takes less time.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.log.dead_letters import DeadLetter, excerpt
from services.log.protocol import Record
from services.wire import events
from services.wire.columns import GameColumns
from services.wire.events import Decoded, Event, Reason, RetractEvent
from services.wire.plain import plain_games
from services.wire.pools import Kind
from services.wire.scanning.scan import Scanned

Outcomes: TypeAlias = Sequence[Event] | GameColumns
Indices: TypeAlias = Sequence[int] | NDArray[np.int64]
_SCANNED_PART: Final = 2
"""Where more than one record in so many is not plain, nothing is gained by reading the others as columns."""
_MOST_POOLS: Final = 64
"""Of more pools, events are faster: columns are gone through once for each."""


class Share:
    """What one pool has of the records of a call, in order. outcomes[k] is item[k] of records[record[k]]."""

    def __init__(self, pool: str, records: Sequence[Record], record: Indices, item: Indices, outcomes: Outcomes) -> None:
        self.pool, self.outcomes = pool, outcomes
        self.record, self.item = record, item
        self._records = records

    def __len__(self) -> int:
        return len(self.record)

    def offset(self, index: int) -> int:
        """Offset of the record that holds an outcome."""
        return self._records[self.record[index]].offset

    def since(self, start: int) -> "Share":
        """What is in records at or after offset `start`."""
        return self if not len(self) or self.offset(0) >= start else self._part(self._count_below(start), len(self))

    def below(self, end: int) -> "Share":
        """What is in records before offset `end`."""
        return self if not len(self) or self.offset(-1) < end else self._part(0, self._count_below(end))

    def retractions(self) -> Sequence[tuple[int, RetractEvent]]:
        """The retractions, each with its record's offset."""
        if isinstance(self.outcomes, GameColumns) or RetractEvent not in map(type, self.outcomes):
            return ()
        return [(self.offset(i), event) for i, event in enumerate(self.outcomes) if isinstance(event, RetractEvent)]

    def ahead(self, seconds: float) -> int:
        """How many outcomes have a time more than `seconds` after the log took them."""
        limits = [self._records[record].time + seconds for record in self.record]
        if isinstance(self.outcomes, GameColumns):
            return int(np.count_nonzero(self.outcomes.time > np.array(limits)))
        return sum(event.time > limit for event, limit in zip(self.outcomes, limits, strict=True))

    def firsts(self) -> Iterator[tuple[Kind | None, int]]:
        """Kind and offset of the first outcome, and of the first that has a kind: a retraction makes no pool, what follows it may."""
        if isinstance(self.outcomes, GameColumns):
            yield Kind.GAMES, self.offset(0)
            return
        kind = self.outcomes[0].kind
        yield kind, self.offset(0)
        if kind is None and (later := next((i for i, event in enumerate(self.outcomes) if event.kind is not None), None)) is not None:
            yield self.outcomes[later].kind, self.offset(later)

    def _count_below(self, offset: int) -> int:
        return next((i for i in range(len(self)) if self.offset(i) >= offset), len(self))

    def _part(self, begin: int, end: int) -> "Share":
        if isinstance(self.outcomes, GameColumns):
            at = np.arange(len(self))
            outcomes: Outcomes = self.outcomes.take((at >= begin) & (at < end))
        else:
            outcomes = self.outcomes[begin:end]
        return Share(self.pool, self._records, self.record[begin:end], self.item[begin:end], outcomes)


class Batch:
    """Records of one call, read. shares: by pool, in the order of their first outcomes; outcomes: how many there are in all."""

    def __init__(self, partition: int, records: Sequence[Record]) -> None:
        self.partition, self.records = partition, records
        self.letters: list[DeadLetter] = []
        self._texts: tuple[int, Sequence[bytes]] = -1, ()
        shares, self._unread = _read(records)
        self.shares = {share.pool: share for share in sorted(shares, key=lambda share: (share.record[0], share.item[0]))}
        self.outcomes = sum(map(len, shares))

    def refuse_unread(self) -> None:
        """Entries for what is no outcome of the schema."""
        for refusal in self._unread:
            self._refuse(refusal.record, refusal.item, refusal.reason, refusal.path, refusal.rule)

    def refuse_all(self, share: Share, reason: Reason, rule: str) -> None:
        """No outcome of a share was folded, for its pool."""
        for i in range(len(share)):
            self.refuse(share, i, reason, "pool", rule)

    def refuse(self, share: Share, index: int, reason: Reason, path: str, rule: str, generation: int = 0) -> None:
        """An outcome of a share was not folded."""
        self._refuse(int(share.record[index]), int(share.item[index]), reason, path, rule, share.pool, generation)

    def _refuse(
        self, record: int, item: int, reason: Reason, path: str, rule: str, pool: str | None = None, generation: int = 0
    ) -> None:
        self.letters.append(
            DeadLetter(
                generation=generation,
                partition=self.partition,
                offset=self.records[record].offset,
                item=item,
                reason=reason,
                path=path,
                rule=rule,
                pool=pool,
                excerpt=excerpt(self._refused_text(record, item)),
            )
        )

    def _refused_text(self, record: int, item: int) -> bytes:
        """An item's own text, so that the entries of a record together are about as long as the record, however many it holds."""
        value = self.records[record].value
        if item < 0:
            return value
        if self._texts[0] != record:
            self._texts = record, events.item_texts(value)
        texts = self._texts[1]
        return texts[item] if item < len(texts) else value


def _read(records: Sequence[Record]) -> tuple[list[Share], list[events.Refusal]]:
    values = [record.value for record in records]
    scanned = plain_games(values)
    if _SCANNED_PART * len(scanned.rest) > len(values) or len(scanned.pools) > _MOST_POOLS:
        found = events.decode(values)
        return _of_events(records, found), found.refusals
    rest: Sequence[int] = scanned.rest
    found = _decoded(values, rest)
    mixed = {event.pool for event in found.events} & set(scanned.pools)
    if mixed:  # a pool that is not plain in some record is read as events in all of them
        of_mixed = np.isin(scanned.pool, [i for i, pool in enumerate(scanned.pools) if pool in mixed])
        rest = sorted({*rest, *scanned.record[of_mixed].tolist()})
        found = _decoded(values, rest)
    return [*_of_columns(records, scanned, mixed), *_of_events(records, found)], found.refusals


def _decoded(values: Sequence[bytes], chosen: Sequence[int]) -> Decoded:
    """The outcomes of some records, under the numbers that these have among all."""
    found = events.decode([values[record] for record in chosen])
    refusals = [msgspec.structs.replace(refusal, record=chosen[refusal.record]) for refusal in found.refusals]
    return Decoded(found.events, [chosen[record] for record in found.record], found.item, refusals)


def _of_columns(records: Sequence[Record], scanned: Scanned, left_out: set[str]) -> Iterator[Share]:
    item = scanned.item
    if len(scanned.pools) == 1 and not left_out:
        yield Share(scanned.pools[0], records, scanned.record, item, scanned.columns)
        return
    for number, pool in enumerate(scanned.pools):
        mask = scanned.pool == number
        if pool not in left_out:
            yield Share(pool, records, scanned.record[mask], item[mask], scanned.columns.take(mask))


def _of_events(records: Sequence[Record], found: Decoded) -> list[Share]:
    pools = [event.pool for event in found.events]
    if pools and pools.count(pools[0]) == len(pools):  # nearly always
        return [Share(pools[0], records, found.record, found.item, found.events)]
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for i, pool in enumerate(pools):
        groups[pool].append(i)
    return [
        Share(pool, records, [found.record[i] for i in at], [found.item[i] for i in at], [found.events[i] for i in at])
        for pool, at in groups.items()
    ]
