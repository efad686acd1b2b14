"""Replicates of tallies: random data sets of the same source, for the bootstrap.

Each function draws one replicate with the given generator. A generator seeded with the number of the replicate gives the same replicate on
every machine and in any order. The docstring of each function states its assumptions.
"""

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.place_tally import PlaceCounts

_LOW = 2**32 - 1
_MOST = 1e18
"""Largest mean of a Poisson draw; draws of this mean fit into 64 bits."""


def poisson_pairs(counts: PairCounts, rng: Generator) -> PairCounts:
    """Draw each count from a Poisson distribution with the count as its mean. Pairs with a total of 0 are left out.

    Correct for independent outcomes of two sides and weight 1. Raises `InputError` if a count is not a whole number.
    """
    checks.instance("counts", counts, PairCounts)
    wins, losses, ties = (_drawn(name, getattr(counts, name), rng) for name in ("wins", "losses", "ties"))
    return _met(PairCounts(counts.first, counts.second, wins, losses, ties))


def poisson_places(places: PlaceCounts, rng: Generator) -> PlaceCounts:
    """Draw each count from a Poisson distribution with the count as its mean.

    Correct for each agent separately, because an outcome places it once. The dependence between the places of an outcome is lost. Raises
    `InputError` if a count is not a whole number.
    """
    weight = _drawn("weight", checks.instance("places", places, PlaceCounts).weight, rng)
    kept = weight > 0
    return PlaceCounts(places.agent[kept], places.sides[kept], places.ahead[kept], places.tied[kept], weight[kept])


def poisson_weights(weight: Floats, rng: Generator) -> Floats:
    """Draw the weight of each vote from a Poisson distribution with the weight as its mean: a vote of weight w stands for w voters.

    weight: whole numbers from 0, of any shape; the result has the same shape. Raises `InputError`.
    """
    return _drawn("weight", weight, rng)


def drawn_columns(member: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Draw as many classes of columns as there are, with replacement. Returns the columns of all draws, ascending, with repetitions.

    member: int64 (columns,), class of each column, from 0 without gaps. Copies of a column form a class, because they are one observation.
    Raises `InputError`.
    """
    checks.instance("rng", rng, Generator)
    given = checks.integers("member", member)
    if given.ndim != 1 or not given.size or not np.array_equal(np.unique(given), np.arange(len(np.unique(given)))):
        raise InputError("member", member, "must contain a class for each of one or more columns, with classes counted from 0 without gaps")
    member = given
    classes = int(member.max()) + 1
    times = np.bincount(rng.integers(classes, size=classes), minlength=classes)
    return np.repeat(np.arange(len(member)), times[member])


class PairGroups:
    """Bootstrap of random groups: outcomes are in random groups, and a replicate draws as many groups as there are, with replacement.

    All pairs of an outcome are in the same group, so the bootstrap is correct for independent outcomes with any number of sides and any
    weights (Wolter 2007, Introduction to Variance Estimation, chapter 2). A variance estimated from G groups has a relative variance of
    2/(G - 1); with G = 64 a standard error is accurate to about 9 %.
    """

    def __init__(self, groups: Sequence[PairCounts]) -> None:
        """groups: pair counts of two or more groups of the same agents, including empty groups. Raises `InputError` for fewer."""
        if len(checks.sequence("groups", groups)) < 2:
            raise InputError("groups", len(groups), "must contain at least two groups")
        for i, group in enumerate(groups):
            checks.instance(f"groups[{i}]", group, PairCounts)
        own = [one.first.astype(np.int64) << 32 | one.second for one in groups]
        self._keys = np.unique(np.concatenate(own))
        rows = [np.searchsorted(self._keys, keys) for keys in own]
        values = np.concatenate([np.concatenate([one.wins, one.losses, one.ties]) for one in groups])
        k = len(self._keys)
        at = np.concatenate([np.concatenate([row, row + k, row + 2 * k]) for row in rows])
        column = np.repeat(np.arange(len(groups)), [3 * len(keys) for keys in own])
        self._cells = scipy.sparse.csr_array(scipy.sparse.coo_array((values, (at, column)), shape=(3 * k, len(groups))))

    def __len__(self) -> int:
        return int(self._cells.shape[1])

    def weighted(self, weight: Floats) -> PairCounts:
        """Sum of the counts of all groups, each multiplied by its weight. weight: (groups,), >= 0. Raises `InputError`."""
        weight = _nonnegative("weight", weight)
        if weight.shape != (len(self),):
            raise InputError("weight", weight.shape, f"must contain a weight for each of {len(self)} groups")
        wins, losses, ties = np.split(np.asarray(self._cells @ weight, np.float64), 3)
        first, second = (self._keys >> 32).astype(np.int32), (self._keys & _LOW).astype(np.int32)
        return _met(PairCounts(first, second, wins, losses, ties))

    def replicate(self, rng: Generator) -> PairCounts:
        """Counts of one replicate. Raises `InputError` if `rng` is not a NumPy generator."""
        checks.instance("rng", rng, Generator)
        return self.weighted(rng.multinomial(len(self), np.full(len(self), 1 / len(self))).astype(np.float64))


def _nonnegative(name: str, values: Floats) -> Floats:
    column = checks.finite(name, values)
    if (column < 0).any():
        raise InputError(name, float(column.min()), "must be nonnegative")
    return column


def _drawn(name: str, values: Floats, rng: Generator) -> Floats:
    checks.instance("rng", rng, Generator)
    column = np.atleast_1d(_nonnegative(name, values))
    if (most := float(column.max(initial=0.0))) > _MOST:
        raise InputError(name, most, f"must be at most {_MOST:g}, the largest mean of a Poisson draw")
    if (bad := np.flatnonzero(column != np.floor(column))).size:
        raise InputError(f"{name}[{bad[0]}]", float(column[bad[0]]), "must be a whole number, as sums of outcomes of weight 1 are")
    return rng.poisson(column).astype(np.float64)


def _met(counts: PairCounts) -> PairCounts:
    """The counts without pairs of weight 0."""
    met = (counts.wins + counts.losses + counts.ties) > 0
    if met.all():
        return counts
    return PairCounts(counts.first[met], counts.second[met], counts.wins[met], counts.losses[met], counts.ties[met])
