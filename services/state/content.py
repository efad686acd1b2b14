"""Content of one pool: the result of folding its outcomes. Checkpoints store the content, and digests cover it.

`PoolContent.arrays` is canonical: folds of equal outcomes give equal arrays, independent of batch sizes, reserved capacities and the
layout of hash tables (law 1).
"""

from collections.abc import Mapping
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.frozen import Arrays, FrozenColumns
from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.online.state import OnlineState
from ratings_core.records.outcomes import NO_TASK
from ratings_core.records.roster import Roster
from services.control.records import FoldSettings, Generation
from services.state.dedupe import CONFLICT, DUPLICATE, NEW, DedupeWindow
from services.state.edits import NONE, Edits, Retracted
from services.state.frozen import FrozenPool
from services.state.history import OutcomeHistory
from services.state.opening import FinalState
from services.state.parts import LargePart, named, part
from services.state.ratings import OnlineRatings
from services.state.tallies import Tallies
from services.wire.pools import Kind


class PoolClock:
    """Pool time: the latest time of the outcomes folded so far. Pool time decides the bucket of each outcome (law 2).

    Attributes:
        time: Pool time in seconds; None before the first outcome.
        late: Number of outcomes with a time before pool time on their arrival, since this object was made.
    """

    def __init__(self, bucket_seconds: float | None) -> None:
        self._bucket_seconds = bucket_seconds
        self.time: float | None = None
        self.late = 0

    def buckets(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Advance pool time by outcomes with the times `times` (n,) in seconds, n >= 1.

        Returns:
            int64 (n,), the bucket of pool time on arrival of each outcome. So a late outcome counts in the newest bucket.
        """
        running = np.maximum.accumulate(times if self.time is None else np.maximum(times, self.time))
        self.time = float(running[-1])
        self.late += int(np.count_nonzero(times < running))
        if self._bucket_seconds is None:
            return np.zeros(len(times), np.int64)
        return np.floor(running / self._bucket_seconds).astype(np.int64)


COUNTERS: Final = ("outcomes", "duplicates", "conflicts", "retractions", "refused", "untasked")
_NO_AGENTS: Final = np.zeros(0, np.int32)


class PoolContent:
    """The content of a pool under one generation: a pure function of the generation's settings and the outcomes so far.

    Attributes:
        agents, tasks: Names by id.
        edits: The generation's retractions, bans, aliases and erasures; None if it has none.
        ratings: States of the online methods.
        tallies: Counts for solved methods.
        dedupe: Ids of the last outcomes counted.
        counts: One number for each of `COUNTERS`.
        conflicting: Indexes of the conflicts in the newest call of `fold`, int64 (k,). Not part of the content.
        clock: Pool time.
        history: Newest outcomes with their ratings; None if the generation keeps no history or has no online method. It is not part of
            the content: `arrays` leaves it out.
    """

    def __init__(self, kind: Kind, generation: Generation, retracted: Retracted = NONE) -> None:
        self._fold: FoldSettings = generation.fold
        self.agents, self.tasks = Roster(), Roster()
        self.edits = Edits(generation, retracted) if generation.edits else None
        self.ratings, self.tallies = OnlineRatings(kind, generation), Tallies(self._fold)
        self.dedupe = DedupeWindow(self._fold.dedupe_window)
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.conflicting: NDArray[np.int64] = np.zeros(0, np.int64)
        self.clock = PoolClock(self._fold.bucket_seconds)
        self.history = OutcomeHistory(tuple(self.ratings.raters)) if self._fold.history and self.ratings.raters else None
        self._frozen: FrozenPool | None = None

    @classmethod
    def from_arrays(cls, kind: Kind, generation: Generation, arrays: Arrays) -> Self:
        """Rebuild a content from the result of `arrays`. Raises `RatingsError`, `KeyError` or `ValueError` for invalid arrays."""
        content = cls(kind, generation)
        if content.edits is not None:
            content.edits = Edits.from_arrays(part(arrays, "edits"), generation)
        content.agents, content.tasks = Roster.from_arrays(part(arrays, "agents")), Roster.from_arrays(part(arrays, "tasks"))
        content.dedupe = DedupeWindow.from_arrays(part(arrays, "dedupe"), generation.fold.dedupe_window)
        content.tallies = Tallies.from_arrays(generation.fold, arrays)
        content.ratings = OnlineRatings.from_arrays(kind, generation, arrays)
        content.counts = dict(zip(COUNTERS, arrays["counts"].tolist(), strict=True))
        if content.history is not None:
            content.history = OutcomeHistory.from_arrays(tuple(content.ratings.raters), arrays, content.counts["outcomes"])
        content.clock.time = arrays["pool_time"][0].item() if len(arrays["pool_time"]) else None
        return content

    def start_from(self, initial: Mapping[str, Mapping[str, float]]) -> NDArray[np.int32]:
        """Set the initial ratings of a generation. Call it before the first outcome is folded.

        Args:
            initial: Rating by method and name of the agent.

        Returns:
            Ids of the agents that have an initial rating.
        """
        names = sorted({name for ratings in initial.values() for name in ratings})
        if not names:
            return _NO_AGENTS
        ids = self.agents.intern(names)
        self.ratings.start_from(initial, dict(zip(names, ids.tolist(), strict=True)))
        return ids

    def open_season(self, final: FinalState, generation: Generation) -> NDArray[np.int32]:
        """Begin a season: take over ratings and known ids of outcomes. Call it before the first outcome is folded.

        Args:
            final: Final state of the season before.
            generation: The generation of this content, which has an opening.

        Returns:
            Ids of the agents that keep a rating.
        """
        self.dedupe = final.window(generation)
        carried = final.carried(generation)
        if not carried.names or generation.opening is None:
            return _NO_AGENTS
        ids = self.agents.intern(carried.names)
        self.ratings.open_season(final, carried.ids, generation.opening.keep)
        return ids

    def fold(self, columns: Games | TaskScores) -> NDArray[np.int32]:
        """Fold outcomes in order. An outcome with an id in the dedupe window only counts as a duplicate or a conflict.

        Args:
            columns: Outcomes that fit the limits of the generation.

        Returns:
            Ids of the agents in the new outcomes; an agent occurs once for each time that the outcomes name it.
        """
        verdicts = self.dedupe.admit(columns.id_hash, columns.body_hash)
        self.conflicting = np.flatnonzero(verdicts == CONFLICT)
        self.counts["duplicates"] += int(np.count_nonzero(verdicts == DUPLICATE))
        self.counts["conflicts"] += len(self.conflicting)
        columns = columns.take(verdicts == NEW)
        return self.count(columns) if len(columns) else _NO_AGENTS

    def count(self, columns: Games | TaskScores) -> NDArray[np.int32]:
        """Count one or more outcomes in order. The caller has found that their ids are new. Returns agents as `fold` does."""
        self.counts["outcomes"] += len(columns)
        agents = self.agents.intern_coded(columns.names)
        self._save_frozen(agents)
        bucket = self.clock.buckets(columns.time)
        self._count(columns, agents, bucket)
        self.ratings.take_part(agents, len(self.agents))
        if self._fold.buckets_kept is not None:
            self.tallies.drop_before(int(bucket[-1]) - self._fold.buckets_kept + 1)
        return agents

    def _count(self, columns: Games | TaskScores, agents: NDArray[np.int32], bucket: NDArray[np.int64]) -> None:
        if isinstance(columns, Games):
            batch = columns.batch(agents, self._game_tasks(columns.tasks))
            self.ratings.fold(batch, {} if self.history is None else self.history.reserve(batch))
            self.tallies.add_games(batch, bucket, columns.meta)
            if self.history is not None:
                self.history.add(batch)
        else:
            self.tallies.add_scores(columns.batch(agents, self.tasks.intern_packed(columns.tasks)), bucket)

    def _game_tasks(self, tasks: Arena) -> NDArray[np.int32]:
        """Task id of each game; -1 if the pool does not count by task, or if the task is new and the pool is at its limit of tasks.

        A game with task id -1 counts, but without its task.
        """
        if not self._fold.per_task:
            return np.full(len(tasks), NO_TASK, np.int32)
        if len(self.tasks) + len(tasks) <= self._fold.max_tasks:
            return self.tasks.intern_packed(tasks)
        ids = np.array([self._game_task(tasks.take(np.array([i]))) for i in range(len(tasks))], np.int32)
        self.counts["untasked"] += int(np.count_nonzero(ids == NO_TASK))
        return ids

    def _game_task(self, task: Arena) -> int:
        known = self.tasks.intern_packed if len(self.tasks) < self._fold.max_tasks else self.tasks.lookup_packed
        return int(known(task)[0])

    def arrays(self) -> Arrays:
        """The canonical content, copied."""
        parts = {prefix: part.arrays() for prefix, part in (self._large | self._by_agent).items()}
        return named(parts) | {"activity": self.ratings.activity[: len(self.agents)].copy()} | self._small()

    def freeze(self, pool: str) -> FrozenPool:
        """Freeze the present content (copy on write), so that another thread can read it while folding continues.

        Args:
            pool: Name of the pool, for the error.

        Raises:
            RuntimeError: The previous frozen content was neither read nor closed.
        """
        if self._frozen is not None and self._frozen.open:
            msg = f"pool {pool} is frozen already"
            raise RuntimeError(msg)
        parts = {prefix: part.frozen() for prefix, part in self._large.items()}
        by_agent = {prefix: online.frozen() for prefix, online in self._by_agent.items()}
        self._frozen = FrozenPool(parts, by_agent, FrozenColumns({"activity": self.ratings.activity}, len(self.agents)), self._small())
        return self._frozen

    def _save_frozen(self, agents: NDArray[np.int32]) -> None:
        """Copy the rows of `agents` into the open frozen content, before they change."""
        if self._frozen is None:
            return
        if self._frozen.open:
            self._frozen.save(agents)
        else:
            self._frozen = None

    @property
    def has_only_duels(self) -> bool:
        """Whether all outcomes are games of two agents: each game has at least two, so the sum over agents says so."""
        return int(self.ratings.activity.sum()) == 2 * self.counts["outcomes"]

    def memory(self) -> dict[str, int]:
        """Bytes of memory by part, reserved capacity included."""
        return {
            "names": self.agents.nbytes + self.tasks.nbytes,
            "ratings": self.ratings.nbytes,
            "tallies": self.tallies.nbytes,
            "dedupe": self.dedupe.nbytes,
            "history": 0 if self.history is None else self.history.nbytes,
        }

    @property
    def _large(self) -> dict[str, LargePart]:
        return {"agents": self.agents, "tasks": self.tasks, "dedupe": self.dedupe, **self.tallies.parts}

    @property
    def _by_agent(self) -> dict[str, OnlineState]:
        return {f"online.{name}": online for name, online in self.ratings.online.items()}

    def _small(self) -> Arrays:
        """Copies of the arrays that are too small to be frozen without a copy."""
        parts = {f"prequential.{name}": sums.arrays() for name, sums in self.ratings.prequential.items()}
        if self.edits is not None:
            parts["edits"] = self.edits.arrays()
        time = self.clock.time
        return named(parts) | {
            "counts": np.array([self.counts[name] for name in COUNTERS], np.int64),
            "pool_time": np.array([] if time is None else [time], np.float64),
        }
