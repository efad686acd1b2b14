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
"""Points of the first agent of a pair: it won, lost, tied. The order of rows of `OutcomeInfluence.on_difference`."""
_MOST_LEVERAGE: Final = 1 - 1e-9


class OutcomeInfluence:
    """Influence of each outcome on differences of ratings, from one fit.

    Args:
        counts: Results of pairs.
        prior: Pseudo-games of each agent against an anchor, > 0. They keep the fit finite for all data.

    Raises:
        InputError: The prior is not positive.
        SolverError: The fit did not reach its accuracy.
    """

    def __init__(self, counts: MetPairs, *, prior: float) -> None:
        options = BradleyTerryOptions(prior=checks.number("prior", prior, above=0.0), scale=1.0, centre=0.0)
        self._counts, self._fit, self._likelihood = counts, bradley_terry(counts, options=options), PairLikelihood(counts, prior)
        self._gap = self._likelihood.gaps(self._fit.ratings)
        self._inverse = inverse_curvature(self._likelihood, self._fit.ratings, self._fit.component) if counts.m <= DENSE_UP_TO else None

    def on_difference(self, ahead: int, behind: int) -> Floats:
        """Estimate how removing one outcome changes theta[ahead] - theta[behind], in logits.

        Returns:
            (3, pairs): without one outcome that the first agent of the pair won, lost, tied; 0 for results that the pair does not have.

        Raises:
            InputError: An id is unknown.
        """
        for argument, agent in (("ahead", ahead), ("behind", behind)):
            if checks.count(argument, agent) >= self._counts.m:
                raise InputError(argument, agent, f"must be an agent's id, 0 to {self._counts.m - 1}")
        contrast = np.zeros(self._counts.m)
        contrast[ahead] += 1
        contrast[behind] -= 1
        first, second = self._counts.first, self._counts.second
        moved = self._solved(contrast)
        pull = (moved[first] - moved[second]) / (1 - self._leverage())
        there = np.stack([self._counts.won, self._counts.lost, self._counts.tied]) > 0
        change = -pull * (np.array(RESULTS)[:, None] - scipy.special.expit(self._gap))
        return np.where(there, change, 0.0)

    def difference(self, ahead: int, behind: int) -> float:
        """theta[ahead] - theta[behind] of the fit, in logits."""
        return float(self._fit.ratings[ahead] - self._fit.ratings[behind])

    def _solved(self, contrast: Floats) -> Floats:
        if self._inverse is not None:
            return np.asarray(self._inverse @ contrast, np.float64)
        return solver(self._likelihood, self._fit.component)(self._likelihood.curvature(self._fit.ratings), contrast)

    def _leverage(self) -> Floats:
        """Leverage of one outcome of each pair (pairs,); 0 for more agents than a dense inverse takes, where it is small."""
        if self._inverse is None:
            return np.zeros(len(self._gap))
        first, second, own = self._counts.first, self._counts.second, self._inverse.diagonal()
        spread = own[first] + own[second] - 2 * self._inverse[first, second]
        return np.asarray(np.minimum(variance(self._gap) * spread, _MOST_LEVERAGE), np.float64)
