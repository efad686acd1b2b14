"""The critical value of differences with which all intervals of ranks hold at once, by simulation.

With a critical value for the largest error among all differences, no order is found with the wrong sign, whatever the true ratings are. It
is needed only if all agents are equal. An interval of ranks fails later: with more agents found above an agent than truly are above it. So
data are simulated from true ratings as close to each other as the measured ones allow, and the critical value is the smallest one with
which all intervals hold in enough simulations.

The level is shared, as Berger and Boos 1994 (Journal of the American Statistical Association 89) do for unknown parameters: a fifth of what
may fail is for the estimate of the true ratings, whose errors are assumed larger than they are; four fifths are for the simulations.
"""

import math
from typing import Final

import numpy as np
import scipy
from numpy.random import Generator

from ratings_core.analysis.mixture import likeliest_mixture
from ratings_core.errors import SolverError
from ratings_core.graphs import Labels
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats

_SPREAD_SHARE: Final = 0.2
"""Share of 1 minus the level that the estimate of the true ratings takes."""
_DRAWS: Final = 1_000
_MANY_AGENTS: Final = 300
_FEWER_DRAWS: Final = 400
"""Number of simulations for more than `_MANY_AGENTS` agents. A simulation takes O(m^2)."""
_LEAST_BEYOND: Final = 10
"""Smallest number of simulations beyond the critical value. For higher levels, it is Bonferroni's."""


def critical_value(
    theta: Floats, covariance: Floats, error: Floats, component: Labels, *, level: float, freedom: int | None = None
) -> float:
    """Number of standard errors from which on a difference of ratings counts as sure, for intervals of ranks that hold at once.

    `simultaneous_ranks` checks the arguments.

    Args:
        theta: Ratings of comparable agents (m,), finite.
        covariance: Their covariance (m, m).
        error: Standard errors of all differences (m, m), infinite on the diagonal and between agents that are not comparable.
        component: Component of each agent (m,).
        level: Probability that all intervals hold.
        freedom: Degrees of freedom of the covariance; None: infinitely many. Student's quantile of the same probability then replaces the
            simulated value, and quantiles of F those of chi-squared.

    Returns:
        The critical value, at most that of Bonferroni's bound over all differences; infinite if no agents are comparable.
    """
    pairs = int(np.isfinite(error).sum()) // 2
    if not pairs:
        return math.inf
    bound = _quantile((1 - level) / (2 * pairs), freedom)
    count = _DRAWS if len(theta) <= _MANY_AGENTS else _FEWER_DRAWS
    beyond = math.floor((1 - _SPREAD_SHARE) * (1 - level) * (count + 1))
    if beyond < _LEAST_BEYOND:
        return bound
    rng = np.random.default_rng(0)
    truth = np.zeros((count, len(theta)))
    for label in np.unique(component):
        ids = np.flatnonzero(component == label)
        truth[:, ids] = _likely_truths(theta[ids], covariance[np.ix_(ids, ids)], _SPREAD_SHARE * (1 - level), freedom, rng, count)
    values, vectors = scipy.linalg.eigh(covariance)
    # The symmetric root: the signs of `vectors` can change with the last bit of the covariance.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    measured = truth + rng.standard_normal(truth.shape) @ root
    needed = np.sort(needed_values(truth, measured, error))
    return min(bound, _quantile(scipy.special.ndtr(-needed[count - beyond]), freedom))


def _quantile(tail: float, freedom: int | None) -> float:
    """Value that a normal variable, or one of Student's distribution, exceeds with the probability `tail`."""
    return float(-(scipy.special.ndtri(tail) if freedom is None else scipy.special.stdtrit(freedom, tail)))


def _likely_truths(theta: Floats, covariance: Floats, tail: float, freedom: int | None, rng: Generator, count: int) -> Floats:
    """Draws of the true ratings of one component (count, m). All are equal if nothing better is known.

    Errors count as larger than they are, by the factor that the variance of m equal ratings exceeds with the probability `tail`. So equal
    agents are taken for different ones with about this probability.
    """
    m = len(theta)
    spread = covariance.diagonal() - 2 * covariance.mean(axis=0) + covariance.mean()  # of ratings minus their mean
    if not np.isfinite(spread).all():  # it overflows
        return np.zeros((count, m))
    if m < 2 or spread.max() <= 0:
        return np.tile(theta, (count, 1))
    factor = scipy.special.chdtri(m - 1, tail) / (m - 1) if freedom is None else scipy.special.fdtri(m - 1, freedom, 1 - tail)
    deviation = np.sqrt(factor * np.maximum(spread, np.finfo(float).eps * spread.max()))
    try:
        return likeliest_mixture(theta, deviation).draws(rng, count)
    except SolverError:  # the mixture misses its tolerance, and equal agents need the largest critical value
        return np.zeros((count, m))


@kernel
def needed_values(truth: Floats, measured: Floats, error: Floats) -> Floats:
    """Smallest critical value of each simulation (count,) with which all intervals of ranks hold.

    Agents with the same true rating may have any order, so their intervals hold if they contain every rank of the group.

    truth, measured: true and measured ratings (count, m). error: standard errors of differences (m, m), infinite if not compared.
    """
    count, m = truth.shape
    needed, ratios = np.zeros(count), np.empty(m)
    for k in range(count):
        for i in range(m):
            above = below = surely_above = surely_below = 0
            for j in range(m):
                gap, true_gap, limit = measured[k, j] - measured[k, i], truth[k, j] - truth[k, i], needed[k] * error[i, j]
                compared = error[i, j] < np.inf
                above += compared & (true_gap > 0)
                below += compared & (true_gap < 0)
                surely_above += gap > limit
                surely_below += -gap > limit
            if surely_above > above or surely_below > below:
                _set_ratios(ratios, measured[k], error, i)
                if surely_above > above:
                    needed[k] = max(needed[k], ratios[m - 1 - above])
                if surely_below > below:
                    needed[k] = max(needed[k], -ratios[below])
    return needed


@kernel
def _set_ratios(ratios: Floats, measured: Floats, error: Floats, i: int) -> None:
    """Write the differences from agent i to all agents into `ratios`, in standard errors and ascending."""
    for j in range(len(ratios)):
        gap = measured[j] - measured[i]
        ratios[j] = gap / error[i, j] if gap != 0 else 0.0
    ratios.sort()
