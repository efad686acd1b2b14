"""Covariance of pairwise logistic fits: the inverse curvature, and sums of scores by pair or by outcome for sandwich estimators."""

from typing import Any, Final

import numpy as np
import scipy

from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.logistic import Curvature, PairLikelihood, grounds_of
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import SolverError
from ratings_core.graphs import Labels
from ratings_core.solution import Floats

_ROUNDING: Final = 1e-9
"""Least value of 1 minus a leverage: it is above 0, and smaller values are rounding."""


def inverse_curvature(likelihood: PairLikelihood, theta: Floats, component: Labels) -> Floats:
    """Inverse of the curvature (m, m), or its pseudo-inverse if there is no prior.

    Without a prior, adding a constant to all ratings of a component leaves the likelihood unchanged. The pseudo-inverse is 0 in these
    directions.

    Raises `SolverError` if the curvature is numerically singular.
    """
    grounds = grounds_of(likelihood, component)
    try:
        factor = scipy.linalg.cho_factor(likelihood.curvature(theta).grounded(grounds), lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError as error:
        reason = "standard errors cannot be computed: the information matrix is numerically singular"
        raise SolverError(f"{reason}; set a prior, or standard_errors='none'") from error
    inverse = np.asarray(scipy.linalg.cho_solve(factor, np.eye(len(theta)), overwrite_b=True, check_finite=False), np.float64)
    if likelihood.prior > 0:
        return inverse
    inverse[grounds] = inverse[:, grounds] = 0.0
    return centred(inverse, component)


def centred(covariance: Floats, component: Labels) -> Floats:
    """Covariance (m, m) of the estimates after subtracting the mean of their component; 0 between different components."""
    size = np.bincount(component)
    mean = covariance.sum(axis=1) / size[component]
    grand_mean = (np.bincount(component, mean) / size)[component]
    return np.asarray(np.where(component[:, None] == component, covariance - mean[:, None] - mean + grand_mean[:, None], 0.0), np.float64)


def unfitted(counts: MetPairs, information: Floats, inverse: Floats) -> Floats:
    """1 minus the leverage of one game of each pair (pairs,), the derivative of its fitted result with respect to its result.

    A fit follows each result a little, so the expected square of a residual is the variance of the result times this share (MacKinnon and
    White 1985, HC2). information: of one game of each pair about the gap, other parameters given (pairs,); inverse: inverse information of
    the fit (m, m) or larger.
    """
    spread = inverse.diagonal()
    of_gap = spread[counts.first] + spread[counts.second] - 2 * inverse[counts.first, counts.second]
    return np.maximum(1 - information * of_gap, _ROUNDING)


def pair_meat(counts: MetPairs, theta: Floats, inverse: Floats) -> Floats:
    """Sum of the outer products of game scores (m, m), each divided by `unfitted`. inverse: inverse information of the fit (m, m)."""
    expected = scipy.special.expit(theta[counts.first] - theta[counts.second])
    squares = counts.won * (1 - expected) ** 2 + counts.lost * expected**2 + counts.tied * (0.5 - expected) ** 2
    squares /= unfitted(counts, expected * (1 - expected), inverse)
    return Curvature(counts, np.asarray(squares, np.float64), np.zeros(counts.m)).dense()


def outcome_meat(comparisons: Comparisons, component: Labels, theta: Floats) -> Floats:
    """Sum of the outer products of outcome scores (m, m). The score of an outcome is the sum of the scores of its pairs.

    Pairs of agents of different components are ignored.
    """
    inside = component[comparisons.first] == component[comparisons.second]
    residual = comparisons.result - scipy.special.expit(theta[comparisons.first] - theta[comparisons.second])
    return np.asarray(outcome_scores(comparisons, np.where(inside, residual, 0.0))[1], np.float64)


def outcome_scores(comparisons: Comparisons, residual: Floats, features: Floats | None = None) -> tuple[Any, Floats]:
    """Scores of outcomes, sparse (outcomes, m + k), and the weighted sum of their outer products (m + k, m + k).

    residual: (n,), actual minus expected result of each comparison; features: (n, k) or None. An outcome of weight w counts as w equal
    outcomes in the sum.
    """
    n, k = len(comparisons), 0 if features is None else features.shape[1]
    rows = np.concatenate([comparisons.outcome] * (2 + k))
    columns = np.concatenate([comparisons.first, comparisons.second, *(np.full(n, comparisons.m + f) for f in range(k))])
    values = np.concatenate([residual, -residual, *([] if features is None else [residual * one for one in features.T])])
    shape = (len(comparisons.weight), comparisons.m + k)
    scores = scipy.sparse.csr_array(scipy.sparse.coo_array((values, (rows, columns)), shape=shape))
    weighted = scipy.sparse.csr_array(scores.multiply(comparisons.weight[:, None]))
    return scores, np.asarray((scores.T @ weighted).todense(), np.float64)
