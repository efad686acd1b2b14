"""The kinds of problem: games, games with features, results of pairs, margins, ballots, and tables of scores.

Methods get agents in order of their names (law 5), so results do not depend on the order in which agents appeared.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.comparisons import Comparisons
from ratings_core.errors import InputError
from ratings_core.problems.history import BucketedGames
from ratings_core.solution import Floats
from ratings_core.tallies import PairCounts, PairTally, PlaceCounts
from ratings_core.tallies.clusters import counts_of_groups
from ratings_core.tallies.task_ballots import ballot_pairs
from ratings_core.voting.profile import Profile, Unlisted

Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Named(ABC):
    """names: Names of agents 0 to n-1."""

    names: tuple[str, ...]

    @abstractmethod
    def take(self, ids: Ids) -> Self:
        """The problem of the agents `ids` only, renumbered in this order."""

    def by_name(self) -> Self:
        """The same problem with agents in order of their names."""
        return self.take(_order(self.names))


@dataclass(frozen=True, slots=True)
class PairsInput(_Named):
    """Results of pairs of agents.

    Attributes:
        names: Names of agents 0 to n-1.
        counts: Wins, losses and ties of each pair.
    """

    counts: PairCounts

    def take(self, ids: Ids) -> "PairsInput":
        """The agents `ids` only, renumbered in this order, and the results of pairs among them."""
        return PairsInput(_at(self.names, ids), _renamed(self.counts, _new_ids(ids, len(self.names))))

    @property
    def activity(self) -> Floats:
        """Total weight of each agent's results in pairs, float64 (n,)."""
        return _activity(self.counts, len(self.names))

    @property
    def margins(self) -> Floats:
        """Wins minus losses (n, n)."""
        return self.counts.margins(len(self.names))


@dataclass(frozen=True, slots=True)
class GamesInput(PairsInput):
    """Tallies of games.

    Attributes:
        names: Names of agents 0 to n-1.
        counts: Wins, losses and ties of each pair.
        places: Places of agents in games, by number of sides.
        tasks: Names of the tasks that are counted separately.
        by_task: For each task, the results of pairs on it. Games without a task are only in `counts`.
        groups: Results of pairs by random group of complete games, which add up to `counts`; empty if not counted.
        history: All games by time bucket; None if games were not counted by time, or agents were left out.
    """

    places: PlaceCounts
    tasks: tuple[str, ...] = ()
    by_task: tuple[PairCounts, ...] = ()
    groups: tuple[PairCounts, ...] = ()
    history: BucketedGames | None = None

    def by_name(self) -> "GamesInput":
        """The same problem with agents and tasks in order of their names."""
        tasks = _order(self.tasks, "tasks")
        by_task = tuple(self.by_task[task] for task in tasks.tolist())
        named = replace(self, tasks=_at(self.tasks, tasks), by_task=by_task)
        return named.take(_order(self.names))

    def take(self, ids: Ids) -> "GamesInput":
        """The agents `ids` only, renumbered in this order: results of pairs among them, and their places in the complete games."""
        new_id = _new_ids(ids, len(self.names))
        by_task, groups = (tuple(_renamed(counts, new_id) for counts in some) for some in (self.by_task, self.groups))
        places = _renamed_places(self.places, new_id)
        return GamesInput(_at(self.names, ids), _renamed(self.counts, new_id), places, self.tasks, by_task, groups)

    def in_groups(self, clusters: PairTally) -> "GamesInput":
        """The same problem with results of pairs by random group of complete games, as `ratings_core.tallies.clusters` counts them."""
        history = None if self.history is None else replace(self.history, clusters=clusters)
        return replace(self, groups=counts_of_groups(clusters), history=history)


@dataclass(frozen=True, slots=True)
class FeaturesInput(_Named):
    """n games of two sides, each with the values of its k features.

    Attributes:
        names: Names of agents 0 to m-1.
        comparisons: The games, one comparison for each game.
        features: float64 (n, k), value of the first side minus value of the second side.
        feature_names: k names.
        buckets: int64 (n,), time bucket of each game; None if games were not counted by time.
        left_out: Pairs of a reason and the number of the pool's games that were left out for it.
    """

    comparisons: Comparisons
    features: Floats
    feature_names: tuple[str, ...]
    buckets: Ids | None = None
    left_out: tuple[tuple[str, int], ...] = ()

    def take(self, ids: Ids) -> "FeaturesInput":
        """The agents `ids` only, renumbered in this order, and the games between them."""
        new_id, games = _new_ids(ids, len(self.names)).astype(np.int64), self.comparisons
        first, second = new_id[games.first], new_id[games.second]
        return self._with(_at(self.names, ids), first, second, games.weights, (first >= 0) & (second >= 0))

    def weighted(self, weights: Floats) -> "FeaturesInput":
        """The same games with other weights, float64 (n,), >= 0. Games of weight 0 are left out."""
        games = self.comparisons
        return self._with(self.names, games.first, games.second, weights, weights > 0)

    def _with(self, names: tuple[str, ...], first: Ids, second: Ids, weights: Floats, kept: NDArray[np.bool_]) -> "FeaturesInput":
        rows = np.arange(int(kept.sum()), dtype=np.int64)
        comparisons = Comparisons(len(names), first[kept], second[kept], self.comparisons.result[kept], rows, weights[kept])
        buckets = None if self.buckets is None else self.buckets[kept]
        return FeaturesInput(names, comparisons, self.features[kept], self.feature_names, buckets, self.left_out)

    @property
    def activity(self) -> Floats:
        """Total weight of each agent's games, float64 (m,)."""
        return _activity(self.counts, len(self.names))

    @property
    def counts(self) -> PairCounts:
        """Wins, losses and ties of pairs. Features are ignored."""
        cells = self.comparisons.counts()
        return PairCounts(cells.first.astype(np.int32), cells.second.astype(np.int32), cells.won, cells.lost, cells.tied)

    @property
    def margins(self) -> Floats:
        """Wins minus losses (n, n)."""
        return self.counts.margins(len(self.names))


@dataclass(frozen=True, slots=True)
class MarginsInput(_Named):
    """A table of margins.

    Attributes:
        names: Names of agents 0 to n-1.
        margins: float64 (n, n), antisymmetric: by how much a beats b, in any unit.
    """

    margins: Floats

    def take(self, ids: Ids) -> "MarginsInput":
        """The agents `ids` only, renumbered in this order, and the margins between them."""
        return MarginsInput(_at(self.names, ids), checks.antisymmetric("margins", self.margins)[np.ix_(ids, ids)])

    @property
    def activity(self) -> Floats:
        """Number of other agents with which each agent has a margin other than 0, float64 (n,)."""
        return np.asarray(np.count_nonzero(self.margins, axis=1), np.float64)


@dataclass(frozen=True, slots=True)
class ProfileInput:
    """Ballots.

    Attributes:
        profile: The ballots and the names of the agents.
        unlisted: Meaning of agents that a ballot does not list: `last` or `unknown`.
    """

    profile: Profile
    unlisted: Unlisted = "last"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of agents 0 to n-1."""
        return self.profile.names

    def by_name(self) -> "ProfileInput":
        """The same problem with agents in order of their names."""
        return self.take(_order(self.names))

    def take(self, ids: Ids) -> "ProfileInput":
        """The agents `ids` only, renumbered in this order, and the ballots that list any of them."""
        return ProfileInput(self.profile.take(ids), self.unlisted)

    @property
    def activity(self) -> Floats:
        """Total weight of the ballots that list each agent, float64 (n,)."""
        weight = np.repeat(self.profile.weight, np.diff(self.profile.start))
        return np.asarray(np.bincount(self.profile.agent, weight, len(self.names)), np.float64)

    @property
    def counts(self) -> PairCounts:
        """For each pair, the weight of the ballots that prefer one agent to the other, and of the ballots that tie them."""
        return self.profile.pair_counts(self.unlisted)

    @property
    def margins(self) -> Floats:
        """Weight of the ballots that prefer a to b, minus weight of the ballots that prefer b to a, float64 (n, n)."""
        return self.profile.margins(self.unlisted)


@dataclass(frozen=True, slots=True)
class ScoresInput(_Named):
    """Scores of agents on tasks.

    Attributes:
        names: Names of agents 0 to n-1.
        tasks: Names of tasks.
        scores: float64 (agents, tasks), NaN where not measured.
    """

    tasks: tuple[str, ...]
    scores: Floats

    def by_name(self) -> "ScoresInput":
        """The same problem with agents and tasks in order of their names."""
        tasks = _order(self.tasks, "tasks")
        return ScoresInput(self.names, _at(self.tasks, tasks), self.scores[:, tasks]).take(_order(self.names))

    def take(self, ids: Ids) -> "ScoresInput":
        """The agents `ids` only, renumbered in this order, on all tasks."""
        return ScoresInput(_at(self.names, ids), self.tasks, self.scores[ids])

    @property
    def activity(self) -> Floats:
        """Number of tasks on which each agent was measured, float64 (n,)."""
        return np.asarray(np.count_nonzero(~np.isnan(self.scores), axis=1), np.float64)

    @property
    def counts(self) -> PairCounts:
        """Results of pairs, where every task is a ballot of weight 1: the higher score wins, equal scores tie (as `ScoreTable.pairs`)."""
        agent, task = np.nonzero(~np.isnan(self.scores))
        return ballot_pairs(agent.astype(np.int32), task.astype(np.int32), self.scores[agent, task])

    @property
    def margins(self) -> Floats:
        """Number of tasks on which a scored higher than b, minus number of tasks on which it scored lower, float64 (n, n)."""
        return self.counts.margins(len(self.names))

    @property
    def profile(self) -> Profile:
        """Every task as a ballot of weight 1 that lists the measured agents. Raises `InputError` if nothing was measured."""
        return Profile.from_scores(self.scores, names=self.names)

    @property
    def unlisted(self) -> Unlisted:
        """Meaning of agents that were not measured on a task: unknown."""
        return "unknown"


Problem: TypeAlias = GamesInput | FeaturesInput | PairsInput | MarginsInput | ProfileInput | ScoresInput


def sparse_margins(problem: Problem) -> Any:
    """Margins as a sparse CSR array (n, n). Tallies are not made dense."""
    if isinstance(problem, MarginsInput):
        return scipy.sparse.csr_array(problem.margins)
    wins, _ = problem.counts.sparse(len(problem.names))
    return wins - wins.T


def wins(problem: Problem) -> Floats:
    """Number of wins of a against b, or of ballots that prefer a to b, float64 (n, n). For a table of margins: its positive part."""
    if isinstance(problem, MarginsInput):
        return np.maximum(problem.margins, 0.0)
    return problem.counts.dense(len(problem.names))[0]


def _order(names: Sequence[str], argument: str = "names") -> NDArray[np.int64]:
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(argument, twice, "must name each one once")
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)


def _at(names: Sequence[str], order: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(names[i] for i in order.tolist())


def _new_ids(ids: Ids, n: int) -> NDArray[np.int32]:
    """New id of each of n old ids: its position in `ids`, or -1 if it is not in `ids`."""
    new_id = np.full(n, -1, np.int32)
    new_id[ids] = np.arange(len(ids), dtype=np.int32)
    return new_id


def _activity(counts: PairCounts, n: int) -> Floats:
    weight = counts.wins + counts.losses + counts.ties
    return np.asarray(np.bincount(counts.first, weight, n) + np.bincount(counts.second, weight, n), np.float64)


def _renamed(counts: PairCounts, new_id: NDArray[np.int32]) -> PairCounts:
    kept = (new_id[counts.first] >= 0) & (new_id[counts.second] >= 0)
    if not kept.all():
        counts = PairCounts(*(getattr(counts, name)[kept] for name in ("first", "second", "wins", "losses", "ties")))
    a, b = new_id[counts.first], new_id[counts.second]
    turned = a > b
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    rows = np.lexsort((second, first))
    wins, losses = np.where(turned, counts.losses, counts.wins), np.where(turned, counts.wins, counts.losses)
    return PairCounts(first[rows], second[rows], wins[rows], losses[rows], counts.ties[rows])


def _renamed_places(places: PlaceCounts, new_id: NDArray[np.int32]) -> PlaceCounts:
    agent = new_id[places.agent]
    rows = np.argsort(agent, kind="stable")  # stable: the rows of each agent keep their order
    rows = rows[agent[rows] >= 0]
    return PlaceCounts(agent[rows], places.sides[rows], places.ahead[rows], places.tied[rows], places.weight[rows])
