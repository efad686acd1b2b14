"""The distribution of true ratings that makes measured ratings likeliest, of any shape or normal.

A measured rating is its true rating plus a normal error, and true ratings are draws from an unknown distribution. Of all distributions,
that of the largest likelihood is discrete with few atoms (Kiefer and Wolfowitz 1956; Lindsay 1983). Agents that the data cannot tell apart
share an atom, and groups of agents far from each other have atoms of their own. A normal distribution knows no groups, and takes no two
agents for equal.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.random import Generator

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Floats

_STEPS: Final = 300
"""Number of equal steps between the least and the largest rating at which atoms can be, in addition to the ratings themselves."""
_TOLERANCE: Final = 1e-4
_ITERATIONS: Final = 200
_HALVINGS: Final = 40
_VARIANCES: Final = 400
"""Number of variances of a normal distribution that are tried, in equal ratios."""
_LEAST_VARIANCE: Final = 1e-3
"""Smallest positive one of them, in mean variances of the errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A discrete distribution of true ratings.

    atoms: (k,), ascending; weights: (k,), positive, with sum 1; posterior: (m, k), probability that the agent has the atom;
    log_likelihood: of all ratings, without the constant of the normal density; gap: certificate: the mean log-likelihood of a rating is at
    most this much below that of any distribution on the same places. It is the largest directional derivative (Lindsay 1983, theorem 4.1).
    """

    atoms: Floats
    weights: Floats
    posterior: Floats
    log_likelihood: float
    gap: float

    def draws(self, rng: Generator, count: int) -> Floats:
        """True ratings (count, m), drawn from the posterior of each agent by itself."""
        upto, chance = np.cumsum(self.posterior, axis=1)[:, :-1], rng.random((count, len(self.posterior)))
        place = [np.searchsorted(own, chance[:, i]) for i, own in enumerate(upto)]  # agent by agent: no array of all draws and atoms
        return np.asarray(self.atoms[np.transpose(place)], np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """A normal distribution of true ratings.

    mean, variance: of true ratings; variance 0: all are equal; center, deviation: (m,), of the normal posterior of each agent;
    log_likelihood: of all ratings, without the constant of the normal density.
    """

    mean: float
    variance: float
    center: Floats
    deviation: Floats
    log_likelihood: float

    def draws(self, rng: Generator, count: int) -> Floats:
        """True ratings (count, m), drawn from the posterior of each agent by itself."""
        return np.asarray(self.center + self.deviation * rng.standard_normal((count, len(self.center))), np.float64)


def likeliest_normal(ratings: Floats, error: Floats) -> Normal:
    """Compute the normal distribution of true ratings that maximizes the likelihood of measured ratings, its variance to within 10 %.

    Arguments and errors are those of `likeliest_mixture`.
    """
    ratings, error = _measured(ratings, error)
    unit = float(np.exp(np.log(error).mean()))
    own, noise = (ratings - ratings[0]) / unit, error / unit
    variances = np.append(0.0, np.geomspace(_LEAST_VARIANCE, max(float(np.ptp(own)) ** 2, 2 * _LEAST_VARIANCE), _VARIANCES))
    total = noise**2 + variances[:, None]
    means = (own / total).sum(axis=1) / (1 / total).sum(axis=1)
    likelihoods = -0.5 * (np.log(total) + (own - means[:, None]) ** 2 / total).sum(axis=1) - len(own) * np.log(unit)
    best = int(np.argmax(likelihoods))
    kept = variances[best] / total[best]
    return Normal(
        mean=float(ratings[0] + unit * means[best]),
        variance=float(unit * variances[best] * unit),
        center=ratings[0] + unit * (means[best] + kept * (own - means[best])),
        deviation=unit * np.sqrt(kept) * noise,
        log_likelihood=float(likelihoods[best]),
    )


def likeliest_mixture(ratings: Floats, error: Floats) -> Mixture:
    """Compute the distribution of true ratings that maximizes the likelihood of measured ratings.

    Args:
        ratings: Measured ratings (m,), finite, one or more.
        error: Standard deviations of their errors (m,), > 0. The errors are taken as independent.

    Raises:
        InputError: An argument is out of range, or the shapes differ.
        SolverError: The certificate is above 1e-4 after 200 iterations.

    Source: the constrained Newton method of Wang 2007, Journal of the Royal Statistical Society B 69, on a grid with all ratings.
    """
    ratings, error = _measured(ratings, error)
    places = np.unique(np.concatenate([np.linspace(ratings.min(), ratings.max(), _STEPS + 1), ratings]))
    with np.errstate(over="ignore"):  # a density of 0 is right for a place that is infinitely many errors away
        likelihood = np.exp(-0.5 * ((ratings[:, None] - places) / error[:, None]) ** 2)  # at most 1, and 1 at the rating itself
    weights = np.isin(places, ratings) / len(np.unique(ratings))
    for _ in range(_ITERATIONS):
        slope = _slope(likelihood, weights)
        if slope.max() <= _TOLERANCE:
            break
        if (better := _step(likelihood, weights, slope)) is None:
            break
        weights = better
    gap = float(max(0.0, _slope(likelihood, weights).max()))
    kept = weights > 0
    joint = likelihood[:, kept] * weights[kept]
    density = joint.sum(axis=1, keepdims=True)
    total = float(np.log(density).sum() - np.log(error).sum())
    found = Mixture(atoms=places[kept], weights=weights[kept], posterior=joint / density, log_likelihood=total, gap=gap)
    if gap > _TOLERANCE:
        raise SolverError(f"the gap of the mean log-likelihood is {gap:.3g}, more than {_TOLERANCE:g}", found)
    return found


def _measured(ratings: Floats, error: Floats) -> tuple[Floats, Floats]:
    ratings, error = checks.finite("ratings", ratings), checks.finite("error", error)
    if ratings.ndim != 1 or not len(ratings):
        raise InputError("ratings", ratings.shape, "must have one axis, with one or more ratings")
    if error.shape != ratings.shape or not (error > 0).all():
        raise InputError("error", error, "must be a number above 0 for each rating")
    return ratings, error


def _slope(likelihood: Floats, weights: Floats) -> Floats:
    """Derivative of the mean log-likelihood from `weights` toward each place by itself; 0 at the best weights where they are positive."""
    return np.asarray((likelihood / (likelihood @ weights)[:, None]).mean(axis=0) - 1, np.float64)


def _step(likelihood: Floats, weights: Floats, slope: Floats) -> Floats | None:
    """Better weights on the present places and on local maxima of the slope; None if there is no better one that rounding shows.

    The quadratic model of the log-likelihood is least squares with weights of sum 1, and nonnegative least squares with one more row
    solves it up to a factor (Dax 1990).
    """
    peak = (slope > 0) & (slope >= np.append(-np.inf, slope[:-1])) & (slope >= np.append(slope[1:], -np.inf))
    chosen = np.flatnonzero(peak | (weights > 0))
    present = likelihood @ weights
    rows = np.vstack([likelihood[:, chosen] / present[:, None] - 2.0, np.ones(len(chosen))])
    try:
        solved = scipy.optimize.nnls(rows, np.append(np.zeros(len(present)), 1.0))[0]
    except RuntimeError:  # too many iterations; the certificate tells what the present weights are worth
        return None
    target = np.zeros_like(weights)
    target[chosen] = solved / solved.sum()
    share = 1.0
    for _ in range(_HALVINGS):
        moved = (1 - share) * weights + share * target
        ratio = likelihood @ moved / present
        if ratio.min() > 0 and np.log(ratio).sum() > 0:
            moved[moved < np.finfo(float).eps] = 0.0
            return np.asarray(moved / moved.sum(), np.float64)
        share /= 2
    return None
