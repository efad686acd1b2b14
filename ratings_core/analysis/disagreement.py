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


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Differences between rankings by several methods.

    places: int64 (agents,), largest difference of an agent's places between two methods that remains for every way of breaking ties; 0 if
    ties can be broken so that all methods agree. high, low: int64 (agents,), indices of these two methods: `high` places the agent better,
    `low` worse; among equal methods the first is named. first, last: int64 (methods, agents), best and worst place that breaking ties can
    give. distance: (methods, methods), normalised Kendall-tau distance, in which a pair tied by only one of the methods counts 1/2.
    """

    places: Ints
    high: Ints
    low: Ints
    first: Ints
    last: Ints
    distance: Floats


def disagreement(rankings: Sequence[Ranking]) -> Disagreement:
    """Compare rankings of the same agents 0 to n-1. Raises `InputError` for fewer than two rankings, and for different sets of agents."""
    if len(checks.sequence("rankings", rankings)) < 2:
        raise InputError("rankings", len(rankings), "must contain at least two rankings")
    agents = len(checks.instance("rankings[0]", rankings[0], Ranking))
    for i, ranking in enumerate(rankings):
        checks.instance(f"rankings[{i}]", ranking, Ranking)
        if len(ranking) != agents or agents < 2 or not np.array_equal(np.sort(ranking.ids), np.arange(agents)):
            raise InputError(
                f"rankings[{i}]", len(ranking), f"must rank agents 0 to n-1, with n at least 2 and as in rankings[0] ({agents})"
            )
    first = np.stack([ranking.rank for ranking in rankings])
    last = np.stack([np.diff(ranking.start)[ranking.level] for ranking in rankings]) + first - 1
    high, low = last.argmin(axis=0), first.argmax(axis=0)
    places = np.maximum(first.max(axis=0) - last.min(axis=0), 0)
    distance = np.zeros((len(rankings), len(rankings)))
    for i, j in combinations(range(len(rankings)), 2):
        distance[i, j] = distance[j, i] = normalised_kendall_tau(rankings[i], rankings[j])
    return Disagreement(places, high, low, first, last, distance)
