"""State of one pool: the content folded from its outcomes, changes to publish, pending retractions and its status. No log, store or clock.

The path of an outcome: `fold` refuses outcomes of the other kind, applies the generation's edits, refuses outcomes that exceed a limit, and
folds the other outcomes into the content.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.columns.outcomes import Games, TaskScores
from services.control.lifecycles import POOL_LIFECYCLE, PoolEvent, PoolStatus
from services.control.records import Generation, PoolCreated
from services.state.changes import ChangeTracker
from services.state.edits import NONE, Retracted
from services.state.frozen import FrozenPool
from services.state.limits import PoolLimits
from services.state.opening import FinalState, initial_agents, rated_agents, rated_initial
from services.state.retractions import PoolRetractions
from services.state.slices import PoolSlices, SlicedContent, SliceKey, content_class
from services.wire.columns import Outcomes, Retractions
from services.wire.pools import Kind
from services.wire.refusals import CONFLICTS_WITH_LETTER, Reason, has_letter

_FORM: Final = {Kind.GAMES: Games, Kind.SCORES: TaskScores}


class Refused(NamedTuple):
    """A refused outcome.

    Attributes:
        at: Index of the outcome in the call.
        reason: Reason of the dead letter.
        path: Field that breaks the rule.
        rule: The rule, as text.
    """

    at: int
    reason: Reason
    path: str
    rule: str


def without_conflicts(letters: Iterable[Refused]) -> list[Refused]:
    """The outcomes that a pool refuses, of those that `PoolState.fold` returns."""
    return [letter for letter in letters if letter.reason is not Reason.CONFLICTING_ID]


class Changes(NamedTuple):
    """Agents with unpublished values. ids: of the pool, int32 (k,). slices: of each slice."""

    ids: NDArray[np.int32]
    slices: Mapping[SliceKey, NDArray[np.int32]] = MappingProxyType({})


class Stopped(NamedTuple):
    """Why a pool stopped folding. position: first offset that may be only partially folded."""

    why: str
    position: int


class PoolState:
    """One pool under one generation.

    Args:
        created: The control record of the pool.
        generation: The generation to fold.
        retracted: Retractions below the generation's horizon. The caller reads them from the log.
        final: Final state of the season before, for a generation with an opening.

    Attributes:
        content: Result of folding the outcomes.
        changes: Changes that are not published yet.
        retractions: Applied and pending retractions.
        status: State of the pool's lifecycle.
        stop_record: Why the pool stopped folding; None while it folds.
        recovered_at: Position of the checkpoint that the state was loaded from; 0 if there was none.
        recovered_outcomes: Number of outcomes counted in this checkpoint.
        on_change: Callback that is called once, before the next change.
        final: `final`, until a checkpoint contains what the state began with; None from then on. A broken state is written as it began.
        opened: Whether the state has what its generation begins with. False if the generation has an opening and `final` was not given:
            the state must not be folded then.
    """

    def __init__(
        self, created: PoolCreated, generation: Generation, retracted: Retracted = NONE, final: FinalState | None = None
    ) -> None:  # fmt: skip
        self.created, self.generation = created, generation
        self.content = content_class(generation)(created.kind, generation, retracted)
        self.changes, self.retractions = ChangeTracker(), PoolRetractions(self.content)
        self.status: PoolStatus = POOL_LIFECYCLE.start
        self.stop_record: Stopped | None = None
        self.recovered_at = self.recovered_outcomes = 0
        self.on_change: Callable[[PoolState], None] | None = None
        self.opened, self.final = True, final
        if self.content.ratings.failure is not None:
            self.stop(self.content.ratings.failure, generation.start)
        elif generation.opening is not None:
            self.opened = final is not None
            if final is not None:
                self.changes.touch(self.content.open_season(final, generation), len(self.content.agents))
        else:
            self.changes.touch(self.content.start_from(rated_initial(generation)), len(self.content.agents))

    @classmethod
    def restore(cls, created: PoolCreated, generation: Generation, arrays: Arrays, position: int) -> "PoolState":
        """Load a state from the arrays of a checkpoint at `position`."""
        state = cls(created, generation)
        state.content = content_class(generation).from_arrays(created.kind, generation, arrays)
        state.retractions = PoolRetractions.from_arrays(state.content, arrays)
        state.changes = ChangeTracker()
        state.changes.reach(len(state.content.agents))
        state.recovered_at, state.recovered_outcomes = position, state.content.counts["outcomes"]
        state.opened = True
        return state

    def emptied(self, final: FinalState | None = None) -> "PoolState":
        """A new state of the same generation, without outcomes. final: as of the constructor; None leaves out what a season begins with."""
        return PoolState(self.created, self.generation, self.retractions.applied, final)

    @property
    def kind(self) -> Kind:
        """Kind of the pool's outcomes."""
        return self.created.kind

    # -- folding

    def fold(self, outcomes: Outcomes) -> list[Refused]:
        """Fold outcomes in order.

        Returns:
            The outcomes that become dead letters: those that the pool refuses, which count in the counter `refused`, and those that
            conflict with a counted outcome, as far as they have letters (`has_letter`). They count in the counter `conflicts`.
        """
        self._about_to_change()
        self.changes.version += 1
        if isinstance(outcomes, Retractions):
            self.content.counts["retractions"] += len(outcomes)
            return []
        refused: list[Refused] = []
        conflicts: list[Refused] = []
        if isinstance(outcomes, _FORM[self.kind]):
            own = np.arange(len(outcomes))
            if self.content.edits is not None:
                outcomes, kept = self.content.edits.apply(outcomes, self.content.agents)
                own = np.flatnonzero(kept)
            for within, at in self._within_limits(outcomes, refused, own):
                before = self.content.counts["conflicts"]
                self.changes.touch(self.content.fold(within), len(self.content.agents))
                conflicts += _conflicts(at[self.content.conflicting].tolist(), before)
        else:
            refused = [self._of_other_kind(i) for i in range(len(outcomes))]
        self.content.counts["refused"] += len(refused)
        return refused + conflicts

    def _about_to_change(self) -> None:
        if self.on_change is not None:
            callback, self.on_change = self.on_change, None
            callback(self)

    def _of_other_kind(self, at: int) -> Refused:
        return Refused(at, Reason.WRONG_KIND, "pool", f"holds {self.kind.value} outcomes only")

    def _within_limits(
        self, columns: Games | TaskScores, refused: list[Refused], own: NDArray[np.int64]
    ) -> Iterator[tuple[Games | TaskScores, NDArray[np.int64]]]:
        """Yield parts of `columns` that fit the limits, each with its part of `own`. Outcomes that exceed a limit are added to `refused`.

        The caller has to fold each part before it takes the next one, because the limits depend on the names folded so far. The time is
        n log n in the number of outcomes.

        Args:
            columns: Outcomes of this pool's kind.
            refused: List that gets the refused outcomes.
            own: Index of each outcome in the call of `fold`.
        """
        limits = PoolLimits(self.generation.fold, self.content.agents, self.content.tasks)
        if (broken := limits.broken(columns)) is None:
            yield columns, own
            return
        if len(columns) == 1:
            refused.append(Refused(int(own[0]), *broken))
            return
        hopeless = np.zeros(len(columns), np.bool_)
        for mask in limits.hopeless(columns):
            if mask.any() and (rule := limits.broken(columns.take(mask))) is not None:
                refused += [Refused(at, *rule) for at in own[mask].tolist()]
                hopeless |= mask
        if hopeless.any():
            yield from self._within_limits(columns.take(~hopeless), refused, own[~hopeless])
            return
        first = np.arange(len(columns)) < len(columns) // 2
        yield from self._within_limits(columns.take(first), refused, own[first])
        yield from self._within_limits(columns.take(~first), refused, own[~first])

    # -- publishing

    @property
    def slices(self) -> PoolSlices | None:
        """The pool's slices; None for a pool without dimensions of slices."""
        return self.content.slices if isinstance(self.content, SlicedContent) else None

    def take_changes(self) -> Changes:
        """Changes since the last call, which then count as published."""
        return Changes(self.changes.take(), {} if self.slices is None else self.slices.take_changes())

    def mark(self, changes: Changes) -> None:
        """Mark changes that `take_changes` returned as not published, because publishing them failed."""
        self.changes.mark(changes.ids)
        if self.slices is not None:
            self.slices.mark(changes.slices)

    def mark_all(self) -> None:
        """Mark all values and the head as not published."""
        self.changes.mark_all()
        if self.slices is not None:
            self.slices.mark_all()

    # -- stopping

    def stop(self, why: str, position: int, *, broken: bool = False) -> None:
        """Stop folding. The content stays unchanged.

        Args:
            why: Reason, shown to readers.
            position: Log offset up to which the content is folded.
            broken: Whether the fold failed halfway, so that the content belongs to no position.
        """
        self._about_to_change()
        self.changes.version += 1
        self.status = POOL_LIFECYCLE.after(self.status, PoolEvent.BREAK if broken else PoolEvent.STOP)
        self.stop_record = Stopped(why, position)

    @property
    def stopped(self) -> str | None:
        """Why the pool stopped folding; None while it folds."""
        return None if self.stop_record is None else self.stop_record.why

    @property
    def broken(self) -> bool:
        """Whether a fold failed halfway, so that the content belongs to no position."""
        return self.status is PoolStatus.BROKEN

    def folded_to(self, position: int) -> int:
        """Log offset up to which the pool is folded while its partition is at `position`. A stopped pool keeps its offset."""
        return position if self.stop_record is None else self.stop_record.position

    # -- retractions

    def note(self, outcomes: Outcomes, offset: NDArray[np.int64]) -> None:
        """Add the retractions among folded entries as pending ones; those below the horizon are ignored. offset: of each entry's record."""
        if isinstance(outcomes, Retractions):
            pending = offset >= self.generation.retraction_horizon
            if pending.any():
                self.retractions.note(outcomes.id_hash[pending], offset[pending])

    def retracted_for(self, generation: Generation) -> Retracted | None:
        """Retractions below the horizon of another generation of the pool. The state must be folded at least up to this horizon.

        Returns:
            The retractions; None if the state does not have all of them: the generation starts at another offset or has a lower horizon,
            the pool is stopped, or the state was loaded from a checkpoint without its pending retractions.
        """
        own = self.generation
        if self.stopped is not None or generation.start != own.start or generation.retraction_horizon < own.retraction_horizon:
            return None
        return self.retractions.below(generation.retraction_horizon)

    # -- agents on boards

    def rated(self, method: str) -> NDArray[np.bool_] | None:
        """Which agents have a rating of an online method, as `rated_agents` gives them."""
        activity = self.content.ratings.activity[: len(self.content.agents)]
        return rated_agents(self.generation, method, activity, self._initial_agents)

    @cached_property
    def _initial_agents(self) -> dict[str, NDArray[np.int32]]:
        """Found once, because each publication needs them and there can be 20,000. They have ids before the first outcome."""
        return initial_agents(self.generation, self.content.agents)

    # -- copies of the content

    def arrays(self) -> Arrays:
        """The canonical content, copied."""
        return self.content.arrays()

    def freeze(self) -> FrozenPool:
        """Freeze the present content, see `PoolContent.freeze`."""
        return self.content.freeze(self.generation.pool)

    def memory(self) -> dict[str, int]:
        """Bytes of memory by part, reserved capacity included."""
        held = self.content.memory()
        return {**held, "ratings": held["ratings"] + self.changes.nbytes}


def _conflicts(conflicting: Iterable[int], before: int) -> list[Refused]:
    """The dead letters of conflicting outcomes. conflicting: their indexes. before: number of conflicts before them."""
    return [
        Refused(at, Reason.CONFLICTING_ID, "id", f"must be new: the pool counts another outcome with this id ({_conflict_text(number)})")
        for number, at in enumerate(conflicting, before + 1)
        if has_letter(number)
    ]


def _conflict_text(number: int) -> str:
    """Which conflict has a letter, and which others have none."""
    every = f"{CONFLICTS_WITH_LETTER:,}"
    if number < CONFLICTS_WITH_LETTER:
        return f"conflict {number:,}"
    if number == CONFLICTS_WITH_LETTER:
        return f"conflict {number:,}; of later conflicts, one of {every} has a dead letter"
    return f"conflict {number:,}; the {CONFLICTS_WITH_LETTER - 1:,} conflicts before it have no dead letter"
