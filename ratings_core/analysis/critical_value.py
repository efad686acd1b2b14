"""The critical value of differences with which all intervals of ranks hold at once, from the posterior of the true ratings.

With a critical value for the largest error among all differences, no order is found with the wrong sign, whatever the true ratings are. It
is needed only if all agents are equal. An interval of ranks fails later: with more agents found above an agent than truly are above it. So
true ratings are drawn from their posterior, and the critical value is the smallest one with which the intervals contain all ranks of
enough draws. Agents that the data cannot tell apart are equal in the draws, and then no order among them counts as sure.

The prior is estimated from the same data (`priors`). It is normal if there are 100 ratings or more, they are spread over several errors,
and no other distribution explains them much better. Otherwise it is the likeliest distribution of any shape, as Gu and Koenker 2023
(Econometrica 91, "Invidious comparisons") rank by. Estimates follow chance in the data, so errors count as larger than they are. The
constants are found by simulation (`benchmarks.rank_priors`).
"""

import math
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.analysis.priors import likeliest_mixture, likeliest_normal
from ratings_core.errors import SolverError
from ratings_core.graphs import Labels
from ratings_core.solution import Floats

CAUTION: Final = 1.1
"""Factor by which errors count as larger in the posterior than they are."""
OUTSIDE: Final = 0.6
"""Factor of (1 - level). The product is the share of draws that may have a rank outside its interval: 3 % of them at the level 95 %."""
_SPREAD: Final = 3.0
"""Smallest deviation of a normal prior in errors. Groups of equal agents that are nearer than that look normal in the ratings."""
_GAIN: Final = 0.45
"""Log-likelihood for each error of the ratings' range by which the prior of any shape has to exceed the normal one. Where skills are
normal, chance exceeds it in 5 to 20 % of cases."""
_LEAST_NORMAL: Final = 100
"""Smallest number of agents with a normal prior. Ratings of fewer agents do not show whether they form groups."""
_PAIRS: Final = 8
"""Largest number of differences in the lower bound of the critical value. The bound is Bonferroni's over this number of differences, or
over one fewer than there are agents if that is less. It holds whatever the prior says."""
DRAWS: Final = 1_000
"""Number of draws of the true ratings from their posterior."""
_ROUNDING: Final = 1e-9
"""Share by which the critical value is larger than the largest difference that is not sure, so that rounding does not make it sure."""
_LEAST_OUTSIDE: Final = 5
"""Smallest number of draws that may have a rank outside its interval. At levels that allow fewer, the critical value is Bonferroni's."""
_LEAST_FREEDOM: Final = 4
"""Smallest number of degrees of freedom with which a prior is estimated. With fewer, errors are too uncertain for one."""


def critical_value(
    theta: Floats, covariance: Floats, error: Floats, component: Labels, *, level: float, freedom: int | None = None
) -> float:
    """Number of standard errors from which on a difference of ratings counts as sure, for intervals of ranks that hold at once.

    `simultaneous_ranks` checks the arguments. The order of the agents changes nothing.

    Args:
        theta: Ratings (m,), finite.
        covariance: Their covariance (m, m).
        error: Standard errors of all differences (m, m), infinite on the diagonal and between agents that are not comparable.
        component: Component of each agent (m,); agents of different components are not comparable.
        level: Probability that all intervals hold.
        freedom: Degrees of freedom of the covariance; None: infinitely many. Student's quantile of the same probability then replaces the
            normal value, and errors count as larger by the factor between both quantiles of a single difference.

    Returns:
        The critical value, at most Bonferroni's over all differences, and at least that over up to eight of them; infinite if no agents
        are comparable.
    """
    pairs = int(np.isfinite(error).sum()) // 2
    if not pairs:
        return math.inf
    single, bound = _quantile((1 - level) / 2, freedom), _quantile((1 - level) / (2 * pairs), freedom)
    outside = math.floor(OUTSIDE * (1 - level) * (DRAWS + 1))
    with np.errstate(over="ignore"):
        overflows = not np.isfinite(4 * np.abs(covariance).sum() + np.square(theta).sum())
    if outside < _LEAST_OUTSIDE or overflows or (freedom is not None and freedom < _LEAST_FREEDOM):
        return bound
    rng, caution = np.random.default_rng(0), CAUTION * single / _quantile((1 - level) / 2)
    needed = np.zeros(DRAWS)
    order = np.lexsort((covariance.diagonal(), theta))  # so that each agent has the same draws wherever it is listed
    for label in dict.fromkeys(component[order].tolist()):
        ids = order[component[order] == label]
        own = covariance[np.ix_(ids, ids)]
        variance = own.diagonal() - 2 * own.mean(axis=0) + own.mean()  # of ratings minus their mean
        if len(ids) > 1 and variance.max() > 0:
            deviation = np.sqrt(np.maximum(variance, np.finfo(float).eps * variance.max()))
            truth = _drawn_truths(theta[ids], caution * deviation, rng)
            needed = np.maximum(needed, needed_values(theta[ids], error[np.ix_(ids, ids)], truth))
    found = _quantile(scipy.special.ndtr(-np.sort(needed)[DRAWS - outside]), freedom)
    least = _quantile((1 - level) / (2 * max(1, min(_PAIRS, len(theta) - 1))), freedom)
    return min(bound, max((1 + _ROUNDING) * found, least))


def needed_values(theta: Floats, error: Floats, truth: Floats) -> Floats:
    """Smallest critical value with which all intervals of ranks hold, for each of k possible truths (k,).

    Agents with the same true rating may have any order, so their intervals hold if they contain every rank of the group.

    Args:
        theta: Ratings (m,).
        error: Standard errors of their differences (m, m), infinite on the diagonal.
        truth: True ratings (k, m).
    """
    m = len(theta)
    gap = theta - theta[:, None]
    with np.errstate(divide="ignore"):  # differences without an error are sure with any critical value
        ratio = np.sort(np.divide(gap, error, out=np.zeros_like(gap), where=gap != 0), axis=1)
    above, below, agents = _number_below(-truth), _number_below(truth), np.arange(m)
    needed = np.maximum(ratio[agents, m - 1 - above].max(axis=1), -ratio[agents, below].min(axis=1))
    return np.asarray(np.maximum(0.0, needed), np.float64)


def _number_below(truth: Floats) -> NDArray[np.int64]:
    """Number of agents strictly below each agent in each draw, int64 (k, m)."""
    order = np.argsort(truth, axis=1)
    ordered = np.take_along_axis(truth, order, axis=1)
    first = np.diff(ordered, axis=1, prepend=-np.inf) > 0  # of agents with equal ratings
    found = np.empty(truth.shape, np.int64)
    np.put_along_axis(found, order, np.maximum.accumulate(np.where(first, np.arange(truth.shape[1]), 0), axis=1), axis=1)
    return found


def _drawn_truths(theta: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
    """Draws of the true ratings of one component (draws, m). All are equal if the mixture misses its tolerance."""
    try:
        mixture = likeliest_mixture(theta, deviation)
    except SolverError:  # equal agents need the largest critical value
        return np.zeros((DRAWS, len(theta)))
    normal = likeliest_normal(theta, deviation)
    is_spread = len(theta) >= _LEAST_NORMAL and math.sqrt(normal.variance) >= _SPREAD * deviation.mean()
    is_normal = mixture.log_likelihood - normal.log_likelihood <= _GAIN * np.ptp(theta) / deviation.mean()
    return (normal if is_spread and is_normal else mixture).draws(rng, DRAWS)


def _quantile(tail: float, freedom: int | None = None) -> float:
    """Value that a normal variable, or one of Student's distribution, exceeds with the probability `tail`."""
    return float(-(scipy.special.ndtri(tail) if freedom is None else scipy.special.stdtrit(freedom, tail)))
