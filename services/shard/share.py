"""A share: consecutive entries of one pool and one kind among the records of a call, as columns."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.columns.outcomes import Games, TaskScores
from services.log.protocol import Records
from services.wire.columns import Outcomes, Retractions
from services.wire.pools import Kind
from services.wire.reading import PoolOutcomes

_KIND: Final[dict[type[Outcomes], Kind | None]] = {Games: Kind.GAMES, TaskScores: Kind.SCORES, Retractions: None}


class Share:
    """n entries of one pool, in log order. Entry k is item `item[k]` of `records[record[k]]`, whose offset is `offset[k]`."""

    def __init__(self, part: PoolOutcomes, records: Records) -> None:
        self.pool, self.outcomes, self.record, self.item = part
        self.offset: NDArray[np.int64] = records.offset[self.record]
        self._records = records

    def __len__(self) -> int:
        return len(self.record)

    @property
    def kind(self) -> Kind | None:
        """Kind of the pools that take the entries; None for retractions, which pools of both kinds take."""
        return _KIND[type(self.outcomes)]

    @property
    def first(self) -> int:
        """Offset of the first entry."""
        return int(self.offset[0])

    @property
    def last(self) -> int:
        """Offset of the last entry."""
        return int(self.offset[-1])

    def since(self, start: int) -> "Share":
        """Return the entries of records at or after offset `start`."""
        return self if not len(self) or self.first >= start else self._part(self.offset >= start)

    def below(self, end: int) -> "Share":
        """Return the entries of records before offset `end`."""
        return self if not len(self) or self.last < end else self._part(self.offset < end)

    def ahead(self, seconds: float) -> int:
        """Count the entries whose time is more than `seconds` after the log time of their record."""
        return int(np.count_nonzero(self.outcomes.time > self._records.time[self.record] + seconds))

    def _part(self, mask: NDArray[np.bool_]) -> "Share":
        return Share(PoolOutcomes(self.pool, self.outcomes.take(mask), self.record[mask], self.item[mask]), self._records)


def shares_of(records: Records, parts: Sequence[PoolOutcomes]) -> dict[str, list[Share]]:
    """Return the shares of each pool in log order. Pools are in the order of their first entries."""
    shares: dict[str, list[Share]] = {}
    for part in sorted(parts, key=lambda part: (part.record[0], part.item[0])):
        shares.setdefault(part.pool, []).append(Share(part, records))
    return shares
