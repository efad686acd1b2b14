"""Draws of true margins from their posterior, for credible intervals of discontinuous methods: lotteries, Copeland, Nash averages."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import scipy
from numpy.random import Generator

from ratings_core import checks
from ratings_core.batch.logistic import variance
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.margins.posterior import PosteriorMargins, shares
from ratings_core.solution import Floats

DRAWN_AGENTS: Final = 500
"""Largest number of agents: a draw has every pair."""


@dataclass(frozen=True, slots=True)
class MarginDraws:
    """The posterior of all margins of m agents, given kappa.

    Strengths are normally distributed around their fit, with the inverse curvature as covariance. In the curvature, n games of a pair count
    as n (1 + kappa) / (n + kappa) independent games, because of the variance of the Dirichlet-multinomial law. Given strengths, the
    probabilities of a pair are Dirichlet distributed with parameters counts + kappa times the prediction; with an infinite kappa they equal
    the prediction. Draws do not include the pessimism of the margins, because they estimate the true margins.

    margins: The posterior means. counts: The pairs that met. root: (m, m), a factor of the strengths' covariance.
    """

    margins: PosteriorMargins
    counts: MetPairs
    root: Floats

    @classmethod
    def of(cls, counts: MetPairs, margins: PosteriorMargins, prior: float) -> Self:
        """The posterior with the means `margins`.

        Args:
            counts: The pairs that were given to `posterior_margins`.
            margins: The result of `posterior_margins`.
            prior: The prior that was given to it.

        Raises:
            InputError: There are more than `DRAWN_AGENTS` agents, or an argument is of another type.
        """
        checks.instance("margins", margins, PosteriorMargins)
        prior = checks.number("prior", prior, above=0.0)
        if checks.instance("counts", counts, MetPairs).m != len(margins):
            raise InputError("counts", counts.m, f"must be for the {len(margins)} agents of margins")
        if counts.m > DRAWN_AGENTS:
            raise InputError("agents", counts.m, f"must be at most {DRAWN_AGENTS} to draw all margins; solve fewer agents (most_agents)")
        kappa = margins.kappa
        games = counts.games if np.isinf(kappa) else counts.games * (1 + kappa) / (counts.games + kappa)
        win, tie, loss = shares(margins.theta[counts.first] - margins.theta[counts.second], margins.nu)
        weights = games * (win + loss - (win - loss) ** 2) / 4 if np.isfinite(margins.nu) else 0.0 * tie
        curvature = np.zeros((counts.m, counts.m))
        curvature[counts.first, counts.second] = curvature[counts.second, counts.first] = -weights
        own = counts.per_agent(weights, weights) + prior * variance(margins.theta)
        curvature[np.arange(counts.m), np.arange(counts.m)] = own
        factor = scipy.linalg.cholesky(curvature, lower=True)
        return cls(margins, counts, np.asarray(scipy.linalg.solve_triangular(factor, np.eye(counts.m), lower=True, trans="T"), np.float64))

    def draw(self, rng: Generator) -> Floats:
        """One draw of the true margins of all pairs: antisymmetric (m, m). Raises `InputError` if `rng` is not a generator of numpy."""
        checks.instance("rng", rng, Generator)
        m = self.counts.m
        theta = self.margins.theta + self.root @ rng.standard_normal(m)
        first, second = np.triu_indices(m, 1)
        chance = shares(theta[first] - theta[second], self.margins.nu)
        if np.isfinite(self.margins.kappa):
            drawn = rng.standard_gamma(self.margins.kappa * chance + self._cells())
            chance = drawn / np.maximum(drawn.sum(axis=0), np.finfo(float).tiny)
        margins = np.zeros((m, m))
        margins[first, second] = chance[0] - chance[2]
        return margins - margins.T

    def _cells(self) -> Floats:
        """Wins, ties and losses of every pair (3, m (m - 1) / 2), in the order of `numpy.triu_indices`."""
        m, counts = self.counts.m, self.counts
        low, high = np.minimum(counts.first, counts.second), np.maximum(counts.first, counts.second)
        place = low * (2 * m - low - 1) // 2 + high - low - 1
        straight = counts.first < counts.second
        cells = np.zeros((3, m * (m - 1) // 2))
        cells[0, place], cells[1, place] = np.where(straight, counts.won, counts.lost), counts.tied
        cells[2, place] = np.where(straight, counts.lost, counts.won)
        return cells
