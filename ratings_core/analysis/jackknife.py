"""Intervals of ratings by leaving out groups of outcomes: some dozens of refits, where replicates take hundreds.

Outcomes are parted into groups by a hash, so that each group is a sample of all, and the method is fitted to all but one group, for each
(Kott 2001, the delete-a-group jackknife). The pairs of one outcome are left out together, so the error is right for any number of
sides. It is an error of ratings that are smooth in the data: for those that jump (Copeland's, ranks) take `analysis.intervals`.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ratings_core import checks
from ratings_core.analysis.intervals import Fit, Intervals, checked_key, outcome_keys
from ratings_core.arrays.hashing import MOST_SEED, mix64
from ratings_core.batch.comparisons import Comparisons, PairCells
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats


def group_deletions(comparisons: Comparisons, key: NDArray[np.uint64] | None = None, *, seed: int, groups: int = 64) -> Iterator[MetPairs]:
    """Tallies of all outcomes but those of one group, for each group that has any.

    key: as in `outcome_replicates`; an outcome's group follows from its key and the seed alone. Raises `InputError` where keys are not
    one an outcome, two are equal, or all outcomes are in one group.
    """
    count, base = checks.count("groups", groups, low=2, high=MOST_SEED), checks.count("seed", seed, high=MOST_SEED)
    group = outcome_groups(outcome_keys(comparisons, key), seed=base, groups=count)
    used = np.unique(group)
    if len(used) < 2:
        raise InputError("groups", groups, f"must part outcomes into two groups at least ({len(group)} given)")
    return _deletions(PairCells.of(comparisons), comparisons.weight, group, used)


def outcome_groups(key: NDArray[np.uint64], *, seed: int, groups: int) -> NDArray[np.int64]:
    """Group of each outcome, from 0, int64 (outcomes,). key: uint64 (outcomes, 2)."""
    salt, count = checks.count("seed", seed, high=MOST_SEED), checks.count("groups", groups, low=1, high=MOST_SEED)
    return np.asarray(_groups(np.ascontiguousarray(checked_key(key)), np.uint64(salt), np.uint64(count)), np.int64)


def jackknife_intervals(fit: Fit, whole: MetPairs, deletions: Iterable[MetPairs], *, level: float = 0.95) -> Intervals:
    """Intervals of `level` around the ratings of `whole`, of the width that fits to `deletions` say.

    error: sqrt((G - 1)/G sum (without g - whole)**2) over G groups; low, high: the rating and that error times Student's quantile
    of G - 1 degrees. rank_low, rank_high: as many agents are surely above, and below, as have an interval wholly above, or below. An agent
    that some fit does not rate has no interval, any rank, and its share of such fits in `unrated`. Raises `InputError` for a
    level outside (0, 1) or fewer than two deletions, and whatever `fit` raises.
    """
    tail = (1 - checks.number("level", level, above=0.0, high=1.0 - 1e-9)) / 2
    if not callable(fit):
        raise InputError("fit", fit, "must be a function from tallies to ratings")
    rating = np.asarray(fit(whole), np.float64)
    without = np.array([fit(counts) for counts in checks.iterable("deletions", deletions)], np.float64)
    if (groups := len(without)) < 2:
        raise InputError("deletions", groups, "must be two at least")
    error = np.sqrt((groups - 1) / groups * ((without - rating) ** 2).sum(axis=0))
    reach = float(stdtrit(groups - 1, 1 - tail)) * error
    low, high = rating - reach, rating + reach
    return Intervals(
        low=low,
        high=high,
        rank_low=1 + _beyond(low, high),
        rank_high=len(rating) - _beyond(-high, -low),
        error=error,
        unrated=np.asarray(np.isnan(without).mean(axis=0), np.float64),
        level=float(level),
        replicates=groups,
    )


def _beyond(low: Floats, high: Floats) -> NDArray[np.int64]:
    """How many agents' `low` is above each one's `high`; NaN is above no agent and below no agent."""
    known = np.sort(low[~np.isnan(low)])
    beyond = len(known) - np.searchsorted(known, high, side="right")
    return np.asarray(np.where(np.isnan(high), 0, beyond), np.int64)


def _deletions(cells: PairCells, weight: Floats, group: NDArray[np.int64], used: NDArray[np.int64]) -> Iterator[MetPairs]:
    for left_out in used:
        yield cells.counts(np.where(group == left_out, 0.0, weight))


@kernel
def _groups(key: NDArray[np.uint64], salt: np.uint64, groups: np.uint64) -> NDArray[np.int64]:
    found = np.empty(len(key), np.int64)
    mixed = mix64(salt + np.uint64(0x9E3779B97F4A7C15))
    for i in range(len(key)):
        found[i] = np.int64(mix64(mix64(key[i, 0] ^ mixed) ^ key[i, 1]) % groups)
    return found
