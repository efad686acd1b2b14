"""Retractions of one pool: the ones that its generation applies, and the pending ones.

A pending retraction waits for the next generation. The ids of pending retractions are not part of the content, so digests do not cover
them; the content has their number, in the counter `retractions`. A checkpoint stores the ids next to the content.
"""

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from services.state.content import PoolContent
from services.state.edits import NONE, Retracted


class PoolRetractions:
    """Pending retractions of a pool, compared with its content. `len` gives the number of pending retractions whose ids are known.

    The arrays are replaced, never changed in place, so a reference to them is a snapshot.

    Attributes:
        idle: Number of pending retractions that would change nothing, at the last `review`.
    """

    def __init__(self, content: PoolContent) -> None:
        self._content = content
        self._offset = np.zeros(0, np.int64)
        self._id = np.zeros((0, 2), np.uint64)
        self.idle = self._never_seen = 0

    def __len__(self) -> int:
        return len(self._offset)

    @property
    def applied(self) -> Retracted:
        """Retractions that the generation applies."""
        edits = self._content.edits
        return NONE if edits is None else edits.retracted

    @property
    def count(self) -> int:
        """Number of pending retractions that the pool read. It exceeds `len` after a checkpoint that did not store their ids."""
        return self._content.counts["retractions"] - self.applied.events

    @property
    def waiting(self) -> int:
        """Number of pending retractions that were not idle at the last `review`."""
        return max(0, self.count - self.idle)

    @property
    def unmatched(self) -> int:
        """Number of retracted ids, pending and applied, that no outcome has had so far. The true number can be higher."""
        edits = self._content.edits
        return self._never_seen + (0 if edits is None else edits.unmatched)

    def note(self, ids: NDArray[np.uint64], offset: NDArray[np.int64]) -> None:
        """Add pending retractions. ids: hashes of the retracted ids, (n, 2); offset: offsets of their records, (n,)."""
        self._offset, self._id = np.concatenate([self._offset, offset]), np.concatenate([self._id, ids])

    def review(self) -> bool:
        """Count the idle retractions again. Returns whether the counts changed, which readers see.

        A pending retraction is idle if it names an id that is already retracted, or an id that no outcome has had so far. The second
        case counts only while the dedupe window is not full, so that it holds all ids. If ids of pending retractions are missing, the
        count is 0.
        """
        before = self.idle, self._never_seen
        self.idle = self._never_seen = 0
        if len(self) == self.count:
            ids = self._id[~self.applied.among(self._id)]
            if not self._content.dedupe.full:
                self._never_seen = len(ids) - int(np.count_nonzero(self._content.dedupe.holds(ids)))
            self.idle = len(self) - len(ids) + self._never_seen
        return (self.idle, self._never_seen) != before

    def changes_below(self, horizon: int) -> bool:
        """Whether a pending retraction whose record is below `horizon` is not idle; True if ids of pending retractions are missing."""
        if len(self) != self.count:
            return self.count > 0
        ids = self._id[self._offset < horizon]
        ids = ids[~self.applied.among(ids)]
        return bool(len(ids)) and (self._content.dedupe.full or bool(self._content.dedupe.holds(ids).any()))

    def below(self, horizon: int) -> Retracted | None:
        """The applied retractions and the pending ones below `horizon`; None if ids of pending retractions are missing."""
        return self.applied.with_more(self._id[self._offset < horizon]) if len(self) == self.count else None

    def arrays(self) -> Arrays:
        """Arrays of the pending retractions: offset int64 (n,) and id uint64 (n, 2). Empty if there are none."""
        return {"pending.offset": self._offset, "pending.id": self._id} if len(self) else {}

    @classmethod
    def from_arrays(cls, content: PoolContent, arrays: Arrays) -> "PoolRetractions":
        """Rebuild the retractions from a checkpoint's arrays. Raises `InputError` if their shapes do not match."""
        retractions = cls(content)
        offset, id_ = arrays.get("pending.offset", retractions._offset), arrays.get("pending.id", retractions._id)
        if id_.shape != (len(offset), 2):
            raise InputError("arrays", sorted(arrays), "must hold an id for each pending retraction")
        retractions._offset, retractions._id = np.array(offset), np.array(id_)
        return retractions
