"""Content of one pool: all that its outcomes made of it. Checkpoints hold it, digests cover it.

`arrays` is canonical: equal folds give equal arrays, whatever the batches, capacities and hash tables were (law 1).
"""

from collections.abc import Mapping
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.frozen import Arrays, Frozen, FrozenColumns, Still
from ratings_core.online.state import OnlineState
from ratings_core.records.outcomes import NO_TASK
from ratings_core.records.roster import Roster
from services.control.records import FoldSettings, Generation
from services.state.dedupe import CONFLICT, DUPLICATE, NEW, DedupeWindow
from services.state.edits import NONE, Edits, Retracted
from services.state.frozen import FrozenPool
from services.state.parts import named, part
from services.state.ratings import OnlineRatings
from services.state.tallies import Tallies
from services.wire.columns import GameColumns, ScoreColumns
from services.wire.pools import Kind


class PoolClock:
    """The time of a pool: the latest time of its outcomes so far, which decides the bucket of each outcome (law 2).

    time: latest time folded, None before any. late: outcomes older than that on arrival, since this object was made.
    """

    def __init__(self, bucket_seconds: float | None) -> None:
        self._bucket_seconds = bucket_seconds
        self.time: float | None = None
        self.late = 0

    def buckets(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Advance to `times` (n,), n >= 1. The bucket of each outcome is that of the pool's time on its arrival: a late one counts now."""
        running = np.maximum.accumulate(times if self.time is None else np.maximum(times, self.time))
        self.time = float(running[-1])
        self.late += int(np.count_nonzero(times < running))
        if self._bucket_seconds is None:
            return np.zeros(len(times), np.int64)
        return np.floor(running / self._bucket_seconds).astype(np.int64)


COUNTERS: Final = ("outcomes", "duplicates", "conflicts", "retractions", "refused", "untasked")
_NO_AGENTS: Final = np.zeros(0, np.int32)


class _Part(Protocol):
    """A part of a pool's content."""

    def arrays(self) -> Arrays: ...


class _LargePart(_Part, Protocol):
    """A part that is frozen without being copied."""

    def frozen(self) -> Frozen: ...


class PoolContent:
    """fold(settings of a generation, outcomes so far).

    agents, tasks: names by id. edits: what the generation leaves out or renames, None if nothing. ratings, tallies: folded outcomes.
    dedupe: ids counted. counts: outcomes by `COUNTERS`. clock: the pool's time.
    """

    def __init__(self, kind: Kind, generation: Generation, retracted: Retracted = NONE) -> None:
        self._fold: FoldSettings = generation.fold
        self.agents, self.tasks = Roster(), Roster()
        self.edits = Edits(generation, retracted) if generation.edits else None
        self.ratings, self.tallies = OnlineRatings(kind, generation), Tallies(self._fold)
        self.dedupe = DedupeWindow(self._fold.dedupe_window)
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.clock = PoolClock(self._fold.bucket_seconds)
        self._frozen: FrozenPool | None = None

    @classmethod
    def from_arrays(cls, kind: Kind, generation: Generation, arrays: Arrays) -> "PoolContent":
        """The content whose `arrays` these are. Raises `RatingsError`, `KeyError` or `ValueError` where they are none."""
        content = cls(kind, generation)
        if content.edits is not None:
            content.edits = Edits.from_arrays(part(arrays, "edits"), generation)
        content.agents, content.tasks = Roster.from_arrays(part(arrays, "agents")), Roster.from_arrays(part(arrays, "tasks"))
        content.dedupe = DedupeWindow.from_arrays(part(arrays, "dedupe"), generation.fold.dedupe_window)
        content.tallies = Tallies.from_arrays(generation.fold, arrays)
        content.ratings = OnlineRatings.from_arrays(kind, generation, arrays)
        content.counts = dict(zip(COUNTERS, arrays["counts"].tolist(), strict=True))
        content.clock.time = arrays["pool_time"][0].item() if len(arrays["pool_time"]) else None
        return content

    def start_from(self, initial: Mapping[str, Mapping[str, float]]) -> NDArray[np.int32]:
        """Begin with the ratings that a generation gives agents, by method and name. Returns the agents' ids."""
        names = sorted({name for ratings in initial.values() for name in ratings})
        if not names:
            return _NO_AGENTS
        ids = self.agents.intern(names)
        self.ratings.start_from(initial, dict(zip(names, ids.tolist(), strict=True)))
        return ids

    def fold(self, columns: GameColumns | ScoreColumns) -> NDArray[np.int32]:
        """Fold outcomes that fit the limits, in order; those seen before count as duplicates or conflicts. Returns whom they changed."""
        verdicts = self.dedupe.admit(columns.id_hash, columns.body_hash)
        self.counts["duplicates"] += int(np.count_nonzero(verdicts == DUPLICATE))
        self.counts["conflicts"] += int(np.count_nonzero(verdicts == CONFLICT))
        columns = columns.take(verdicts == NEW)
        if not len(columns):
            return _NO_AGENTS
        self.counts["outcomes"] += len(columns)
        agents = self.agents.intern_coded(columns.names)
        self._save_frozen(agents)
        bucket = self.clock.buckets(columns.time)
        self._count(columns, agents, bucket)
        self.ratings.take_part(agents, len(self.agents))
        if self._fold.buckets_kept is not None:
            self.tallies.drop_before(int(bucket[-1]) - self._fold.buckets_kept + 1)
        return agents

    def _count(self, columns: GameColumns | ScoreColumns, agents: NDArray[np.int32], bucket: NDArray[np.int64]) -> None:
        if isinstance(columns, GameColumns):
            batch = columns.batch(agents, self._game_tasks(columns.tasks))
            self.ratings.fold(batch)
            self.tallies.add_games(batch, bucket, columns.meta)
        else:
            self.tallies.add_scores(columns.batch(agents, self.tasks.intern_packed(columns.tasks)), bucket)

    def _game_tasks(self, tasks: Arena) -> NDArray[np.int32]:
        """Ids of the tasks of games; -1 where the pool counts none, or has as many as it may (the game counts without its task)."""
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
        parts: dict[str, _Part] = {**self._by_agent, **self._large, **self._small}
        activity = {"activity": self.ratings.activity[: len(self.agents)].copy()}
        return named({prefix: part.arrays() for prefix, part in parts.items()}) | activity | self._loose()

    def freeze(self, pool: str) -> FrozenPool:
        """The content as of now, for any thread, while folding goes on: nothing is copied before it changes.

        Raises `RuntimeError` where the last one was neither read nor closed. pool: its name, for the error.
        """
        if self._frozen is not None and self._frozen.open:
            msg = f"pool {pool} is frozen already"
            raise RuntimeError(msg)
        parts: dict[str, Frozen] = {prefix: part.frozen() for prefix, part in self._large.items()}
        parts |= {prefix: Still(part.arrays()) for prefix, part in self._small.items()}
        by_agent = {prefix: online.frozen() for prefix, online in self._by_agent.items()}
        self._frozen = FrozenPool(parts, by_agent, FrozenColumns({"activity": self.ratings.activity}, len(self.agents)), self._loose())
        return self._frozen

    def _save_frozen(self, agents: NDArray[np.int32]) -> None:
        """Keep what a frozen copy needs of these agents before it changes."""
        if self._frozen is None:
            return
        if self._frozen.open:
            self._frozen.save(agents)
        else:
            self._frozen = None

    def memory(self) -> dict[str, int]:
        """Bytes held by part, with what is reserved for growth."""
        return {
            "names": self.agents.nbytes + self.tasks.nbytes,
            "ratings": self.ratings.nbytes,
            "tallies": self.tallies.nbytes,
            "dedupe": self.dedupe.nbytes,
        }

    @property
    def _large(self) -> dict[str, _LargePart]:
        return {"agents": self.agents, "tasks": self.tasks, "dedupe": self.dedupe, **self.tallies.parts}

    @property
    def _by_agent(self) -> dict[str, OnlineState]:
        return {f"online.{name}": online for name, online in self.ratings.online.items()}

    @property
    def _small(self) -> dict[str, _Part]:
        prequential: dict[str, _Part] = {f"prequential.{name}": sums for name, sums in self.ratings.prequential.items()}
        return prequential if self.edits is None else {**prequential, "edits": self.edits}

    def _loose(self) -> Arrays:
        time = self.clock.time
        return {
            "counts": np.array([self.counts[name] for name in COUNTERS], np.int64),
            "pool_time": np.array([] if time is None else [time], np.float64),
        }
