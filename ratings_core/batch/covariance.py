"""Covariance of pairwise logistic fits: the inverse curvature, and sums of scores by pair or by outcome for sandwich estimators.

The meat of a sandwich is the expected sum of the squared scores. Squared scores of few results, or of results that are nearly all wins or
all losses, estimate it badly: an agent that won all its games has scores near 0, as if its rating were certain. So squares that the model
expects replace a share of the actual ones, a large one for such agents (`model_share`), and the games of a prior count as results
(`prior_meat`).
"""

from typing import Any, Final

import numpy as np
import scipy

from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.logistic import Curvature, PairLikelihood, grounds_of, variance
from ratings_core.batch.pair_counts import Ids, MetPairs
from ratings_core.errors import SolverError
from ratings_core.graphs import Labels
from ratings_core.solution import Floats

_ROUNDING: Final = 1e-9
"""Least value of 1 minus a leverage: it is above 0, and smaller values are rounding."""
_FEW: Final = 0.5
"""Information about an agent with which actual and expected squared scores count alike: that of two games at even odds."""


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


def model_share(information: Floats, first: Ids, second: Ids) -> Floats:
    """Share of the squared scores of each comparison that the expected ones replace (n,), from 0 to 1.

    It is 1/2 for agents with two games at even odds, and 5 % for agents with 40 of them. Of an agent that won all of many games there is
    little information, too, because at its rating the results are nearly certain. The constant was found by simulation
    (`benchmarks.coverage`, kinds `newcomers` and `extremes`).

    Args:
        information: Of all games about each agent, given the other parameters (m,), >= 0.
        first: Agents of the comparisons (n,).
        second: The other agents (n,). The agent with less information decides.
    """
    return np.asarray(_FEW / (_FEW + np.minimum(information[first], information[second])), np.float64)


def prior_meat(theta: Floats, prior: float) -> Floats:
    """Sum of the expected outer products of the scores of the prior's games (m, m), given that the scores have the sum 0.

    Their results could have been others, like those of real games. This is the error that shrinkage causes, on average over true ratings
    that the prior describes. The middle of the scale is a convention, so the error of a common shift is left out.

    Args:
        theta: Ratings in logits (m,).
        prior: Games of each agent against an anchor whose rating is 0.
    """
    own = prior * variance(theta)
    return np.asarray(np.diag(own) - np.outer(own, own) / max(float(own.sum()), np.finfo(float).tiny), np.float64)


def pair_meat(counts: MetPairs, theta: Floats, inverse: Floats) -> Floats:
    """Sum of the outer products of game scores (m, m), each divided by `unfitted`, with the `model_share` of expected ones.

    inverse: inverse information of the fit (m, m).
    """
    expected = scipy.special.expit(theta[counts.first] - theta[counts.second])
    information = counts.games * expected * (1 - expected)
    share = model_share(counts.per_agent(information, information), counts.first, counts.second)
    squares = counts.won * (1 - expected) ** 2 + counts.lost * expected**2 + counts.tied * (0.5 - expected) ** 2
    squares /= unfitted(counts, expected * (1 - expected), inverse)
    mixed = np.asarray((1 - share) * squares + share * information, np.float64)
    return Curvature(counts, mixed, np.zeros(counts.m)).dense()


def outcome_meat(comparisons: Comparisons, component: Labels, theta: Floats) -> Floats:
    """Sum of the outer products of outcome scores (m, m), with the `model_share` of expected ones.

    The score of an outcome is the sum of the scores of its pairs. Pairs of agents of different components are ignored.
    """
    first, second, m = comparisons.first, comparisons.second, comparisons.m
    inside = component[first] == component[second]
    expected = scipy.special.expit(theta[first] - theta[second])
    information = np.where(inside, comparisons.weights * expected * (1 - expected), 0.0)
    known = np.asarray(np.bincount(first, information, m) + np.bincount(second, information, m), np.float64)
    share = model_share(known, first, second)
    residual = np.where(inside, np.sqrt(1 - share) * (comparisons.result - expected), 0.0)
    meat = np.asarray(outcome_scores(comparisons, residual)[1], np.float64)
    between = np.bincount(first * m + second, share * information, m * m).reshape(m, m)
    between += between.T
    return meat + np.diag(between.sum(axis=1)) - between


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
