"""Kappa: how closely the results of pairs follow the probabilities that an order of strength predicts.

Only decided games count: games that one of the two agents won. Given that a game is decided, a win of each pair has a probability with a
Beta distribution around `predicted`, so the wins of a pair follow the beta-binomial law. This holds for whatever number of ties a pair has,
and so ties that follow no model are not taken for deviations from the order. The kappa of largest likelihood over all pairs is the
estimate, if its 95 % interval excludes an infinite kappa; otherwise the estimate is infinite. A small kappa means that pairs deviate from
any order (cycles); an infinite kappa means that the order explains all decided games.
"""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.solution import Floats

Ids: TypeAlias = NDArray[np.int64]
Cells: TypeAlias = NDArray[np.float64]
"""float64 (2, pairs) or (3, pairs): a number each for wins, (ties,) and losses of the first agent of each pair."""
LEAST: Final = 0.01
"""Smallest kappa considered, in decided games: the prediction then counts for a hundredth of a game."""
LARGEST: Final = 1e5
"""In decided games. Larger values of kappa are reported as infinite: a margin then differs from the order's by less than the games of the
pair over 1e5.
"""
_GRID: Final = 29
"""Number of points between `LEAST` and `LARGEST`, a factor of 1.8 apart. The best point is the start of Brent's method."""
_DROP: Final = 3.841458820694124 / 2
"""Drop in nats below the maximum at the ends of a 95 % likelihood interval: half of the 0.95 quantile of chi-squared with one degree.

If pairs depend on each other, the drop is multiplied by `Concentration.dependence`. An estimate with less evidence than the drop counts as
infinite, because its interval does not exclude an order.
"""


@dataclass(frozen=True, slots=True)
class Concentration:
    """How strongly pairs deviate from the order.

    kappa: Number of games, ties included, that the order's prediction counts for in every pair; infinite if its interval reaches infinity.
    low, high: Ends of the 95 % likelihood interval of kappa; high is infinite if the data do not exclude an order, low is 0 if they do not
        exclude any deviation down to `LEAST`.
    evidence: Log likelihood of the likeliest kappa minus that of an infinite kappa, in nats, at least 0.
    p_value: Probability of at least this evidence if the pool has no deviations (half of a chi-squared tail: kappa lies on the boundary).
    pairs: Number of pairs with more than one decided game. A single game carries no information, because its likelihood does not depend on
        kappa.
    dependence: Variance of the score over its variance for pairs that deviate independently, at least 1. Copies of an agent raise it,
        because they deviate alike against each other agent. Interval and p-value take it into account.
    """

    kappa: float
    low: float
    high: float
    evidence: float
    p_value: float
    pairs: int
    dependence: float = 1.0


def concentration(counts: Cells, predicted: Cells, leverage: Floats | None = None, agents: tuple[Ids, Ids] | None = None) -> Concentration:
    """Estimate kappa by maximum marginal likelihood of the decided games.

    Ties do not enter the likelihood, so evidence and p-value do not depend on them. They set the unit of kappa only: it is found in decided
    games and returned in games (`_games_per_decided`).

    Strengths that are fitted to the same games follow the results, so deviations look smaller than they are. With `leverage` the
    likelihood is integrated over the strengths (Laplace's approximation): their information in a pair of n games is proportional to
    n (kappa + 1) / (kappa + n), so half of leverage * ln((kappa + n) / (kappa + 1)) is added for each pair.

    Args:
        counts: Weight of wins, ties and losses of the first agent of each pair (3, pairs).
        predicted: Probabilities of a win and of a loss in a decided game under the order (2, pairs), columns sum to 1. A cell of
            probability 0 must have no weight.
        leverage: Strengths that each pair determines (pairs,), from 0 to 1; None if the predictions are not fitted to these games.
        agents: First and second agent of each pair, ids from 0; None if pairs deviate independently.

    Returns:
        The estimate with its evidence and interval. Without a pair of more than one decided game, kappa is infinite with interval (0, inf).

    Source: Patterson and Thompson 1971 for the loss of degrees of freedom (restricted likelihood); Aronow, Samii and Assenova 2015 for the
    variance of sums over pairs that share an agent; Rotnitzky and Jewell 1990 for the likelihood ratio divided by it.
    """
    decided = counts[[0, 2]]
    informative = decided.sum(axis=0) > 1
    fitted = np.zeros(counts.shape[1]) if leverage is None else leverage
    likelihood = _Likelihood(decided[:, informative], predicted[:, informative], fitted[informative])
    pairs = int(informative.sum())
    if not pairs:
        return Concentration(math.inf, 0.0, math.inf, 0.0, 1.0, 0)
    unit = _games_per_decided(counts)
    grid = np.linspace(math.log(LEAST), math.log(LARGEST), _GRID)
    values = np.array([likelihood(x) for x in grid])
    best = int(np.argmax(values))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    refined = scipy.optimize.minimize_scalar(lambda x: -likelihood(x), bounds=ends, method="bounded", options={"xatol": 1e-6})
    peak, at = (float(-refined.fun), float(refined.x)) if -refined.fun > values[best] else (float(values[best]), float(grid[best]))
    inside = peak > 0 and math.exp(at) < LARGEST * 0.99
    evidence = peak if inside else 0.0
    dependence = 1.0
    if inside and agents is not None:
        dependence = _dependence(likelihood.scores(at), agents[0][informative], agents[1][informative])
    drop = _DROP * dependence
    low, high = _interval(likelihood, grid, values, evidence - drop, at if inside else math.inf)
    p_value = float(scipy.special.erfc(math.sqrt(evidence / dependence)) / 2) if inside else 1.0
    kappa = math.exp(at) * unit if evidence > drop else math.inf
    return Concentration(kappa, low * unit, high * unit, evidence, p_value, pairs, dependence)


def _games_per_decided(counts: Cells) -> float:
    """Games for each decided game: the other games of a decided game's pair over the other decided ones, as sums over all decided games.

    The decided game itself is left out of both sums. It was chosen because it was decided, so counting it would find too few ties. A pair
    has the weight of its decided games. Exactly 1 without ties. Games that lost weight with time count less than the 1 that is left out, so
    the result is then too large: by a fifth if half of 20 games of a pair are tied and the weight halves every second game.
    """
    decided = counts[[0, 2]].sum(axis=0)
    others, decided_others = np.maximum(counts.sum(axis=0) - 1, 0.0), np.maximum(decided - 1, 0.0)
    return float(decided @ others / (decided @ decided_others))


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """Log marginal likelihood as a function of log kappa, minus its value at an infinite kappa."""

    counts: Cells
    predicted: Cells
    leverage: Floats

    def __call__(self, log_kappa: float) -> float:
        kappa, possible = math.exp(log_kappa), self.predicted > 0
        shape, weight = kappa * self.predicted[possible], self.counts[possible]
        cells = scipy.special.gammaln(shape + weight) - scipy.special.gammaln(shape) - weight * np.log(self.predicted[possible])
        games = self.counts.sum(axis=0)
        strengths = self.leverage @ np.log((kappa + games) / (kappa + 1)) / 2
        return float(cells.sum() + (scipy.special.gammaln(kappa) - scipy.special.gammaln(kappa + games)).sum() + strengths)

    def scores(self, log_kappa: float) -> Floats:
        """Derivative of each pair's log likelihood with respect to log kappa (pairs,)."""
        kappa, games = math.exp(log_kappa), self.counts.sum(axis=0)
        shape = np.where(self.predicted > 0, kappa * self.predicted, 1.0)
        cells = self.predicted * (scipy.special.digamma(shape + self.counts) - scipy.special.digamma(shape))
        strengths = self.leverage / 2 * (1 / (kappa + games) - 1 / (kappa + 1))
        return np.asarray(
            kappa * (cells.sum(axis=0) + scipy.special.digamma(kappa) - scipy.special.digamma(kappa + games) + strengths), np.float64
        )


def _dependence(scores: Floats, first: Ids, second: Ids) -> float:
    """Variance of the sum of scores over that of independent scores, at least 1. Scores of pairs that share an agent may correlate."""
    total = np.bincount(first, scores, int(max(first.max(), second.max())) + 1)
    total += np.bincount(second, scores, len(total))
    own = float(scores @ scores)
    return max(1.0, float(total @ total) / own - 1) if own else 1.0


def _interval(likelihood: _Likelihood, grid: Floats, values: Floats, level: float, at: float) -> tuple[float, float]:
    """Values of kappa where the likelihood falls to `level` on both sides of `at` (log kappa, infinite for an infinite kappa)."""
    below, above = np.flatnonzero((grid < at) & (values < level)), np.flatnonzero((grid > at) & (values < level))
    low, high = 0.0, math.inf

    def excess(x: float) -> float:
        return likelihood(x) - level

    if below.size:
        last = int(below[-1])
        low = math.exp(scipy.optimize.brentq(excess, grid[last], min(grid[min(last + 1, len(grid) - 1)], at)))
    if above.size:
        first = int(above[0])
        high = math.exp(scipy.optimize.brentq(excess, max(at, grid[first - 1]), grid[first]))
    return low, high
