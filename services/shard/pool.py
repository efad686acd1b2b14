"""State of one pool: online ratings, tallies, names, the dedupe window and the counters, all a fold of its outcomes.

Nothing here knows of logs, clocks or stores. `arrays` is the canonical content: what checkpoints hold and digests cover.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.digest import digest
from ratings_core.online import RATERS, OnlineState, Prequential, Rater
from ratings_core.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from services.events import Event, Reason
from services.pools import GenerationMade, Kind
from services.shard.columns import GameColumns, ScoreColumns
from services.shard.dedupe import CONFLICT, DUPLICATE, NEW, DedupeWindow

Arrays = dict[str, NDArray[Any]]

_ONE_BUCKET: Final = 0


class Refused(NamedTuple):
    """Event `index` of a call was not folded, and why."""

    index: int
    reason: Reason
    path: str
    rule: str


class PoolState:
    """fold(generation, outcomes so far). stopped: why the pool folds no more, None while it does."""

    def __init__(self, kind: Kind, generation: GenerationMade) -> None:
        self.kind, self.generation = kind, generation
        self.stopped: str | None = None
        fold = generation.fold
        self.agents, self.tasks = Roster(), Roster()
        self.raters: dict[str, Rater[Any]] = {name: RATERS[name](**parameters) for name, parameters in fold.methods(kind).items()}
        self.online: dict[str, OnlineState] = {name: rater.init(0) for name, rater in self.raters.items()}
        self.prequential = {name: Prequential() for name in self.raters}
        self.pairs, self.places, self.scores = PairTally(per_task=fold.per_task), PlaceTally(), ScoreTable()
        self.dedupe = DedupeWindow(fold.dedupe_window)
        self.counts = {"outcomes": 0, "duplicates": 0, "conflicts": 0, "retractions": 0, "untasked": 0}
        self.pool_time: float | None = None
        self._activity = np.zeros(0, np.int64)
        self._dirty = np.zeros(0, np.bool_)
        self._start_from(generation.initial)

    # folding

    def fold(self, events: Sequence[Event]) -> list[Refused]:
        """Apply events in order; those that this pool cannot take are returned and change nothing."""
        self.counts["retractions"] += sum(event.kind is None for event in events)
        wrong = [i for i, event in enumerate(events) if event.kind not in (self.kind, None)]
        refused = [Refused(i, Reason.WRONG_KIND, "pool", f"holds {self.kind} outcomes only") for i in wrong]
        own = [i for i, event in enumerate(events) if event.kind is self.kind]
        if own:
            columns = self._columns([events[i] for i in own])
            refused += [Refused(own[i], *why) for i, *why in self._fold_limited(columns)]
        return refused
