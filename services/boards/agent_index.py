"""Index of the agents of a pool or of a slice, made of the newest checkpoint: names to search, and records of games and scores.

Only the parts of a checkpoint that it needs are read: names, numbers of outcomes, and tallies. Ratings are in the store.
"""

import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from ratings_core.records.name_search import EXACT, TIERS, NameSearch
from ratings_core.records.outcomes import WEIGHT_ONE
from ratings_core.records.roster import UNKNOWN, Roster
from services.boards.outcome_history import OutcomeHistoryReader
from services.boards.result import AgentRow
from services.boards.store.protocol import PoolHead, StoreError
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.state.history import PART, TracedOutcomes, window_names
from services.state.parts import part
from services.wire.pools import Kind

Weights: TypeAlias = NDArray[np.int64]
"""Weights of outcomes, in units of 1 / `WEIGHT_ONE`."""
_NAMES: Final = ("agents.bytes", "agents.start", "activity")
_TALLIES: Final = {
    Kind.GAMES: (
        "pairs.start",
        "pairs.key",
        "pairs.wins",
        "pairs.losses",
        "pairs.ties",
        *(f"{tally}.{name}" for tally in ("places", "teams") for name in ("start", "key", "weight")),
    ),
    Kind.SCORES: ("scores.start", "scores.key", "scores.weight", "scores.total", "tasks.bytes", "tasks.start"),
}
_LOW: Final = np.int64(2**32 - 1)
_MOST_TASK_SCORES: Final = 64
"""Number of agents whose places on tasks an index keeps; all of them are dropped before one more is kept. With the default limit of 1,000
tasks of a pool, these are at most 64,000 places."""
_KEYS_AT_ONCE: Final = 1 << 18


class NoIndex(StoreError):  # noqa: N818 - names the fact
    """Why a pool has no index now: it has no checkpoint yet, this cannot be read, or the index was dropped for those of other pools."""


class Place(NamedTuple):
    """A place in the order of a search: after the agent `agent` (its id) with this number of outcomes, in one tier of matches."""

    tier: int
    outcomes: int
    agent: int


class Results(NamedTuple):
    """Weights of an agent's games, in units of 1 / `WEIGHT_ONE`.

    wins: games in which its side ended alone in first place. draws: games in which its side shared the first place. losses: all others.
    Against one opponent, only games count in which both were sides alone: wins are those in which the agent was placed before the opponent,
    and draws those in which both had the same place.
    """

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        """Weight of all games."""
        return self.wins + self.draws + self.losses


class GamesPlayed(NamedTuple):
    """Results of several agents. Arrays have the shape (n,); agents that the index lacks have zeros.

    known: whether the index has the agent. wins, draws, losses: as in `Results`.
    """

    known: NDArray[np.bool_]
    wins: Weights
    draws: Weights
    losses: Weights

    @classmethod
    def of(cls, ids: NDArray[np.int32], results: NDArray[np.int64]) -> "GamesPlayed":
        """The results of agents by their ids, `UNKNOWN` for agents without one. results: those of all agents, as of `results_of_all`."""
        known = ids != UNKNOWN
        wins, draws, losses = np.where(known, results[:, np.where(known, ids, 0)], 0) if results.size else np.zeros((3, len(ids)), np.int64)
        return cls(known, wins, draws, losses)

    @property
    def games(self) -> Weights:
        """Weight of all games of each agent."""
        return self.wins + self.draws + self.losses


class TaskScore(NamedTuple):
    """An agent's mean score on a task. rank: competition rank among the agents with a score on it, 1 for the highest. agents: how many."""

    task: str
    score: float
    rank: int
    agents: int


class Opponents(NamedTuple):
    """Results of an agent against each opponent, most games first, then by id. Arrays have the shape (k,)."""

    agent: NDArray[np.int32]
    wins: Weights
    draws: Weights
    losses: Weights

    @property
    def games(self) -> Weights:
        """Weight of all games of each pair."""
        return self.wins + self.draws + self.losses

    def take(self, begin: int, count: int) -> "Opponents":
        """The opponents from index `begin` on, at most `count`."""
        part = slice(begin, begin + count)
        return Opponents(self.agent[part], self.wins[part], self.draws[part], self.losses[part])

    def after(self, games: int, agent: int) -> int:
        """Index of the first opponent after the place of `agent` with this weight of games."""
        before = (self.games > games) | ((self.games == games) & (self.agent <= agent))
        return int(np.count_nonzero(before))


_NO_WEIGHT: Final = np.zeros(0, np.int64)
NO_OPPONENTS: Final = Opponents(np.zeros(0, np.int32), _NO_WEIGHT, _NO_WEIGHT, _NO_WEIGHT)


class AgentIndex:
    """The agents of one generation of a pool, or of one of its slices, at one checkpoint.

    Thread-safe: after construction, only the results of all agents are added.

    Args:
        entry: The pool, or the slice, in the checkpoint.
        written_at: Time of the checkpoint in seconds since 1970.
        arrays: Arrays of the checkpoint, by name.
        mapped: Whether the arrays are a mapped file, whose memory all processes share.

    Attributes:
        history: History of the outcomes; None if the pool keeps none. Slices keep none.
    """

    def __init__(self, entry: PoolEntry, written_at: float, arrays: Arrays, *, mapped: bool) -> None:
        self.entry, self.written_at = entry, written_at
        self._names = Roster.from_arrays(part(arrays, "agents"))
        self._activity = arrays["activity"]
        if len(self._activity) != len(self._names):
            raise InputError("activity", len(self._activity), f"must be {len(self._names)}, the number of agents")
        self._order = np.argsort(-self._activity, kind="stable").astype(np.int32)
        self._search = NameSearch(Arena(arrays["agents.bytes"], arrays["agents.start"]), self._order)
        self._tallies = {name: part(arrays, name) for name in ("pairs", "places", "teams", "scores")}
        self._tasks = Roster.from_arrays(part(arrays, "tasks")) if entry.kind == Kind.SCORES else None
        self._task_scores: dict[int, list[TaskScore]] = {}
        kept = 0 if mapped else self._activity.nbytes + sum(array.nbytes for tally in self._tallies.values() for array in tally.values())
        self._results: NDArray[np.int64] | None = None
        self._counting = threading.Lock()
        results = 3 * self._activity.nbytes if entry.kind == Kind.GAMES else 0
        self._nbytes = self._names.nbytes + self._search.nbytes + self._order.nbytes + kept + results
        self.history: OutcomeHistoryReader | None = None

    @classmethod
    def load(cls, files: CheckpointStore, head: PoolHead, known: "AgentIndex | None" = None, part_of: str = "") -> "AgentIndex":
        """The index of what readers see of a pool, from its newest checkpoint.

        Args:
            files: The checkpoints.
            head: Head of the pool; it names the partition and the generation.
            known: An index that is returned if the newest checkpoint has nothing newer.
            part_of: Slice of the pool, such as `language:English`; empty for all outcomes.

        Raises:
            NoIndex: The serving generation has no checkpoint yet, the checkpoint has no such slice yet, or it cannot be read now.
        """
        try:
            newest = files.newest_entry(head.partition, head.pool, head.generation, part_of)
            if newest is None:
                what = f"slice {part_of} of pool {head.pool}" if part_of else f"pool {head.pool}"
                raise NoIndex(f"{what} has no checkpoint of generation {head.generation} yet", retriable=True)
            entry, written_at = newest
            if known is not None and known.content == content_of(entry):
                return known
            arrays = files.read_arrays(entry, {*_NAMES, *_TALLIES[Kind(entry.kind)], *window_names(head.online)})
            index = cls(entry, written_at, arrays, mapped=files.blobs.is_local)
            if window := part(arrays, PART):
                outcomes, opened = TracedOutcomes.from_arrays(window, head.online), None if known is None else known.history
                index.history = OutcomeHistoryReader.load(files, head.partition, entry, outcomes, opened)
        except (BadObject, OSError, InputError, KeyError, ValueError) as error:
            raise NoIndex(f"the checkpoint of pool {head.pool} cannot be read now: {error}", retriable=True) from error
        return index

    @property
    def content(self) -> str:
        """What was indexed. It changes with each checkpoint that has a newer content, and differs between a pool and its slices."""
        return content_of(self.entry)

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return self._nbytes + (0 if self.history is None else self.history.nbytes)

    def __len__(self) -> int:
        return len(self._names)

    def name(self, agent: int) -> str:
        """Name of the agent with this id."""
        return self._names.name(agent)

    def outcomes(self, agent: int) -> int:
        """Number of outcomes that the agent took part in."""
        return int(self._activity[agent])

    def outcomes_of(self, agents: NDArray[np.int32]) -> NDArray[np.int64]:
        """Numbers of outcomes of agents by their ids."""
        return np.asarray(self._activity[agents], np.int64)

    def ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Ids of agents: int32 (n,), `UNKNOWN` for agents that the pool does not have."""
        return self._names.lookup(names)

    def find(self, name: str) -> int | None:
        """Id of the agent with exactly this name; None if the pool has no such agent."""
        agent = int(self._names.lookup([name])[0])
        return None if agent == UNKNOWN else agent

    def search(self, query: str, after: Place | None, count: int) -> list[Place]:
        """The first `count` matches of a query: equal names, then names that begin with it, then names that contain it.

        Case is ignored. Within each tier, agents with more outcomes are first, then those with lower ids. An empty query finds all agents.

        Args:
            query: Any text.
            after: Only matches after this one; None for all.
            count: Largest number of matches.
        """
        found: list[Place] = []
        for tier in TIERS if query else (EXACT,):
            if after is None or tier >= after.tier:
                begin = self._begin(after) if after is not None and tier == after.tier else 0
                left = count - len(found)
                places = self._search.find(query, tier, begin, left) if query else range(begin, min(begin + left, len(self)))
                found += [Place(tier, self.outcomes(agent), agent) for agent in map(int, self._order[list(places)])]
        return found

    def nearest(self, query: str, count: int) -> list[str]:
        """The names with the fewest edits to a query, at most two, nearest first."""
        return [self.name(int(self._order[place])) for place in self._search.nearest(query, count)]

    def results(self, agent: int) -> Results:
        """The agent's games, those in teams included if the pool counts them. Only for pools of games."""
        alone, in_teams = _results(self._tallies["places"], agent), self.results_in_teams(agent) or Results(0, 0, 0)
        return Results(*(one + other for one, other in zip(alone, in_teams, strict=True)))

    def results_in_teams(self, agent: int) -> Results | None:
        """The agent's games in teams; None if the pool does not count them (`FoldSettings.by_shape`). Only for pools of games."""
        return _results(self._tallies["teams"], agent) if self._tallies["teams"] else None

    def team_games(self, agent: int) -> float | None:
        """The agent's games in teams, in outcomes of weight 1; None as for `results_in_teams`."""
        in_teams = self.results_in_teams(agent)
        return None if in_teams is None else float(outcomes_of(in_teams.games))

    @property
    def counts_games(self) -> bool:
        """Whether the pool is one of games."""
        return self.entry.kind == Kind.GAMES

    def played(self, names: Sequence[str]) -> GamesPlayed:
        """The games of several agents. Only for pools of games.

        Args:
            names: Names of agents.
        """
        return GamesPlayed.of(self._names.lookup(names), self._all_results())

    def is_ahead_of(self, rows: Sequence[AgentRow]) -> NDArray[np.bool_]:
        """Whether the checkpoint counts outcomes of a row's agent that the row does not count: bool (n,). rows: Rows of a live board."""
        ids = self.ids([row.agent for row in rows])
        ahead = np.zeros(len(ids), np.bool_)
        known = ids != UNKNOWN
        ahead[known] = self.outcomes_of(ids[known]) > np.array([row.outcomes or 0 for row in rows], np.int64)[known]
        return ahead

    def with_games(self, least: int) -> NDArray[np.int32]:
        """Ids of the agents with at least this number of games. Only for pools of games."""
        return np.flatnonzero(self._all_results().sum(axis=0) >= least * WEIGHT_ONE).astype(np.int32)

    def names(self, agents: NDArray[np.int32]) -> list[str]:
        """Names of agents by their ids."""
        return self._names.names(agents)

    def _all_results(self) -> NDArray[np.int64]:
        """Weights of wins, draws and losses of all agents: int64 (3, n). They are counted at the first call."""
        with self._counting:
            if self._results is None:
                self._results = results_of_all(self._tallies, len(self))
            return self._results

    def measured(self, agent: int) -> tuple[int, int]:
        """Number of tasks on which the agent was measured, and weight of the measurements. Only for pools of scores."""
        scores = self._tallies["scores"]
        rows = list(_rows(scores, agent << 32, (agent + 1) << 32))
        tasks = {task for part in rows for task in (scores["key"][part] & _LOW).tolist()}
        return len(tasks), sum(int(scores["weight"][part].sum()) for part in rows)

    def task_scores(self, agent: int) -> list[TaskScore]:
        """The agent's mean score on each of its tasks, by its place among the agents there, best first. Only for pools of scores.

        The scores of all agents are scanned for it, so the answers for the last few agents are kept.
        """
        known = self._task_scores.get(agent)
        if known is None:
            known = _task_scores(self._tallies["scores"], agent, self._tasks)
            if len(self._task_scores) >= _MOST_TASK_SCORES:
                self._task_scores.clear()
            self._task_scores[agent] = known
        return known

    def opponents(self, agent: int) -> Opponents:
        """The agent's results against each opponent, over all tasks and time buckets. Only for pools of games."""
        pairs = self._tallies["pairs"]
        keys = pairs["key"]
        starts = range(0, len(keys), _KEYS_AT_ONCE)
        met = [at + np.flatnonzero(_has(keys[at : at + _KEYS_AT_ONCE], agent)) for at in starts]
        rows = np.concatenate([np.zeros(0, np.int64), *met])
        first, second = keys[rows] >> 32, keys[rows] & _LOW
        is_first = first == agent
        others, which = np.unique(np.where(is_first, second, first), return_inverse=True)
        wins, losses = pairs["wins"][rows], pairs["losses"][rows]
        won, drawn, lost = (
            _sums(which, len(others), weight)
            for weight in (np.where(is_first, wins, losses), pairs["ties"][rows], np.where(is_first, losses, wins))
        )
        order = np.lexsort((others, -(won + drawn + lost)))
        return Opponents(others[order].astype(np.int32), won[order], drawn[order], lost[order])

    def met(self, agent: int, opponent: int) -> Results:
        """The agent's results against one opponent, over all tasks and time buckets. Only for pools of games."""
        pairs = self._tallies["pairs"]
        key = min(agent, opponent) << 32 | max(agent, opponent)
        rows = _rows(pairs, key, key + 1)
        lower, draws, higher = (sum(int(pairs[name][part].sum()) for part in rows) for name in ("wins", "ties", "losses"))
        return Results(lower, draws, higher) if agent < opponent else Results(higher, draws, lower)

    def _begin(self, after: Place) -> int:
        """First place in the order of answers after `after`."""

        def key(place: int) -> tuple[int, int]:
            agent = int(self._order[place])
            return -self.outcomes(agent), agent

        return bisect_right(range(len(self)), (-after.outcomes, after.agent), key=key)


def content_of(entry: PoolEntry) -> str:
    """The content of an entry, as of `AgentIndex.content`."""
    return f"{entry.object} {entry.slice}" if entry.slice else entry.object


def outcomes_of(weight: int | Weights) -> NDArray[np.float64]:
    """Weights in outcomes: an outcome of weight 1 counts 1."""
    return np.asarray(weight) / WEIGHT_ONE


def _has(keys: NDArray[np.int64], agent: int) -> NDArray[np.bool_]:
    """Which pairs have the agent."""
    return np.asarray((keys >> 32 == agent) | (keys & _LOW == agent))


def _rows(tally: dict[str, NDArray[Any]], low: int, high: int) -> list[slice]:
    """Rows of a tally whose key is from `low` up to `high`: keys ascend within each slab."""
    bounds, keys = tally["start"].tolist(), tally["key"]
    rows = []
    for begin, end in pairwise(bounds):
        first, last = np.searchsorted(keys[begin:end], [low, high])
        if first < last:
            rows.append(slice(begin + int(first), begin + int(last)))
    return rows


def _task_scores(scores: dict[str, NDArray[Any]], agent: int, names: Roster | None) -> list[TaskScore]:
    """As `AgentIndex.task_scores`. names: of the tasks."""
    rows = list(_rows(scores, agent << 32, (agent + 1) << 32))
    tasks = np.unique(np.concatenate([np.zeros(0, np.int64), *(scores["key"][part] & _LOW for part in rows)]))
    if names is None or not len(tasks):
        return []
    starts = range(0, len(scores["key"]), _KEYS_AT_ONCE)
    cells = np.concatenate([at + np.flatnonzero(np.isin(scores["key"][at : at + _KEYS_AT_ONCE] & _LOW, tasks)) for at in starts])
    keys, which = np.unique(scores["key"][cells], return_inverse=True)
    mean = np.bincount(which, scores["total"][cells]) / np.bincount(which, scores["weight"][cells])
    at, own = np.searchsorted(tasks, keys & _LOW), mean[keys >> 32 == agent]  # both by task, because keys ascend
    better, agents = np.bincount(at, mean > own[at]).astype(np.int64), np.bincount(at)
    columns = (own.tolist(), (1 + better).tolist(), agents.tolist())
    found = [TaskScore(*one) for one in zip(names.names(tasks.astype(np.int32)), *columns, strict=True)]
    return sorted(found, key=lambda one: ((one.rank - 1) / one.agents, -one.agents, one.task))


def _results(places: Arrays, agent: int) -> Results:
    """An agent's games by a tally of places."""
    wins = draws = losses = 0
    for rows in _rows(places, agent << 24, (agent + 1) << 24):
        key, weight = places["key"][rows], places["weight"][rows]
        first, alone = key >> 8 & 255 == 0, key & 255 == 1
        wins += int(weight[first & alone].sum())
        draws += int(weight[first & ~alone].sum())
        losses += int(weight[~first].sum())
    return Results(wins, draws, losses)


def results_of_all(tallies: Mapping[str, Arrays], agents: int) -> NDArray[np.int64]:
    """Weights of wins, draws and losses of all agents: int64 (3, agents).

    tallies: Tally -> its arrays: `places`, and `teams`, which has no arrays if the pool does not count games in teams.
    """
    results = np.zeros((3, agents), np.int64)
    for places in (tallies["places"], tallies["teams"]):
        for begin in range(0, len(places["key"]) if places else 0, _KEYS_AT_ONCE):
            key, weight = (places[name][begin : begin + _KEYS_AT_ONCE] for name in ("key", "weight"))
            agent, first, alone = key >> 24, key >> 8 & 255 == 0, key & 255 == 1
            kind = np.where(first, np.where(alone, 0, 1), 2)
            np.add.at(results, (kind, agent), weight)
    return results


def _sums(which: NDArray[np.intp], groups: int, weight: Weights) -> Weights:
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, which, weight)
    return sums
