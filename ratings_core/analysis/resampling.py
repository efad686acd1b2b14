"""Replicates of tallies: what the data could have been, had the same source been asked again.

Each function draws one replicate with the generator it is given, so a generator seeded by a replicate's number gives the same one
anywhere, in any order. What resampling takes for granted is said where it is done.
"""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.place_tally import PlaceCounts

_LOW = 2**32 - 1
_MOST = 1e18
"""Mean of the largest Poisson draw that 64 bits surely hold."""


def poisson_pairs(counts: PairCounts, rng: Generator) -> PairCounts:
    """Each cell drawn from Poisson of its count; pairs that drew none are left out.

    Right for independent outcomes of two sides and weight 1. Raises `InputError` where counts are not whole numbers.
    """
    checks.instance("counts", counts, PairCounts)
    wins, losses, ties = (_drawn(name, getattr(counts, name), rng) for name in ("wins", "losses", "ties"))
    return _met(PairCounts(counts.first, counts.second, wins, losses, ties))


def poisson_places(places: PlaceCounts, rng: Generator) -> PlaceCounts:
    """Each cell drawn from Poisson of its count. Right for every agent by itself, as an outcome places it once; that the places of one
    outcome depend on each other is lost. Raises `InputError` where counts are not whole numbers.
    """
    weight = _drawn("weight", checks.instance("places", places, PlaceCounts).weight, rng)
    kept = weight > 0
    return PlaceCounts(places.agent[kept], places.sides[kept], places.ahead[kept], places.tied[kept], weight[kept])


def poisson_weights(weight: Floats, rng: Generator) -> Floats:
    """Weights of votes, each drawn from Poisson of itself: a vote of weight w is w voters.

    weight: whole numbers from 0 on, of any shape, which the result has, too. Raises `InputError`.
    """
    return _drawn("weight", weight, rng)


def drawn_columns(member: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Columns of a table, rising: of as many classes as there are, drawn with replacement, each with all its members.

    member: int64 (columns,), the class of each column, from 0 without gaps; columns that are copies of one another are one observation.
    Raises `InputError`.
    """
    checks.instance("rng", rng, Generator)
    given = checks.integers("member", member)
    if given.ndim != 1 or not given.size or not np.array_equal(np.unique(given), np.arange(len(np.unique(given)))):
        raise InputError("member", member, "must be a class from 0 on, without gaps, for each of one column or more")
    member = given
    classes = int(member.max()) + 1
    times = np.bincount(rng.integers(classes, size=classes), minlength=classes)
    return np.repeat(np.arange(len(member)), times[member])


class PairGroups:
    """Whole outcomes in groups at random: a replicate draws as many groups as there are, with replacement.

    The pairs of an outcome stay together, so this is right for any number of sides and any weights where outcomes are independent: a
    bootstrap of random groups (Wolter 2007, Introduction to Variance Estimation, chapter 2). The variance of what G groups
    say is itself known to a relative 2/(G - 1); G = 64 makes a standard error right to about 9 %.
    """

    def __init__(self, groups: Sequence[PairCounts]) -> None:
        """groups: two or more, of the same agents; those that got no outcome are empty, not absent. Raises `InputError` for fewer."""
        if len(checks.sequence("groups", groups)) < 2:
            raise InputError("groups", len(groups), "must be two at least")
        for i, group in enumerate(groups):
            checks.instance(f"groups[{i}]", group, PairCounts)
        own = [one.first.astype(np.int64) << 32 | one.second for one in groups]
        self._keys = np.unique(np.concatenate(own))
        rows = [np.searchsorted(self._keys, keys) for keys in own]
        values = np.concatenate([np.concatenate([one.wins, one.losses, one.ties]) for one in groups])
        k = len(self._keys)
        at = np.concatenate([np.concatenate([row, row + k, row + 2 * k]) for row in rows])
        column = np.repeat(np.arange(len(groups)), [3 * len(keys) for keys in own])
        self._cells = sparse.csr_array(sparse.coo_array((values, (at, column)), shape=(3 * k, len(groups))))

    def __len__(self) -> int:
        return int(self._cells.shape[1])

    def weighted(self, weight: Floats) -> PairCounts:
        """Counts of all groups, those of group g times weight[g]. weight: (groups,), >= 0. Raises `InputError`."""
        weight = _nonnegative("weight", weight)
        if weight.shape != (len(self),):
            raise InputError("weight", weight.shape, f"must be one for each of {len(self)} groups")
        wins, losses, ties = np.split(np.asarray(self._cells @ weight, np.float64), 3)
        first, second = (self._keys >> 32).astype(np.int32), (self._keys & _LOW).astype(np.int32)
        return _met(PairCounts(first, second, wins, losses, ties))

    def replicate(self, rng: Generator) -> PairCounts:
        """Counts of one replicate. Raises `InputError` for what is no generator of numpy."""
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
        raise InputError(name, most, f"must be at most {_MOST:g}, above which nothing can be drawn")
    if (bad := np.flatnonzero(column != np.floor(column))).size:
        raise InputError(f"{name}[{bad[0]}]", float(column[bad[0]]), "must be a whole number, as outcomes of weight 1 make it")
    return rng.poisson(column).astype(np.float64)


def _met(counts: PairCounts) -> PairCounts:
    """Without pairs that have no weight."""
    met = (counts.wins + counts.losses + counts.ties) > 0
    if met.all():
        return counts
    return PairCounts(counts.first[met], counts.second[met], counts.wins[met], counts.losses[met], counts.ties[met])
