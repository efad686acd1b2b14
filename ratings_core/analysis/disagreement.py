"""Disagreement of methods: agents whose places differ for every way of breaking ties, and distances between rankings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.ranking import Ranking, normalised_kendall_tau
from ratings_core.solution import Floats

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Differences between rankings by several methods.

    Two methods are compared by the agents that both rate: a method says nothing about an agent that it does not rate.

    places: int64 (agents,), largest number of places by which two methods differ about an agent for every way of breaking ties, in their
    orders of the agents that both rate and in their full rankings; 0 if no two methods differ in both. high, low: int64 (agents,), indices
    of these two methods: `high` places the agent better, `low` worse; among equal methods the first are named, and the first two if no
    methods differ. first, last: int64 (methods, agents), best and worst place in the full ranking that breaking ties can give; 0 for an
    agent that the method does not rate. both: int64 (methods, methods), number of agents that both methods rate. distance: (methods,
    methods), normalised Kendall-tau distance of these agents, in which a pair tied by only one of the methods counts 1/2. tied: (methods,
    methods), share of their pairs that exactly one of the methods ties. distance and tied are NaN where both rate fewer than two agents.
    """

    places: Ints
    high: Ints
    low: Ints
    first: Ints
    last: Ints
    both: Ints
    distance: Floats
    tied: Floats


def disagreement(rankings: Sequence[Ranking]) -> Disagreement:
    """Compare rankings of the same agents 0 to n-1, which may leave agents unrated.

    Raises `InputError` for fewer than two rankings, and for different sets of agents.
    """
    if len(checks.sequence("rankings", rankings)) < 2:
        raise InputError("rankings", len(rankings), "must contain at least two rankings")
    agents = len(checks.instance("rankings[0]", rankings[0], Ranking))
    for i, ranking in enumerate(rankings):
        checks.instance(f"rankings[{i}]", ranking, Ranking)
        if len(ranking) != agents or agents < 2 or not np.array_equal(np.sort(ranking.ids), np.arange(agents)):
            raise InputError(
                f"rankings[{i}]", len(ranking), f"must rank agents 0 to n-1, with n at least 2 and as in rankings[0] ({agents})"
            )
    rated = np.stack([_rated(ranking) for ranking in rankings])
    first, last = (np.where(rated, places, 0) for places in np.stack([_places(ranking) for ranking in rankings], axis=1))
    none = np.diag(np.where(rated.sum(axis=1) >= 2, 0.0, np.nan))
    found = Disagreement(
        places=np.zeros(agents, np.int64),
        high=np.zeros(agents, np.int64),
        low=np.ones(agents, np.int64),
        first=first,
        last=last,
        both=rated.astype(np.int64) @ rated.T,
        distance=none,
        tied=none.copy(),
    )
    for i, j in combinations(range(len(rankings)), 2):
        _compare(found, rankings, i, j, rated[i] & rated[j])
    return found


def _rated(ranking: Ranking) -> Mask:
    """Whether each agent has a rating (agents,)."""
    rated = np.ones(len(ranking), np.bool_)
    rated[ranking.ids[len(ranking) - ranking.unrated :]] = False
    return rated


def _places(ranking: Ranking) -> Ints:
    """Best and worst place of each agent, int64 (2, agents)."""
    first = ranking.rank
    return np.stack([first, np.diff(ranking.start)[ranking.level] + first - 1])


def _compare(found: Disagreement, rankings: Sequence[Ranking], i: int, j: int, both: Mask) -> None:
    """Write what two methods say about the agents that both rate."""
    ids = np.flatnonzero(both)
    if len(ids) < 2:
        found.distance[i, j] = found.distance[j, i] = found.tied[i, j] = found.tied[j, i] = np.nan
        return
    one, other = (rankings[k] if both.all() else _among(rankings[k], ids) for k in (i, j))
    found.distance[i, j] = found.distance[j, i] = normalised_kendall_tau(one, other)
    found.tied[i, j] = found.tied[j, i] = _tied_by_one(one.level, other.level)
    (first, last), (other_first, other_last) = _places(one), _places(other)
    for high, low, among in ((i, j, other_first - last), (j, i, first - other_last)):
        differ = np.minimum(among, found.first[low, ids] - found.last[high, ids])
        more = differ > found.places[ids]
        at = ids[more]
        found.places[at], found.high[at], found.low[at] = differ[more], high, low


def _among(ranking: Ranking, ids: Ints) -> Ranking:
    """The ranking of some agents, who are renamed to 0 to k-1 in ascending order. ids: int64 (k,), ascending."""
    return Ranking.from_scores(-ranking.level[ids].astype(np.float64))


def _tied_by_one(one: Ints, other: Ints) -> float:
    """Share of pairs of agents that are in one level of exactly one of two rankings."""
    by_one, by_other, by_both = map(_pairs_within, (one, other, one * (int(other.max()) + 1) + other))
    return (by_one + by_other - 2 * by_both) / (len(one) * (len(one) - 1) / 2)


def _pairs_within(labels: Ints) -> int:
    """Number of pairs with equal labels."""
    sizes = np.unique(labels, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())
