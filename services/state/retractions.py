"""Retractions of one pool: those that its generation applies, and those that are pending.

A pending retraction waits for another generation, or for the outcome that it names. The ids of pending retractions are no part of the
content, so digests do not cover them; their number is, in the counter `retractions`. A checkpoint carries them beside the content.
"""

from collections.abc import Sequence

import numpy as np

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from services.state.content import PoolContent
from services.state.edits import NONE, Retracted
from services.wire.columns import retracted_hash
from services.wire.events import RetractEvent


class PoolRetractions:
    """Compares the retractions that a pool read with what its content holds. Its length is the number of pending retractions known.

    content: of the pool. idle: how many pending retractions change nothing, as of the last review.

    Its arrays are replaced, never changed: a reference to them is a snapshot.
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
        """How many pending retractions the pool read. More than are known where an older checkpoint did not keep them."""
        return self._content.counts["retractions"] - self.applied.events

    @property
    def waiting(self) -> int:
        """Pending retractions without those that the last review found idle."""
        return max(0, self.count - self.idle)

    @property
    def unmatched(self) -> int:
        """Retracted ids that no outcome has had so far, at least: of the pending retractions, and of those that are applied."""
        edits = self._content.edits
        return self._never_seen + (0 if edits is None else edits.unmatched)

    def note(self, retractions: Sequence[tuple[int, RetractEvent]]) -> None:
        """Remember retractions that the generation does not apply, each with the offset of its record."""
        self._offset = np.concatenate([self._offset, np.array([offset for offset, _ in retractions], np.int64)])
        self._id = np.concatenate([self._id, retracted_hash([event for _, event in retractions])])

    def review(self) -> bool:
        """Count the idle retractions again. Returns whether a number changed that readers see.

        A retraction is idle if it names an outcome that is left out already, or an id that no outcome has had so far. An unknown id counts
        as idle only while the dedupe window holds all ids. None is idle where the pool read more retractions than are known.
        """
        before = self.idle, self._never_seen
        self.idle = self._never_seen = 0
        if len(self) == self.count:
            ids = self._id[~self.applied.among(self._id)]
            if not self._content.dedupe.full:
                self._never_seen = len(ids) - int(np.count_nonzero(self._content.dedupe.holds(ids)))
            self.idle = len(self) - len(ids) + self._never_seen
        return (self.idle, self._never_seen) != before

    def below(self, horizon: int) -> Retracted | None:
        """The applied retractions, and the pending ones before `horizon`; None where not all of them are known."""
        return self.applied.with_more(self._id[self._offset < horizon]) if len(self) == self.count else None

    def arrays(self) -> Arrays:
        """Offset int64 (n,) and id uint64 (n, 2) of the pending retractions; nothing where there are none."""
        return {"pending.offset": self._offset, "pending.id": self._id} if len(self) else {}

    @classmethod
    def from_arrays(cls, content: PoolContent, arrays: Arrays) -> "PoolRetractions":
        """Those whose `arrays()` are among these. Raises `InputError` where they do not fit together."""
        made = cls(content)
        offset, id_ = arrays.get("pending.offset", made._offset), arrays.get("pending.id", made._id)
        if id_.shape != (len(offset), 2):
            raise InputError("arrays", sorted(arrays), "must hold an id for each pending retraction")
        made._offset, made._id = np.array(offset), np.array(id_)
        return made
