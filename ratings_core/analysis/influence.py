"""Influence of single outcomes on a difference of Bradley-Terry ratings: what one step of Newton's method says of a fit without them.

Removing an outcome with score s = (result - expected) (e_i - e_j) moves the ratings by about -H^-1 s / (1 - h), where H is the curvature
of the fit and h the leverage of the outcome (Pregibon 1981). Outcomes in the order of their influence are a good proposal of the fewest
outcomes that change a rank (Broderick, Giordano and Meager 2020; Huang et al. 2025, for Bradley-Terry ratings). It is a proposal: callers
verify it by a fit without these outcomes.
"""

from typing import Final

import numpy as np
import scipy

from ratings_core import checks
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.covariance import inverse_curvature
from ratings_core.batch.logistic import DENSE_UP_TO, PairLikelihood, solver, variance
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.solution import Floats

RESULTS: Final = (1.0, 0.0, 0.5)
"""Points of the first agent of a pair: it won, lost, tied. The order of rows of `influence`."""
_MOST_LEVERAGE: Final = 1 - 1e-9


def influence(counts: MetPairs, ahead: int, behind: int, *, prior: float) -> tuple[Floats, float]:
    """Estimate how removing one outcome changes the difference of two ratings.

    Args:
        counts: Results of pairs.
        ahead: Id of an agent.
        behind: Id of another agent.
        prior: Pseudo-games of each agent against an anchor, > 0. They keep the fit finite for all data.

    Returns:
        Estimated change of theta[ahead] - theta[behind], in logits, (3, pairs): without one outcome that the first agent of the pair won,
        lost, tied; 0 for results that the pair does not have. And the difference now.

    Raises:
        InputError: An id is unknown, or the prior is not positive.
        SolverError: The fit did not reach its accuracy.
    """
    for argument, agent in (("ahead", ahead), ("behind", behind)):
        if checks.count(argument, agent) >= counts.m:
            raise InputError(argument, agent, f"must be an agent's id, 0 to {counts.m - 1}")
    fit = bradley_terry(counts, options=BradleyTerryOptions(prior=checks.number("prior", prior, above=0.0), scale=1.0, centre=0.0))
    theta, likelihood = fit.ratings, PairLikelihood(counts, prior)
    contrast = np.zeros(counts.m)
    contrast[ahead] += 1
    contrast[behind] -= 1
    gap = likelihood.gaps(theta)
    if counts.m <= DENSE_UP_TO:
        inverse = inverse_curvature(likelihood, theta, fit.component)
        moved = inverse @ contrast
        own = inverse.diagonal()
        spread = own[counts.first] + own[counts.second] - 2 * inverse[counts.first, counts.second]
        leverage = np.minimum(variance(gap) * spread, _MOST_LEVERAGE)
    else:
        moved = solver(likelihood, fit.component)(likelihood.curvature(theta), contrast)
        leverage = np.zeros(len(gap))
    pull = (moved[counts.first] - moved[counts.second]) / (1 - leverage)
    expected = scipy.special.expit(gap)
    there = np.stack([counts.won, counts.lost, counts.tied]) > 0
    change = -pull * (np.array(RESULTS)[:, None] - expected)
    return np.where(there, change, 0.0), float(theta[ahead] - theta[behind])
