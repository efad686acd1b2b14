"""Intervals of ranks that hold together: with the probability asked for, they contain the true ranks of all agents at once.

A difference of ratings is sure if it is more than a critical number of its standard errors. The best rank of an agent is 1 plus the number
of agents surely above it. The worst rank is m minus the number of agents surely below it (Mogstad, Romano, Shaikh and Wilhelm 2024, Review
of Economic Studies, sec. 3). With their critical value, no order at all is wrong, which is more than intervals of ranks need. That of
`critical_value` is smaller where agents are spread. The functions differ in what is known of the errors: their covariance, their sizes, or
draws of the ratings.
"""

import math
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.analysis.critical_value import critical_value
from ratings_core.errors import InputError
from ratings_core.graphs import Labels
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Best and worst rank of each agent, int64 (m,)."""

PAIRED_AGENTS: Final = 1_000
"""Largest number of agents whose differences are compared pair by pair. Errors of differences are a dense matrix."""
_MOST_FREEDOM: Final = 2**53
_ROUNDING: Final = 1e-9
_LEAST_ERROR: Final = 1e-9
"""Smallest error of a difference, in largest ones. Differences of ratings with a common error are exact only to rounding."""


def simultaneous_ranks(
    theta: Floats, covariance: Floats, component: Labels | None = None, *, level: float = 0.95, freedom: int | None = None
) -> Ends:
    """Rank intervals that contain the true ranks of all agents together with probability `level`, from the covariance of the ratings.

    Equal true ratings share the better rank.

    Args:
        theta: Ratings (m,), NaN for agents without a rating, whose rank intervals include all ranks.
        covariance: Covariance of the ratings (m, m).
        component: Component of each agent (m,); agents of different components are not comparable. None: all are comparable.
        level: Probability.
        freedom: Degrees of freedom of the covariance; None: infinitely many.

    Returns:
        Best and worst rank of each agent, int64 (m,). The interval includes the rank by `theta`.

    Raises:
        InputError: An argument is out of range, or has another number of agents than `theta`.

    The critical value is that of `critical_value`. How often the intervals hold was found by simulation, for 95 %.
    """
    theta, level, freedom = _ratings(theta), _level(level), _freedom(freedom)
    m, rated = len(theta), np.flatnonzero(~np.isnan(theta))
    covariance = checks.finite("covariance", checks.square("covariance", covariance))
    label = _labels(component, m)
    if covariance.shape != (m, m):
        raise InputError("covariance", covariance.shape, f"must have a row and a column for each of the {m} agents of theta")
    above, below = np.zeros(m, np.int64), np.zeros(m, np.int64)
    above[rated], below[rated] = _surely(theta[rated], covariance[np.ix_(rated, rated)], label[rated], level, freedom)
    return _ends(theta, above=above, below=below)


def simultaneous_ranks_of_errors(
    theta: Floats, error: Floats, component: Labels | None = None, *, level: float = 0.95, freedom: int | None = None
) -> Ends:
    """As `simultaneous_ranks`, from the standard errors of the ratings, in O(m log m), however the errors depend on each other.

    All ratings get simultaneous intervals by Bonferroni's bound. Agents whose intervals do not overlap are surely in order, because the
    error of a difference is at most the sum of both errors. A covariance usually gives narrower intervals of ranks.

    Args:
        theta: Ratings (m,), NaN for agents without a rating, whose rank intervals include all ranks.
        error: Their standard errors (m,), >= 0; ignored for agents without a rating.
        component: As in `simultaneous_ranks`.
        level: Probability.
        freedom: Degrees of freedom of the errors; None: infinitely many.

    Returns:
        As `simultaneous_ranks`.

    Raises:
        InputError: An argument is out of range, or has another number of agents than `theta`.
    """
    theta, level, freedom = _ratings(theta), _level(level), _freedom(freedom)
    m, rated = len(theta), ~np.isnan(theta)
    label, error = _labels(component, m), checks.real("error", error)
    if error.shape != (m,) or not (np.isfinite(error[rated]) & (error[rated] >= 0)).all():
        raise InputError("error", error, f"must be a finite number of at least 0 for each of the {m} agents of theta")
    ids = np.flatnonzero(rated)
    reach = _quantile(1 - (1 - level) / (2 * max(1, len(ids))), freedom) * error
    above, below = np.zeros(m, np.int64), np.zeros(m, np.int64)
    order = ids[np.argsort(label[ids], kind="stable")]
    for group in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        low, high = theta[group] - reach[group], theta[group] + reach[group]
        above[group] = len(group) - np.searchsorted(np.sort(low), high, side="right")
        below[group] = np.searchsorted(np.sort(high), low, side="left")
    return _ends(theta, above=above, below=below)


def simultaneous_ranks_of_deviations(theta: Floats, deviations: Floats, *, level: float = 0.95, freedom: int | None = None) -> Ends:
    """As `simultaneous_ranks`, from deviations whose sum of outer products is the covariance of the ratings.

    Pairs are compared for up to `PAIRED_AGENTS` agents, and errors of single ratings for more (`simultaneous_ranks_of_errors`).

    Args:
        theta: Ratings (m,), NaN for agents without a rating, whose rank intervals include all ranks.
        deviations: (k, m); those of agents without a rating are ignored.
        level: Probability.
        freedom: Degrees of freedom of the covariance; None: infinitely many.

    Returns:
        As `simultaneous_ranks`.

    Raises:
        InputError: An argument is out of range, or has another number of agents than `theta`.
    """
    theta, deviations = _ratings(theta), checks.real("deviations", deviations)
    rated = ~np.isnan(theta)
    if deviations.ndim != 2 or deviations.shape[1:] != theta.shape or not np.isfinite(deviations[:, rated]).all():
        raise InputError("deviations", deviations, f"must be finite, with a column for each of the {len(theta)} agents of theta")
    own = np.where(rated, deviations, 0.0)
    own = np.where(rated, own - own.sum(axis=1, keepdims=True) / max(1, int(rated.sum())), 0.0)  # shifts of all ratings change no rank
    if len(theta) <= PAIRED_AGENTS:
        return simultaneous_ranks(theta, own.T @ own, level=level, freedom=freedom)
    return simultaneous_ranks_of_errors(theta, np.sqrt((own**2).sum(axis=0)), level=level, freedom=freedom)


def simultaneous_ranks_of_draws(
    draws: Floats,
    ranks: NDArray[np.int64],
    estimate: Floats | None = None,
    *,
    level: float = 0.95,
    units: int = 0,
    differences: bool = True,
) -> Ends:
    """As `simultaneous_ranks`, from draws of the ratings: refits to resampled data, or answers on draws from a posterior.

    The share `level` of the draws has all its ranks within the intervals. Draws alone miss true ranks of agents that are nearly equal:
    their order in the data is chance, and the draws follow the data. So the intervals also contain those from differences, whose errors are
    the deviations of the draws from the estimate (with the bias of resampling), with Student's quantile.

    Args:
        draws: Ratings of k draws (k, m), k >= 2, NaN for agents without a rating.
        ranks: Ranks of the draws, int64 (k, m).
        estimate: Ratings of the data (m,), NaN for agents without a rating; None for the means of the draws. An agent that the estimate or
            a draw does not rate may have any rank.
        level: Probability.
        units: Number of independent units of the data, if each draw takes as many of them with replacement; 0 for many. The variance of
            n drawn units is too small by the factor (n - 1)/n, and has n - 1 degrees of freedom.
        differences: Whether differences count. False for ratings that most agents share, such as 0 outside the support of a lottery: a
            single agent that sometimes enters the support would make all ranks uncertain.

    Returns:
        As `simultaneous_ranks`. Without differences, an interval can exclude the rank by the estimate.

    Raises:
        InputError: An argument is out of range, or has another number of agents than `draws`.
    """
    draws, ranks, level = checks.real("draws", draws), checks.integers("ranks", ranks), _level(level)
    if draws.ndim != 2 or len(draws) < 2 or not draws.shape[1] or np.isinf(draws).any():
        raise InputError("draws", draws, "must be finite or NaN, (draws, agents), with two or more draws, of one or more agents")
    if ranks.shape != draws.shape:
        raise InputError("ranks", ranks.shape, f"must have the shape of draws, {draws.shape}")
    if ranks.min() < 1 or ranks.max() > draws.shape[1]:
        raise InputError("ranks", ranks, f"must be from 1 to {draws.shape[1]}")
    theta = draws.mean(axis=0) if estimate is None else _ratings(estimate, "estimate")
    if theta.shape != draws.shape[1:]:
        raise InputError("estimate", theta.shape, f"must have a rating for each of the {draws.shape[1]} agents of draws")
    if checks.count("units", units, high=_MOST_FREEDOM) == 1:
        raise InputError("units", units, "must be 0, or at least 2")
    theta = np.where(np.isnan(draws).any(axis=0), np.nan, theta)
    low, high = _band(ranks, level)
    if differences:
        scale = math.sqrt((units / (units - 1) if units else 1.0) / (len(draws) - 1))
        freedom = min(len(draws), units or len(draws)) - 1
        first, last = simultaneous_ranks_of_deviations(theta, scale * (draws - theta), level=level, freedom=freedom)
        low, high = np.minimum(first, low), np.maximum(last, high)
    unrated = np.isnan(theta)
    return np.where(unrated, 1, low), np.where(unrated, len(theta), high)


def _band(ranks: NDArray[np.int64], level: float) -> Ends:
    """The narrowest band of order statistics, the same on both sides and for all agents, with the share `level` of the draws inside.

    Of n draws, at least (n + 1) times `level` are inside with all their ranks, as for the quantile k / (n + 1), and each agent has at most
    the share (1 - `level`)/2 on either side. ranks: int64 (n, m).

    Source: Besag, Green, Higdon and Mengersen 1995, Statistical Science 10, sec. 6.3.
    """
    n = len(ranks)
    ordered = np.sort(ranks, axis=0)
    upto, before = np.empty_like(ranks), np.empty_like(ranks)
    for i, column in enumerate(ordered.T):
        upto[:, i], before[:, i] = (np.searchsorted(column, ranks[:, i], side=side) for side in ("right", "left"))
    depth = np.sort(np.minimum(upto, n - before).min(axis=1))
    inside, tail = min(n, math.ceil(level * (n + 1))), math.ceil((1 - level) / 2 * n - _ROUNDING)
    kept = min(int(depth[n - inside]), tail)
    return ordered[kept - 1], ordered[n - kept]


def _ends(theta: Floats, above: NDArray[np.int64], below: NDArray[np.int64]) -> Ends:
    rank = Ranking.from_scores(theta).rank
    return np.minimum(1 + above, rank).astype(np.int64), np.maximum(len(theta) - below, rank).astype(np.int64)


def _level(level: float) -> float:
    return checks.number("level", level, above=0.0, high=1.0 - 1e-9)


def _freedom(freedom: int | None) -> int | None:
    return None if freedom is None else checks.count("freedom", freedom, low=1, high=_MOST_FREEDOM)


def _ratings(theta: Floats, argument: str = "theta") -> Floats:
    ratings = checks.real(argument, theta)
    if ratings.ndim != 1 or np.isinf(ratings).any():
        raise InputError(argument, ratings, "must be a finite number or NaN for each agent")
    return ratings


def _labels(component: Labels | None, m: int) -> Labels:
    label = np.zeros(m, np.int64) if component is None else checks.integers("component", component)
    if label.shape != (m,):
        raise InputError("component", label.shape, f"must have an entry for each of the {m} agents of theta")
    return label


def _quantile(share: float, freedom: int | None) -> float:
    """Quantile of the normal distribution, or of Student's with degrees of freedom."""
    return float(scipy.special.ndtri(share) if freedom is None else scipy.special.stdtrit(freedom, share))


def _surely(theta: Floats, covariance: Floats, component: Labels, level: float, freedom: int | None) -> Ends:
    """Number of agents surely above and surely below each agent, int64 (m,). All agents are rated."""
    compare = (component[:, None] == component) & ~np.eye(len(theta), dtype=bool)
    spread = covariance.diagonal()
    error = np.sqrt(np.maximum(spread[:, None] + spread - 2 * covariance, 0.0))
    error = np.where(compare, np.maximum(error, _LEAST_ERROR * error.max(initial=0.0)), np.inf)
    limit = np.full_like(error, np.inf)
    limit[compare] = critical_value(theta, covariance, error, component, level=level, freedom=freedom) * error[compare]
    gap = theta - theta[:, None]
    return (gap > limit).sum(axis=1), (-gap > limit).sum(axis=1)
