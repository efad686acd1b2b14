"""Retractions that a pool's generation does not heed yet: kept, so that the next one need not look for them in the log.

No part of a pool's content: digests do not cover it. A checkpoint carries it beside the content.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from services.state.dedupe import DedupeWindow
from services.state.edits import Retracted
from services.wire.columns import retracted_hash
from services.wire.events import RetractEvent


class Pending:
    """Retractions in log order. Its arrays are replaced, never changed: a reference to them is a snapshot.

    idle: how many of them change nothing, as of the last review. unmatched: how many of the idle ones name an id that no outcome has had.
    """

    def __init__(self) -> None:
        self._offset = np.zeros(0, np.int64)
        self._id = np.zeros((0, 2), np.uint64)
        self.idle = self.unmatched = 0

    def __len__(self) -> int:
        return len(self._offset)

    def add(self, found: Sequence[tuple[int, RetractEvent]]) -> None:
        """More of them, each with the offset of its record."""
        self._offset = np.concatenate([self._offset, np.array([offset for offset, _ in found], np.int64)])
        self._id = np.concatenate([self._id, retracted_hash([event for _, event in found])])

    def below(self, horizon: int) -> NDArray[np.uint64]:
        """Hashes uint64 (n, 2) of the ids that those before `horizon` name."""
        return self._id[self._offset < horizon]

    def since(self, horizon: int) -> "Pending":
        """Those at or after `horizon`."""
        later, left = self._offset >= horizon, Pending()
        left._offset, left._id = self._offset[later], self._id[later]
        return left

    def review(self, expected: int, applied: Retracted, dedupe: DedupeWindow) -> bool:
        """Count the idle retractions again. Returns whether `idle` or `unmatched` changed.

        A retraction is idle if it names an outcome that is left out already, or an id that no outcome has had so far. No retraction is
        idle where the dedupe window may have forgotten ids, or where the pool counted more retractions than are known here.

        Args:
            expected: Pending retractions that the pool counted.
            applied: Retractions that the pool's generation applies.
            dedupe: Ids of the outcomes that the pool has seen.
        """
        before = self.idle, self.unmatched
        self.idle = self.unmatched = 0
        if len(self) == expected:
            ids = self._id[~applied.among(self._id)]
            if not dedupe.full:
                self.unmatched = len(ids) - int(np.count_nonzero(dedupe.holds(ids)))
            self.idle = expected - len(ids) + self.unmatched
        return (self.idle, self.unmatched) != before

    def arrays(self) -> Arrays:
        """Their offset int64 (n,) and id uint64 (n, 2); nothing where there are none."""
        return {"pending.offset": self._offset, "pending.id": self._id} if len(self) else {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Pending":
        """Those whose `arrays()` are among these. Raises `InputError` where they do not fit together."""
        pending = cls()
        offset, id_ = arrays.get("pending.offset", pending._offset), arrays.get("pending.id", pending._id)
        if id_.shape != (len(offset), 2):
            raise InputError("arrays", sorted(arrays), "must hold an id for each pending retraction")
        pending._offset, pending._id = np.array(offset), np.array(id_)
        return pending
