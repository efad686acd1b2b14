"""A share: consecutive outcomes of one pool among the records of a call, as columns or as events."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from services.archive.records import ArchivedRecords
from services.log.protocol import Record
from services.state.pool import Outcomes
from services.wire.columns import GameColumns, ScoreColumns
from services.wire.events import RetractEvent
from services.wire.pools import Kind

Indices: TypeAlias = Sequence[int] | NDArray[np.int64]
_KIND: Final = {GameColumns: Kind.GAMES, ScoreColumns: Kind.SCORES}


class Share:
    """Outcomes of one pool, in log order. `outcomes[k]` is item `item[k]` of `records[record[k]]`."""

    def __init__(self, pool: str, records: Sequence[Record], record: Indices, item: Indices, outcomes: Outcomes) -> None:
        self.pool, self.outcomes = pool, outcomes
        self.record, self.item = record, item
        self._records = records

    def __len__(self) -> int:
        return len(self.record)

    def offset(self, index: int) -> int:
        """Return the offset of the record that contains the outcome at `index`."""
        return offset_of(self._records, int(self.record[index]))

    def since(self, start: int) -> "Share":
        """Return the outcomes of records at or after offset `start`."""
        return self if not len(self) or self.offset(0) >= start else self._part(self._count_below(start), len(self))

    def below(self, end: int) -> "Share":
        """Return the outcomes of records before offset `end`."""
        return self if not len(self) or self.offset(-1) < end else self._part(0, self._count_below(end))

    def retractions(self) -> Sequence[tuple[int, RetractEvent]]:
        """Return the retractions, each with its record's offset."""
        if isinstance(self.outcomes, GameColumns | ScoreColumns) or RetractEvent not in map(type, self.outcomes):
            return ()
        return [(self.offset(i), event) for i, event in enumerate(self.outcomes) if isinstance(event, RetractEvent)]

    def ahead(self, seconds: float) -> int:
        """Count the outcomes whose time is more than `seconds` after the log time of their record."""
        limits = times_of(self._records)[np.asarray(self.record)] + seconds
        outcomes = self.outcomes
        times = outcomes.time if isinstance(outcomes, GameColumns | ScoreColumns) else np.array([event.time for event in outcomes])
        return int(np.count_nonzero(times > limits))

    def firsts(self) -> Iterator[tuple[Kind | None, int]]:
        """Yield the kind and offset of the first entry. If that is a retraction, then yield those of the first outcome, if any.

        A retraction cannot create a pool on first use, but a later outcome can.
        """
        if isinstance(self.outcomes, GameColumns | ScoreColumns):
            yield _KIND[type(self.outcomes)], self.offset(0)
            return
        kind = self.outcomes[0].kind
        yield kind, self.offset(0)
        if kind is None and (later := next((i for i, event in enumerate(self.outcomes) if event.kind is not None), None)) is not None:
            yield self.outcomes[later].kind, self.offset(later)

    def _count_below(self, offset: int) -> int:
        return next((i for i in range(len(self)) if self.offset(i) >= offset), len(self))

    def _part(self, begin: int, end: int) -> "Share":
        if isinstance(self.outcomes, GameColumns | ScoreColumns):
            at = np.arange(len(self))
            outcomes: Outcomes = self.outcomes.take((at >= begin) & (at < end))
        else:
            outcomes = self.outcomes[begin:end]
        return Share(self.pool, self._records, self.record[begin:end], self.item[begin:end], outcomes)


def offset_of(records: Sequence[Record], index: int) -> int:
    """Return the offset of one record without decoding an archived record."""
    return int(records.offset[index]) if isinstance(records, ArchivedRecords) else records[index].offset


def count_below(records: Sequence[Record], offset: int) -> int:
    """Count the records below `offset`. `records` are in offset order."""
    return bisect_left(range(len(records)), offset, key=partial(offset_of, records))


def times_of(records: Sequence[Record]) -> NDArray[np.float64]:
    """Return the log time of each record, seconds since 1970. Shape (n,)."""
    return records.time if isinstance(records, ArchivedRecords) else np.array([record.time for record in records])
