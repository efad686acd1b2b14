"""Decodes the records of one call of the fold into shares, one or more for each pool, and collects their dead letters.

If all records of a pool contain only plain games, its outcomes are scanned from the bytes into columns, which is faster. Other records of
the topic are decoded into events. Archived records are columns already. Columns and events represent the same outcomes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from services.archive.records import ArchivedRecords
from services.log.dead_letters import DeadLetter, excerpt
from services.log.protocol import Record
from services.shard.archived_shares import read_shares
from services.shard.share import Share, offset_of
from services.wire import events
from services.wire.events import Decoded, Reason
from services.wire.plain import plain_games
from services.wire.scanning.scan import Scanned

_SCANNED_PART: Final = 2
"""If more than one in `_SCANNED_PART` records is not plain, all records are decoded as events: columns would save no time."""
_MOST_POOLS: Final = 64
"""With more pools than this, all records are decoded as events: splitting columns takes one pass over all rows for each pool."""


class Batch:
    """The decoded records of one call.

    shares: by pool, one or more shares in log order; pools are in the order of their first outcomes. outcomes: total number of outcomes.
    letters: dead letters so far.
    """

    def __init__(self, partition: int, records: Sequence[Record]) -> None:
        self.partition, self.records = partition, records
        self.letters: list[DeadLetter] = []
        self._read_last: tuple[int, bytes, Sequence[bytes]] = -1, b"", ()
        """Cache for excerpts: index, value and texts of the items of the record that was last split into items."""
        shares, self._unread = _read_archived(records) if isinstance(records, ArchivedRecords) else _read(records)
        self.shares: dict[str, list[Share]] = {}
        for share in sorted(shares, key=lambda share: (share.record[0], share.item[0])):
            self.shares.setdefault(share.pool, []).append(share)
        self.outcomes = sum(map(len, shares))

    def refuse_unread(self) -> None:
        """Add a dead letter for each record or item that breaks a rule of the wire schema."""
        for refusal in self._unread:
            self._refuse(refusal.record, refusal.item, refusal.reason, refusal.path, refusal.rule)

    def refuse_all(self, share: Share, reason: Reason, rule: str) -> None:
        """Add a dead letter for each outcome of a share whose pool is refused."""
        for i in range(len(share)):
            self.refuse(share, i, reason, "pool", rule)

    def refuse(self, share: Share, index: int, reason: Reason, path: str, rule: str, generation: int = 0) -> None:
        """Add a dead letter for one outcome of a share.

        Args:
            share: The share that contains the outcome.
            index: Index of the outcome in the share.
            reason: Reason of the refusal.
            path: Path of the field that breaks the rule.
            rule: The rule, for people.
            generation: Number of the generation that refused the outcome; 0 without one.
        """
        self._refuse(int(share.record[index]), int(share.item[index]), reason, path, rule, share.pool, generation)

    def _refuse(self, record: int, item: int, reason: Reason, path: str, rule: str, pool: str | None = None, generation: int = 0) -> None:
        self.letters.append(
            DeadLetter(
                generation=generation,
                partition=self.partition,
                offset=offset_of(self.records, record),
                item=item,
                reason=reason,
                path=path,
                rule=rule,
                pool=pool,
                excerpt=excerpt(self._refused_text(record, item)),
            )
        )

    def _refused_text(self, record: int, item: int) -> bytes:
        """Return the text of one item, or the value of a record that is not an array.

        Dead letters hold items instead of records: together they are about as long as the record, whatever its number of items.
        """
        if self._read_last[0] != record:
            value = self.records[record].value
            self._read_last = record, value, events.item_texts(value) if item >= 0 else ()
        _, value, texts = self._read_last
        return texts[item] if 0 <= item < len(texts) else value


def _read_archived(records: ArchivedRecords) -> tuple[list[Share], list[events.Refusal]]:
    shares, chosen = read_shares(records)
    return shares, _decoded({i: records[i].value for i in chosen}, chosen).refusals


def _read(records: Sequence[Record]) -> tuple[list[Share], list[events.Refusal]]:
    values = [record.value for record in records]
    scanned = plain_games(values)
    if _SCANNED_PART * len(scanned.rest) > len(values) or len(scanned.pools) > _MOST_POOLS:
        found = events.decode(values)
        return _of_events(records, found), found.refusals
    rest: Sequence[int] = scanned.rest
    found = _decoded(values, rest)
    mixed = {event.pool for event in found.events} & set(scanned.pools)
    if mixed:  # all records of a pool are decoded as events if one of them is not plain, which keeps the pool's outcomes in order
        of_mixed = np.isin(scanned.pool, [i for i, pool in enumerate(scanned.pools) if pool in mixed])
        rest = sorted({*rest, *scanned.record[of_mixed].tolist()})
        found = _decoded(values, rest)
    return [*_of_columns(records, scanned, mixed), *_of_events(records, found)], found.refusals


def _decoded(values: Sequence[bytes] | Mapping[int, bytes], chosen: Sequence[int]) -> Decoded:
    """Decode the records with the indices `chosen`. The result refers to records by their indices in `values`."""
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
    if pools and pools.count(pools[0]) == len(pools):  # the usual case: one pool
        return [Share(pools[0], records, found.record, found.item, found.events)]
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for i, pool in enumerate(pools):
        groups[pool].append(i)
    return [
        Share(pool, records, [found.record[i] for i in at], [found.item[i] for i in at], [found.events[i] for i in at])
        for pool, at in groups.items()
    ]
