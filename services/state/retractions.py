"""Retractions of one pool: those that its generation applies, and those that wait for another generation."""

from collections.abc import Sequence

import numpy as np

from services.state.content import PoolContent
from services.state.edits import NONE, Retracted
from services.state.pending import Pending
from services.wire.events import RetractEvent


class PoolRetractions:
    """Compares the retractions that a pool read with what its content holds.

    content: of the pool. pending: retractions at or above the horizon of the pool's generation: the outcomes they name still count.
    """

    def __init__(self, content: PoolContent, pending: Pending) -> None:
        self._content, self.pending = content, pending

    @property
    def applied(self) -> Retracted:
        """Retractions that the generation applies."""
        edits = self._content.edits
        return NONE if edits is None else edits.retracted

    @property
    def count(self) -> int:
        """How many pending retractions the pool read. `pending` holds fewer of them where an older checkpoint did not keep them."""
        return self._content.counts["retractions"] - self.applied.events

    @property
    def waiting(self) -> int:
        """Pending retractions without those that the last review found idle."""
        return max(0, self.count - self.pending.idle)

    @property
    def complete(self) -> bool:
        """Whether `pending` holds every pending retraction that the pool read."""
        return len(self.pending) == self.count

    @property
    def unmatched(self) -> int:
        """Retracted ids that no outcome has had so far, at least: of the pending retractions, and of those that are applied."""
        edits = self._content.edits
        return self.pending.unmatched + (0 if edits is None else edits.unmatched)

    def note(self, retractions: Sequence[tuple[int, RetractEvent]]) -> None:
        """Remember retractions that the generation does not apply, each with the offset of its record."""
        self.pending.add(retractions)

    def review(self) -> bool:
        """Count the idle retractions again, as `Pending.review` does. Returns whether their number changed."""
        return self.pending.review(max(0, self.count), self.applied, self._content.dedupe)

    def below(self, horizon: int) -> Retracted:
        """The applied retractions, and the pending ones before `horizon`."""
        return self.applied.with_more(self.pending.below(horizon))

    def folded(self, retracted: Retracted) -> int:
        """How many outcomes counted that are `retracted`, by what the dedupe window remembers."""
        ids = retracted.ids[~self.applied.among(retracted.ids)]
        return int(np.count_nonzero(self._content.dedupe.holds(ids)))
