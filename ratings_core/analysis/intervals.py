"""Intervals of ratings and ranks by refitting to replicates of the data, for every batch method.

Those of ratings hold one agent at a time. Those of ranks hold together (`rank_intervals`).

A replicate multiplies the weight of each outcome by a draw from Poisson(1). This bootstrap needs no copy of the data, and because the draws
come from a hash, no stored draws (Hanley and MacGibbon 2006; Chamandy et al. 2012). All pairs of an outcome share its draw, because they
depend on each other. Independent draws for pairs would make intervals too narrow by a factor of sqrt((k + 1)/3), for k sides in random
order.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.analysis.rank_intervals import simultaneous_ranks_of_draws
from ratings_core.arrays.hashing import MOST_SEED, mix64
from ratings_core.batch.comparisons import Comparisons, PairCells
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

Fit = Callable[[MetPairs], Floats]
"""A batch method: from tallies to ratings (m,), NaN for unrated agents; such as ``lambda counts: bradley_terry(counts).ratings``."""

_MOST_WEIGHT: Final = 20
"""Largest weight of a draw. Poisson(1) exceeds it once in 10**20 draws."""


def _upto() -> Floats:
    """Distribution function of Poisson(1) from 0 to `_MOST_WEIGHT`."""
    share = np.exp(-1.0) / np.cumprod([1.0, *range(1, _MOST_WEIGHT + 1)])
    return np.asarray(np.cumsum(share), np.float64)


_UPTO: Final = _upto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Intervals of ratings and ranks.

    low, high: (m,), bounds of ratings, NaN for an agent that no replicate rates; rank_low, rank_high: int64 (m,), best and worst rank (1 is
    best, ties share the better rank); error: (m,), standard deviation over replicates; unrated: (m,), share of replicates that do not rate
    the agent; level: nominal coverage of each rating's interval, and of all rank intervals together; replicates: number of replicates.
    """

    low: Floats
    high: Floats
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    error: Floats
    unrated: Floats
    level: float
    replicates: int


def replicate_intervals(fit: Fit, replicates: Iterable[MetPairs], *, level: float = 0.95, estimate: Floats | None = None) -> Intervals:
    """Refit to each of `replicates` and compute intervals of ratings and ranks as `intervals_of`.

    The ratings of all replicates are in memory, 8 m bytes each. They must be comparable across replicates, as those of methods that centre
    ratings. In an unconnected pool they are not, because the components can differ between replicates. Raises `InputError` for a level
    outside (0, 1) or fewer than two replicates, and all errors of `fit`. A replicate can be unconnected even if the data are connected, so
    rate by component, in a box, or with a prior.
    """
    if not callable(fit):
        raise InputError("fit", fit, "must be a function from tallies to ratings")
    ratings = np.array([fit(counts) for counts in checks.iterable("replicates", replicates)], np.float64)
    return intervals_of(ratings, level=level, estimate=estimate)


def intervals_of(
    ratings: Floats,
    ranks: NDArray[np.int64] | None = None,
    *,
    level: float = 0.95,
    estimate: Floats | None = None,
    units: int = 0,
    differences: bool = True,
    ranked: NDArray[np.bool_] | None = None,
) -> Intervals:
    """Central percentile intervals of ratings, of coverage `level` each, and intervals of ranks, of coverage `level` together.

    Args:
        ratings: Ratings of the replicates (replicates, m), finite, or NaN if a replicate does not rate an agent.
        ranks: Their ranks, int64 (replicates, m), 1 is best; by default those of the ratings, where equal ratings share the better rank.
        level: Nominal coverage.
        estimate: Ratings of the data (m,), finite or NaN, around which differences are tested; None for the means of the replicates.
        units: Number of units that a replicate draws with replacement, as in `simultaneous_ranks_of_draws`.
        differences: Whether differences of ratings count for ranks, as there.
        ranked: bool (m,), agents that have a rank; None for all. Their ranks are counted among them, so that an agent that is hardly known
            widens no interval of others. Each other agent gets the interval of all ranks.

    Raises:
        InputError: The level is outside (0, 1), there are fewer than two replicates, or an array is of another shape or type.
    """
    tail = (1 - checks.number("level", level, above=0.0, high=1.0 - 1e-9)) / 2
    ratings = checks.real("ratings", ratings)
    if ratings.shape[:1] < (2,):
        raise InputError("replicates", len(ratings) if ratings.ndim else 0, "must contain at least two replicates")
    if ratings.ndim != 2 or not ratings.shape[1] or np.isinf(ratings).any():
        raise InputError("ratings", ratings, "must be finite or NaN, (replicates, agents), of one or more agents")
    ranks = _ranks(ratings) if ranks is None else checks.integers("ranks", ranks)
    if ranks.shape != ratings.shape:
        raise InputError("ranks", ranks.shape, f"must have the shape of ratings, {ratings.shape}")
    m = ratings.shape[1]
    ids, lacking = _ids_of(ranked, m), np.isnan(ratings)
    own = None if estimate is None else _estimate_of(estimate, m)[ids]
    rank_low, rank_high = np.ones(m, np.int64), np.full(m, max(1, len(ids)), np.int64)
    if len(ids):
        rank_low[ids], rank_high[ids] = simultaneous_ranks_of_draws(
            ratings[:, ids], _ranks_among(ids, ranks), own, level=level, units=units, differences=differences
        )
    return Intervals(
        low=_quantile(ratings, lacking, tail),
        high=_quantile(ratings, lacking, 1 - tail),
        rank_low=rank_low,
        rank_high=rank_high,
        error=_deviation(ratings, lacking),
        unrated=np.asarray(lacking.mean(axis=0), np.float64),
        level=float(level),
        replicates=len(ratings),
    )


def _ids_of(ranked: NDArray[np.bool_] | None, m: int) -> NDArray[np.int64]:
    """Ids of the ranked ones of m agents. Raises `InputError` unless `ranked` is None or bool (m,)."""
    if ranked is None:
        return np.arange(m)
    if checks.instance("ranked", ranked, np.ndarray).dtype != np.bool_ or ranked.shape != (m,):
        raise InputError("ranked", f"{ranked.dtype} {ranked.shape}", f"must be bool ({m},), one for each agent of ratings")
    return np.flatnonzero(ranked)


def _estimate_of(estimate: Floats, m: int) -> Floats:
    """Return `estimate` if it has a finite number or NaN for each of m agents. Raises `InputError`."""
    checked = checks.real("estimate", estimate)
    if checked.shape != (m,):
        raise InputError("estimate", checked.shape, f"must have the shape ({m},), one rating for each agent of ratings")
    if np.isinf(checked).any():
        raise InputError("estimate", checked, "must be finite, or NaN for an agent without a rating")
    return checked


def _ranks_among(ids: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ranks of some agents among themselves, int64 (replicates, ids). ranks: Ranks among all agents (replicates, m)."""
    others, own = np.sort(np.delete(ranks, ids, axis=1), axis=1), ranks[:, ids].astype(np.int64)
    above = [np.searchsorted(other, row, "left") for other, row in zip(others, own, strict=True)]
    return np.asarray(own - np.array(above), np.int64)


def including(intervals: Intervals, ratings: Floats, ranks: NDArray[np.int64]) -> Intervals:
    """Extend intervals so that each includes its estimate.

    Percentiles of replicates can exclude an estimate that is biased under resampling. For example, a resampled sparse pool has fewer met
    pairs than the pool, so its Copeland scores are smaller. Extending an interval never reduces its coverage.

    Args:
        intervals: Intervals of m agents.
        ratings: Estimates (m,), NaN for agents without one.
        ranks: Their ranks, int64 (m,).

    Raises:
        InputError: An array is of another shape or type.
    """
    m = checks.instance("intervals", intervals, Intervals).low.shape
    ratings, ranks = checks.real("ratings", ratings), checks.integers("ranks", ranks)
    for name, column in (("ratings", ratings), ("ranks", ranks)):
        if column.shape != m:
            raise InputError(name, column.shape, f"must have the shape {m} of the intervals")
    return replace(
        intervals,
        low=np.where(np.isnan(intervals.low), np.nan, np.fmin(intervals.low, ratings)),
        high=np.where(np.isnan(intervals.high), np.nan, np.fmax(intervals.high, ratings)),
        rank_low=np.minimum(intervals.rank_low, ranks),
        rank_high=np.maximum(intervals.rank_high, ranks),
    )


def outcome_replicates(
    comparisons: Comparisons, key: NDArray[np.uint64] | None = None, *, seed: int, replicates: int
) -> Iterator[MetPairs]:
    """Yield the tallies of `replicates` resamplings by outcome. They are correct for any number of sides and any weights.

    key: uint64 (outcomes, 2), 128-bit hash of each outcome's id (`OutcomeBatch.key`); None uses the position in the data. The draw for an
    outcome depends only on its key, the seed and the number of the replicate, so another order or another machine gives the same
    replicates. Raises `InputError` unless there is one key per outcome, all different (outcomes with equal keys would get equal draws).
    """
    count, base = checks.count("replicates", replicates, low=1), checks.count("seed", seed, high=MOST_SEED)
    return _outcome_replicates(PairCells.of(comparisons), comparisons.weight, outcome_keys(comparisons, key), base, count)


def outcome_keys(comparisons: Comparisons, key: NDArray[np.uint64] | None) -> NDArray[np.uint64]:
    """Check `key`, or make keys from the positions of the outcomes if it is None. Shape and errors as in `outcome_replicates`."""
    checks.instance("comparisons", comparisons, Comparisons)
    if key is None:
        return np.stack([np.arange(len(comparisons.weight), dtype=np.uint64)] * 2, axis=1)
    if checks.instance("key", key, np.ndarray).dtype != np.uint64 or key.shape != (len(comparisons.weight), 2):
        raise InputError("key", key.shape, f"must be uint64 ({len(comparisons.weight)}, 2)")
    if len(np.unique(key, axis=0)) < len(key):
        raise InputError("key", len(key), "must differ between outcomes, because outcomes with equal keys are drawn together")
    return key


def cell_replicates(counts: MetPairs, *, seed: int, replicates: int) -> Iterator[MetPairs]:
    """Yield the tallies of `replicates` resamplings by pair, from tallies only.

    Each count is drawn from a Poisson distribution with the count as its mean. Correct only for outcomes of two sides and weight 1. With
    more sides the intervals are too narrow, by a factor of 1.6 for seven sides. Raises `InputError` if a count is not a whole number, as
    counts of outcomes of weight 1 are.
    """
    count, base = checks.count("replicates", replicates, low=1), checks.count("seed", seed, high=MOST_SEED)
    checks.instance("counts", counts, MetPairs)
    for name in ("won", "lost", "tied"):
        column = getattr(counts, name)
        if (bad := np.flatnonzero(column != np.floor(column))).size:
            raise InputError(f"{name}[{bad[0]}]", float(column[bad[0]]), "must be a whole number, as sums of outcomes of weight 1 are")
    return _cell_replicates(counts, base, count)


def replicate_weights(key: NDArray[np.uint64], *, seed: int, replicate: int) -> NDArray[np.int64]:
    """Draws from Poisson(1), int64 (outcomes,), which depend only on seed, replicate and key. key: uint64 (outcomes, 2).

    Raises `InputError`.
    """
    salt = np.array([checks.count("seed", seed, high=MOST_SEED), checks.count("replicate", replicate, high=MOST_SEED)], np.uint64)
    return np.asarray(_draw(np.ascontiguousarray(checked_key(key)), salt, _UPTO), np.int64)


def checked_key(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return `key` if it is uint64 (outcomes, 2). Raises `InputError`."""
    if checks.instance("key", key, np.ndarray).dtype != np.uint64 or key.ndim != 2 or key.shape[1] != 2:
        raise InputError("key", f"{key.dtype} {key.shape}", "must be uint64 (outcomes, 2)")
    return key


def _outcome_replicates(cells: PairCells, weight: Floats, key: NDArray[np.uint64], seed: int, count: int) -> Iterator[MetPairs]:
    for replicate in range(count):
        yield cells.counts(weight * replicate_weights(key, seed=seed, replicate=replicate))


def _cell_replicates(counts: MetPairs, seed: int, count: int) -> Iterator[MetPairs]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        won, lost, tied = (rng.poisson(column).astype(np.float64) for column in (counts.won, counts.lost, counts.tied))
        drawn = MetPairs(counts.m, counts.first, counts.second, won, lost, tied)
        yield drawn.only(drawn.games > 0)


def _ranks(ratings: Floats) -> NDArray[np.int64]:
    return np.stack([Ranking.from_scores(one).rank for one in ratings])


def _quantile(ratings: Floats, lacking: NDArray[np.bool_], share: float) -> Floats:
    """Quantile `share` of each agent's ratings (m,) over the replicates that rate it; NaN if none does.

    The k-th smallest of n ratings is the quantile k / (n + 1): one more replicate is below it with this probability (Hyndman and Fan 1996,
    definition 6). The usual definition, (k - 1) / (n - 1), makes 95 % intervals of 64 replicates hold one more replicate in 92 %.
    """
    quantiles = np.full(ratings.shape[1], np.nan)
    rated = ~lacking.all(axis=0)
    quantiles[rated] = np.nanquantile(ratings[:, rated], share, axis=0, method="weibull")
    return quantiles


def _deviation(ratings: Floats, lacking: NDArray[np.bool_]) -> Floats:
    deviations = np.full(ratings.shape[1], np.nan)
    rated = (~lacking).sum(axis=0) >= 2
    deviations[rated] = np.nanstd(ratings[:, rated], axis=0, ddof=1)
    return deviations


@kernel
def _draw(key: NDArray[np.uint64], salt: NDArray[np.uint64], upto: Floats) -> NDArray[np.int64]:
    weights = np.empty(len(key), np.int64)
    mixed = mix64(mix64(salt[0] + np.uint64(0x9E3779B97F4A7C15)) ^ salt[1])
    for i in range(len(key)):
        bits = mix64(mix64(key[i, 0] ^ mixed) ^ key[i, 1]) >> np.uint64(11)
        uniform = np.float64(bits) * 2.0**-53
        weight = 0
        while weight < len(upto) - 1 and uniform >= upto[weight]:
            weight += 1
        weights[i] = weight
    return weights
