"""Intervals of ratings by the delete-a-group jackknife (Kott 2001), with some dozens of refits instead of hundreds of replicates.

A hash divides outcomes into random groups. For each group, the method is fitted to all other outcomes. The pairs of an outcome are left out
together, so the error is correct for any number of sides. The method needs ratings that are smooth functions of the data. For ratings
that change in steps (Copeland's scores, ranks), use `analysis.intervals`.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.analysis.intervals import Fit, Intervals, checked_key, outcome_keys
from ratings_core.analysis.rank_intervals import simultaneous_ranks_of_deviations
from ratings_core.arrays.hashing import MOST_SEED, mix64
from ratings_core.batch.comparisons import Comparisons, PairCells
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats


def group_deletions(comparisons: Comparisons, key: NDArray[np.uint64] | None = None, *, seed: int, groups: int = 64) -> Iterator[MetPairs]:
    """Yield, for each nonempty group, the tallies of all outcomes outside it.

    key: as in `outcome_replicates`; the group of an outcome depends only on its key and the seed. Raises `InputError` unless there is one
    key per outcome, all different, and if all outcomes are in the same group.
    """
    count, base = checks.count("groups", groups, low=2, high=MOST_SEED), checks.count("seed", seed, high=MOST_SEED)
    group = outcome_groups(outcome_keys(comparisons, key), seed=base, groups=count)
    used = np.unique(group)
    if len(used) < 2:
        raise InputError("groups", groups, f"must divide outcomes into at least two groups ({len(group)} given)")
    return _deletions(PairCells.of(comparisons), comparisons.weight, group, used)


def outcome_groups(key: NDArray[np.uint64], *, seed: int, groups: int) -> NDArray[np.int64]:
    """Group of each outcome, from 0, int64 (outcomes,). key: uint64 (outcomes, 2)."""
    salt, count = checks.count("seed", seed, high=MOST_SEED), checks.count("groups", groups, low=1, high=MOST_SEED)
    return np.asarray(_groups(np.ascontiguousarray(checked_key(key)), np.uint64(salt), np.uint64(count)), np.int64)


def jackknife_intervals(fit: Fit, whole: MetPairs, deletions: Iterable[MetPairs], *, level: float = 0.95) -> Intervals:
    """Intervals of coverage `level` around the ratings of `whole`, with errors from fits to `deletions`.

    error: sqrt((G - 1)/G sum (without g - whole)**2) over G groups; low, high: the rating minus and plus the error times Student's quantile
    with G - 1 degrees of freedom. rank_low, rank_high: of simultaneous intervals of all differences (`rank_intervals`). An agent that some
    fit does not rate has no interval, and its rank interval includes all ranks; `unrated` is the share of such fits. Raises `InputError`
    for a level outside (0, 1) or fewer than two deletions, and all errors of `fit`.
    """
    tail = (1 - checks.number("level", level, above=0.0, high=1.0 - 1e-9)) / 2
    if not callable(fit):
        raise InputError("fit", fit, "must be a function from tallies to ratings")
    rating = np.asarray(fit(whole), np.float64)
    without = np.array([fit(counts) for counts in checks.iterable("deletions", deletions)], np.float64)
    if (groups := len(without)) < 2:
        raise InputError("deletions", groups, "must contain at least two deletions")
    deviations = np.sqrt((groups - 1) / groups) * (without - rating)
    error = np.sqrt((deviations**2).sum(axis=0))
    reach = float(scipy.special.stdtrit(groups - 1, 1 - tail)) * error
    theta = np.where(np.isnan(error), np.nan, rating)
    first, last = simultaneous_ranks_of_deviations(theta, deviations, level=float(level), freedom=groups - 1)
    return Intervals(
        low=rating - reach,
        high=rating + reach,
        rank_low=first,
        rank_high=last,
        error=error,
        unrated=np.asarray(np.isnan(without).mean(axis=0), np.float64),
        level=float(level),
        replicates=groups,
    )


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
