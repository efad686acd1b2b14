"""State of one pool: online ratings, tallies, names, the dedupe window and the counters, all a fold of its outcomes.

Nothing here knows of logs, clocks or stores. `arrays` is the canonical content: what checkpoints hold and digests cover.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.frozen import Arrays, Frozen, FrozenColumns, Still
from ratings_core.errors import InputError
from ratings_core.online import Prequential, Rater, Reading
from ratings_core.online.state import OnlineState
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.outcomes import NO_TASK, OutcomeBatch, ScoreBatch
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.tally import Tally
from services.control.generations import check
from services.control.raters import make_raters
from services.control.records import Generation, PoolCreated
from services.state.clusters import in_groups
from services.state.dedupe import CONFLICT, DUPLICATE, NEW, DedupeWindow
from services.state.edits import NONE, Edits, Retracted
from services.state.frozen import FrozenPool, named
from services.state.limits import Limits
from services.state.pending import Pending
from services.wire.columns import GameColumns, ScoreColumns
from services.wire.events import Event, GameEvent, Reason, RetractEvent, ScoreEvent
from services.wire.pools import Kind

COUNTERS: Final = ("outcomes", "duplicates", "conflicts", "retractions", "refused", "untasked")
_EVENT: Final = {Kind.GAMES: GameEvent, Kind.SCORES: ScoreEvent}
_OTHER_EVENT: Final = {Kind.GAMES: ScoreEvent, Kind.SCORES: GameEvent}


class _Part(Protocol):
    """A part of a pool's content."""

    def arrays(self) -> Arrays: ...


class _LargePart(_Part, Protocol):
    def frozen(self) -> Frozen: ...


class Refused(NamedTuple):
    """Event `at` of a call was not folded, and why."""

    at: int
    reason: Reason
    path: str
    rule: str


class PoolState:
    """fold(generation, outcomes so far). version: rises whenever anything changed.

    retracted: what was retracted below the generation's horizon, which whoever makes the state has read from the log.
    stopped, stopped_at: why the pool folds no more, and the first offset that it may not have folded whole.
    broken: it failed in the middle of a call, so what it holds belongs to no position.
    on_change: called once, before anything changes next.
    """

    def __init__(self, created: PoolCreated, generation: Generation, retracted: Retracted = NONE) -> None:
        self.created, self.generation = created, generation
        self.kind, self.label = created.kind, created.label
        fold = generation.fold
        self.agents, self.tasks = Roster(), Roster()
        self.edits = Edits(generation, retracted) if generation.edits else None
        self.raters, self.stopped = _raters(self.kind, generation)
        self.stopped_at, self.broken = generation.start, False
        self.online = {name: rater.init(0) for name, rater in self.raters.items()}
        self.prequential = {name: Prequential() for name in self.raters}
        self.pairs, self.places, self.scores = PairTally(per_task=fold.per_task), PlaceTally(), ScoreTable()
        self.clusters = PairTally(per_task=True) if fold.clustered else None
        self.dedupe = DedupeWindow(fold.dedupe_window)
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.pending = Pending()
        self.pool_time: float | None = None
        self.idle_retractions = self.unmatched_retractions = 0
        """Of pending retractions: those that change nothing, and those of them whose id no outcome has had, as of the last review."""
        self.late = 0
        """Outcomes whose time was before pool time, since this object was made: for metrics, no part of the content."""
        self.activity = np.zeros(0, np.int64)
        self.version = self.recovered_at = 0
        self._dirty = np.zeros(0, np.bool_)
        self._told = -1
        self._frozen: FrozenPool | None = None
        self.on_change: Callable[[PoolState], None] | None = None
        if self.stopped is None:
            self._start_from(generation.initial)

    # -- folding

    def fold(self, outcomes: Sequence[Event] | GameColumns) -> list[Refused]:
        """Apply outcomes in order; those that this pool cannot take are returned and count as refused."""
        self._about_to_change()
        self.version += 1
        own, columns, refused = self._own(outcomes)
        if len(own):
            if self.edits is not None:
                columns, kept = self.edits.apply(columns)
                own = np.asarray(own)[kept].tolist()
            at = np.arange(len(own)) if isinstance(own, range) else np.asarray(own, np.int64)
            for within in self._within_limits(columns, refused, at):
                self._fold_new(within)
        self.counts["refused"] += len(refused)
        return refused

    def _about_to_change(self) -> None:
        if self.on_change is not None:
            told, self.on_change = self.on_change, None
            told(self)

    def _own(self, outcomes: Sequence[Event] | GameColumns) -> tuple[Sequence[int], GameColumns | ScoreColumns, list[Refused]]:
        """Which of `outcomes` are of this pool's kind, as columns, and those of the other kind, refused. Retractions are counted."""
        if isinstance(outcomes, GameColumns):
            if self.kind is Kind.GAMES:
                return range(len(outcomes)), outcomes, []
            return (), outcomes, [self._of_other_kind(i) for i in range(len(outcomes))]
        kinds = list(map(type, outcomes))
        if kinds.count(_EVENT[self.kind]) == len(kinds):
            return range(len(kinds)), _columns(self.kind, outcomes), []
        self.counts["retractions"] += kinds.count(RetractEvent)
        own = [i for i, kind in enumerate(kinds) if kind is _EVENT[self.kind]]
        refused = [self._of_other_kind(i) for i, kind in enumerate(kinds) if kind is _OTHER_EVENT[self.kind]]
        return own, _columns(self.kind, [outcomes[i] for i in own]), refused

    def _of_other_kind(self, at: int) -> Refused:
        return Refused(at, Reason.WRONG_KIND, "pool", f"holds {self.kind.value} outcomes only")

    def _within_limits(
        self, columns: GameColumns | ScoreColumns, refused: list[Refused], own: NDArray[np.int64]
    ) -> Iterator[GameColumns | ScoreColumns]:
        """The parts to fold one after the other; outcomes that exceed a limit are added to `refused`. own: index of each in the call.

        Each part is folded before the next one is asked for. Takes time n log n in the outcomes of the call.
        """
        limits = Limits(self.generation.fold, self.agents, self.tasks)
        if (broken := limits.broken(columns)) is None:
            yield columns
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

    def _fold_new(self, columns: GameColumns | ScoreColumns) -> None:
        verdicts = self.dedupe.admit(columns.id_hash, columns.body_hash)
        self.counts["duplicates"] += int(np.count_nonzero(verdicts == DUPLICATE))
        self.counts["conflicts"] += int(np.count_nonzero(verdicts == CONFLICT))
        columns = columns.take(verdicts == NEW)
        if not len(columns):
            return
        self.counts["outcomes"] += len(columns)
        agents = self.agents.intern_packed(columns.names)
        self._keep_frozen(agents)
        bucket = self._buckets(columns.time)
        if isinstance(columns, GameColumns):
            self._fold_games(columns.batch(agents, self._game_tasks(columns.tasks)), bucket)
        else:
            self._fold_scores(columns.batch(agents, self.tasks.intern_packed(columns.tasks)), bucket)
        self._touch(agents)
        self._forget(bucket)

    def _keep_frozen(self, agents: NDArray[np.int32]) -> None:
        if self._frozen is None:
            return
        if self._frozen.open:
            self._frozen.save(agents)
        else:
            self._frozen = None

    def _fold_games(self, batch: OutcomeBatch, bucket: NDArray[np.int64]) -> None:
        for name, rater in self.raters.items():
            rater.fold(self.online[name], batch, self.prequential[name])
        self.pairs.add(batch, bucket)
        self.places.add(batch, bucket)
        if self.clusters is not None:
            self.clusters.add(in_groups(batch), bucket)

    def _fold_scores(self, batch: ScoreBatch, bucket: NDArray[np.int64]) -> None:
        self.scores.add(batch, bucket)

    def _game_tasks(self, tasks: Arena) -> NDArray[np.int32]:
        """Ids of the tasks that games name; -1 where the pool keeps none, or no more (the outcome counts without it)."""
        if not self.generation.fold.per_task:
            return np.full(len(tasks), NO_TASK, np.int32)
        if len(self.tasks) + len(tasks) <= self.generation.fold.max_tasks:
            return self.tasks.intern_packed(tasks)
        ids = np.array([self._game_task(tasks.take(np.array([i]))) for i in range(len(tasks))], np.int32)
        self.counts["untasked"] += int(np.count_nonzero(ids == NO_TASK))
        return ids

    def _game_task(self, task: Arena) -> int:
        if len(self.tasks) < self.generation.fold.max_tasks:
            return int(self.tasks.intern_packed(task)[0])
        return int(self.tasks.lookup_packed(task)[0])

    def _buckets(self, time: NDArray[np.float64]) -> NDArray[np.int64]:
        """Bucket of each outcome: of the pool's time when it arrived, so that late outcomes count now (law 2)."""
        running = np.maximum.accumulate(time if self.pool_time is None else np.maximum(time, self.pool_time))
        self.pool_time = float(running[-1])
        self.late += int(np.count_nonzero(time < running))
        width = self.generation.fold.bucket_seconds
        return np.zeros(len(time), np.int64) if width is None else np.floor(running / width).astype(np.int64)

    def _forget(self, bucket: NDArray[np.int64]) -> None:
        kept = self.generation.fold.buckets_kept
        if kept is not None:
            for tally in self._tallies:
                tally.drop_before(int(bucket[-1]) - kept + 1)

    def _touch(self, agents: NDArray[np.int32]) -> None:
        self._reach(len(self.agents))
        np.add.at(self.activity, agents, 1)
        self._dirty[agents] = True

    def _reach(self, agents: int) -> None:
        """Grow to that many agents, by doubling; new ones are published next."""
        if len(self.activity) < agents:
            more = max(agents, 2 * len(self.activity)) - len(self.activity)
            self.activity = np.concatenate([self.activity, np.zeros(more, np.int64)])
            self._dirty = np.concatenate([self._dirty, np.zeros(more, np.bool_)])

    def _start_from(self, initial: Mapping[str, Mapping[str, float]]) -> None:
        names = sorted({name for ratings in initial.values() for name in ratings})
        if not names:
            return
        ids = self.agents.intern(names)
        self._reach(len(names))
        self._dirty[ids] = True
        self.online = {name: rater.init(len(names)) for name, rater in self.raters.items()}
        for method, ratings in initial.items():
            given = sorted(ratings)
            self.online[method].rating[self.agents.lookup(given)] = [ratings[name] for name in given]

    def stop(self, why: str, position: int, *, broken: bool = False) -> None:
        """Fold no more; the content stays as it is, and counts as folded up to `position` unless it is broken."""
        self._about_to_change()
        self.stopped, self.stopped_at, self.broken = why, position, broken
        self.version += 1

    def emptied(self) -> "PoolState":
        """The state before any outcome, of the same generation."""
        return PoolState(self.created, self.generation, NONE if self.edits is None else self.edits.retracted)

    @property
    def pending_retractions(self) -> int:
        """Retractions seen at or above the generation's horizon: the outcomes they name still count."""
        return self.counts["retractions"] - (self.edits.retracted.events if self.edits is not None else 0)

    def note(self, retractions: Sequence[tuple[int, RetractEvent]]) -> None:
        """Remember those of `retractions` just folded, each with its offset, that this generation does not heed."""
        if found := [one for one in retractions if one[0] >= self.generation.retraction_horizon]:
            self._about_to_change()
            self.pending.add(found)

    def review_retractions(self) -> int:
        """How many pending retractions may change what was folded; the others are counted as idle until the next review.

        A retraction is idle if it names an outcome that is left out already, or an id that no outcome has had so far. Where the dedupe
        window may have forgotten ids, and where the state does not know all of its retractions, none is idle.
        """
        pending, before = max(0, self.pending_retractions), (self.idle_retractions, self.unmatched_retractions)
        self.idle_retractions = self.unmatched_retractions = 0
        if len(self.pending) == pending:
            heeded = NONE if self.edits is None else self.edits.retracted
            ids = self.pending.ids[~heeded.among(self.pending.ids)]
            if not self.dedupe.full:
                self.unmatched_retractions = len(ids) - int(np.count_nonzero(self.dedupe.holds(ids)))
            self.idle_retractions = pending - len(ids) + self.unmatched_retractions
        if (self.idle_retractions, self.unmatched_retractions) != before:
            self._told = -1  # readers see both in the pool's head
        return pending - self.idle_retractions

    @property
    def waiting_retractions(self) -> int:
        """Pending retractions without those that the last review found idle."""
        return max(0, self.pending_retractions - self.idle_retractions)

    def retracted_for(self, generation: Generation) -> Retracted | None:
        """What the log retracts below the horizon of another generation of the pool, up to which this state is folded at least.

        None where the state cannot tell: it begins elsewhere, was stopped, or was recovered without all that it had counted.
        """
        own = self.generation
        if self.stopped is not None or generation.start != own.start or generation.retraction_horizon < own.retraction_horizon:
            return None
        if len(self.pending) != self.pending_retractions:
            return None
        heeded = NONE if self.edits is None else self.edits.retracted
        return heeded.with_more(self.pending.below(generation.retraction_horizon))

    def has_folded(self, retracted: Retracted) -> int:
        """How many outcomes counted that are `retracted`, by what the dedupe window remembers."""
        heeded = NONE if self.edits is None else self.edits.retracted
        return int(np.count_nonzero(self.dedupe.holds(retracted.ids[~heeded.among(retracted.ids)])))

    def take_over(self, generation: Generation, retracted: Retracted) -> None:
        """Go on by a generation that differs in what is `retracted` alone, of which nothing was folded."""
        edits = Edits(generation, retracted) if generation.edits else None
        if edits is not None and self.edits is not None:
            edits.left_out = self.edits.left_out
        self.generation, self.edits, self.recovered_at = generation, edits, 0
        self.pending = self.pending.since(generation.retraction_horizon)

    def folded_to(self, position: int) -> int:
        """Up to where the pool is folded when its partition is at `position`."""
        return position if self.stopped is None else self.stopped_at

    # -- what changed since it was last published

    @property
    def changed(self) -> bool:
        """Whether anything happened since `take_changes`."""
        return self._told != self.version

    def take_changes(self) -> NDArray[np.int32]:
        """Ids of agents whose values changed since the last call; from now on they count as told."""
        ids = np.flatnonzero(self._dirty[: len(self.agents)]).astype(np.int32)
        self._dirty[:] = False
        self._told = self.version
        return ids

    def mark(self, ids: NDArray[np.int32]) -> None:
        """Agents that were not told after all."""
        self._dirty[ids] = True
        self._told = -1

    def mark_all(self) -> None:
        """Nobody was told anything."""
        self._dirty[: len(self.agents)] = True
        self._told = -1

    # -- content

    def reading(self, method: str, ids: NDArray[np.int32]) -> Reading:
        """What boards show of the agents `ids` by an online method, as of the newest time folded."""
        return self.raters[method].read(self.online[method], ids)

    @property
    def beliefs(self) -> dict[str, BeliefModel]:
        """How deviations follow from beliefs, of the online methods that hold them."""
        return {name: model for name, rater in self.raters.items() if (model := rater.beliefs) is not None}

    def arrays(self) -> Arrays:
        """The canonical content as copies: equal for equal folds, whatever the batches, capacities and hash tables were."""
        parts: dict[str, _Part] = {**self._by_agent, **self._large, **self._small}
        activity = {"activity": self.activity[: len(self.agents)].copy()}
        return named({prefix: part.arrays() for prefix, part in parts.items()}) | activity | self._loose()

    def freeze(self) -> "FrozenPool":
        """The content as of now, for whatever thread, while folding goes on: nothing is copied before it changes.

        Raises `RuntimeError` where the last one was neither read nor closed.
        """
        if self._frozen is not None and self._frozen.open:
            msg = f"pool {self.generation.pool} is frozen already"
            raise RuntimeError(msg)
        parts: dict[str, Frozen] = {prefix: part.frozen() for prefix, part in self._large.items()}
        parts |= {prefix: Still(part.arrays()) for prefix, part in self._small.items()}
        by_agent = {prefix: online.frozen() for prefix, online in self._by_agent.items()}
        self._frozen = FrozenPool(parts, by_agent, FrozenColumns({"activity": self.activity}, len(self.agents)), self._loose())
        return self._frozen

    def memory(self) -> dict[str, int]:
        """Bytes held, room to grow included, by part."""
        return {
            "names": self.agents.nbytes + self.tasks.nbytes,
            "ratings": sum(online.nbytes for online in self.online.values()) + self.activity.nbytes + self._dirty.nbytes,
            "tallies": sum(tally.nbytes for tally in self._tallies),
            "dedupe": self.dedupe.nbytes,
        }

    @property
    def _tallies(self) -> tuple[Tally, ...]:
        return (self.pairs, self.places, self.scores, *([] if self.clusters is None else [self.clusters]))

    @property
    def _large(self) -> "dict[str, _LargePart]":
        return {
            "agents": self.agents,
            "tasks": self.tasks,
            "dedupe": self.dedupe,
            "pairs": self.pairs,
            "places": self.places,
            "scores": self.scores,
            **({} if self.clusters is None else {"clusters": self.clusters}),
        }

    @property
    def _by_agent(self) -> "dict[str, OnlineState]":
        return {f"online.{name}": online for name, online in self.online.items()}

    @property
    def _small(self) -> "dict[str, _Part]":
        prequential: dict[str, _Part] = {f"prequential.{name}": sums for name, sums in self.prequential.items()}
        return prequential if self.edits is None else {**prequential, "edits": self.edits}

    def _loose(self) -> Arrays:
        return {
            "counts": np.array([self.counts[name] for name in COUNTERS], np.int64),
            "pool_time": np.array([] if self.pool_time is None else [self.pool_time], np.float64),
        }

    @classmethod
    def restore(cls, created: PoolCreated, generation: Generation, arrays: Arrays, position: int) -> "PoolState":
        """The state whose `arrays` these are, recovered at a checkpoint's `position`."""
        state = cls(created, generation)
        if state.edits is not None:
            state.edits = Edits.from_arrays(part(arrays, "edits"), generation)
        state.agents, state.tasks = Roster.from_arrays(part(arrays, "agents")), Roster.from_arrays(part(arrays, "tasks"))
        state.dedupe = DedupeWindow.from_arrays(part(arrays, "dedupe"), generation.fold.dedupe_window)
        state.pairs, state.places = PairTally.from_arrays(part(arrays, "pairs")), PlaceTally.from_arrays(part(arrays, "places"))
        state.scores = ScoreTable.from_arrays(part(arrays, "scores"))
        if state.clusters is not None:
            state.clusters = PairTally.from_arrays(part(arrays, "clusters"))
        for name in state.raters:
            state.online[name] = type(state.online[name]).from_arrays(part(arrays, f"online.{name}"))
            state.prequential[name] = Prequential.from_arrays(part(arrays, f"prequential.{name}"))
        state.activity, state._dirty = np.array(arrays["activity"]), np.zeros(len(state.agents), np.bool_)
        state.counts = dict(zip(COUNTERS, arrays["counts"].tolist(), strict=True))
        state.pending = Pending.from_arrays(arrays)
        state.pool_time = arrays["pool_time"][0].item() if len(arrays["pool_time"]) else None
        state.recovered_at = position
        return state


def part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """Arrays of one part of the content, by their names within it."""
    lead = f"{prefix}."
    return {name.removeprefix(lead): array for name, array in arrays.items() if name.startswith(lead)}


def _columns(kind: Kind, events: Sequence[Any]) -> GameColumns | ScoreColumns:
    return GameColumns.of(events) if kind is Kind.GAMES else ScoreColumns.of(events)


def _raters(kind: Kind, generation: Generation) -> tuple[dict[str, Rater[Any]], str | None]:
    """The raters, and why there are none where this version cannot fold the generation as its record says."""
    try:
        check(kind, generation.fold, generation.initial, generation.aliases, generation.bans)
        return make_raters(kind, generation.fold), None
    except InputError as error:
        return {}, f"its settings cannot run here: {error}; change them by `equirank pools settings {generation.pool}`"
