"""Posterior margins: an estimate for every pair of agents from the pair's games and the strengths of both agents.

Prior of a pair: its probabilities of a win, a tie and a loss are Dirichlet distributed with total weight kappa and mean (w, t, l), the
prediction of Davidson's model for the two strengths (Bradley-Terry if there are no ties). The margin is the probability of a win minus the
probability of a loss. After `won`, `tied` and `lost` games, its posterior mean is

    M(a, b) = (won - lost + kappa (w - l)) / (games + kappa).

Pairs that never met get w - l; for pairs that met often, M is close to their results. M is antisymmetric and within -1..1. It is never
stored for all pairs: M = d(strength[a] - strength[b]) + correction[a, b], with a correction only at the pairs that met.

Kappa and the evidence of deviations come from decided games alone, around the Bradley-Terry strengths of these games: ties that do not
follow Davidson's model are no deviation from an order (docs/decisions/0095-evidence-from-decided-games.md).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.davidson import davidson
from ratings_core.batch.logistic import variance
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError
from ratings_core.margins.concentration import Cells, Concentration, concentration
from ratings_core.solution import Floats

DENSE_AGENTS: Final = 5_000
"""Largest number of agents with a dense matrix of margins, which takes 200 MB."""
PRIOR: Final = 1.0
"""Number of pseudo-games of each agent against an average agent, which keep strengths finite."""
_SAME: Final = 1e-8
"""In logits. Strengths closer than this to the next lower one become equal. The fit is exact to about 1e-9, and exact duplicates must get
the same margins to the last bit.
"""


@dataclass(frozen=True, slots=True)
class PosteriorMargins:
    """Margins between all pairs of m agents, without storing them.

    strength: float64 (m,), logits, minus the pessimism. theta: float64 (m,), the fitted strengths. spread: float64 (m,), posterior standard
    deviation of each strength given the others', in logits. nu: Davidson's tie parameter. kappa: number of games that the prediction counts
    for, may be infinite. concentration: the estimate of kappa with its evidence, computed also if kappa is given. correction: antisymmetric
    CSR (m, m), the difference that the games of a pair make to the prediction. pessimism: number of standard deviations that are subtracted
    from each strength.
    """

    strength: Floats
    theta: Floats
    spread: Floats
    nu: float
    kappa: float
    concentration: Concentration
    correction: checks.Sparse
    pessimism: float

    def __len__(self) -> int:
        """The number of agents."""
        return len(self.strength)

    def rows(self, agents: NDArray[np.int64]) -> Floats:
        """Margins of some agents over all agents (agents, m). agents: ids. Raises `InputError` for ids outside 0 to m - 1."""
        agents = self._known("agents", agents)
        return np.asarray(self.predicted(self.strength[agents][:, None] - self.strength) + self.correction[agents].toarray(), np.float64)

    def block(self, agents: NDArray[np.int64]) -> Floats:
        """Margins between some agents (agents, agents). agents: ids. Raises `InputError` for ids outside 0 to m - 1."""
        agents = self._known("agents", agents)
        own = self.strength[agents]
        return np.asarray(self.predicted(own[:, None] - own) + self.correction[agents][:, agents].toarray(), np.float64)

    def dense(self) -> Floats:
        """All margins (m, m). Raises `InputError` for more than `DENSE_AGENTS` agents."""
        if len(self) > DENSE_AGENTS:
            rule = f"must be at most {DENSE_AGENTS} to make posterior margins dense; solve fewer agents (most_agents), or maximal_lottery"
            raise InputError("agents", len(self), rule)
        return self.block(np.arange(len(self)))

    def preferred(self, agents: NDArray[np.int64], lottery: Floats) -> Floats:
        """Margin of a lottery over each agent, M'p (m,). agents: ids of its support; lottery: their probabilities."""
        total = np.asarray(self.correction[agents].T @ lottery, np.float64)
        for agent, share in zip(agents.tolist(), lottery.tolist(), strict=True):
            total += share * self.predicted(self.strength[agent] - self.strength)
        return total

    def win_less_loss(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Margins of some pairs (pairs,). first, second: ids. Raises `InputError` for ids outside 0 to m - 1."""
        first, second = self._known("first", first), self._known("second", second)
        if len(first) != len(second):
            raise InputError("second", len(second), f"must have the length of first, {len(first)}")
        if not len(first):
            return np.zeros(0)  # scipy returns no array for an empty list of pairs
        known: Floats = np.asarray(self.correction[first, second], np.float64).ravel()
        return self.predicted(self.strength[first] - self.strength[second]) + known

    def predicted(self, gap: Floats) -> Floats:
        """d(gap): probability of a win minus that of a loss at this difference of strengths, in logits. An odd, increasing function."""
        return win_less_loss(gap, self.nu)

    def _known(self, argument: str, agents: NDArray[np.int64]) -> NDArray[Any]:
        ids = checks.ids(argument, agents)
        if ids.ndim != 1 or (ids.size and not (ids.min() >= 0 and ids.max() < len(self))):
            raise InputError(argument, agents, f"must be ids from 0 to {len(self) - 1}, in one dimension")
        return ids


def posterior_margins(
    wins: Any, ties: Any = None, *, kappa: float | None = None, prior: float = PRIOR, pessimism: float = 0.0, restricted: bool = True
) -> PosteriorMargins:
    """Posterior mean margins under a Dirichlet prior centred on Davidson's model.

    Args:
        wins: (m, m), weight of the outcomes in which a beat b, dense or scipy sparse; or `MetPairs` in place of both.
        ties: (m, m), symmetric, weight of ties, or None.
        kappa: Number of games that the prediction counts for in every pair, > 0, may be infinite; None estimates it (`concentration`).
        prior: Number of pseudo-games of each agent against an average agent, > 0.
        pessimism: Number of posterior standard deviations that are subtracted from each strength, >= 0. With 0, margins are posterior
            means. Above 0, an agent with few games is rated by a lower credible bound, so that it is not elected for lack of evidence.
        restricted: True: estimate kappa by the likelihood integrated over the strengths. False: by the likelihood at the fitted strengths,
            which is biased upward in sparse pools, because fitted strengths absorb part of the deviations.

    Returns:
        The margins with kappa and its evidence.

    Raises:
        InputError: An argument is out of range, or the tallies are invalid.
        SolverError: The fit of strengths failed.

    Source: Dirichlet-multinomial conjugacy; Davidson 1970, eq. 2.3 for the prediction; docs/concepts/posterior-margins.md.
    """
    counts = pair_counts(wins, ties)
    prior, pessimism = checks.number("prior", prior, above=0.0), checks.number("pessimism", pessimism, low=0.0)
    checks.switch("restricted", restricted)
    if kappa is not None:
        kappa = checks.positive("kappa", kappa, "must be above 0 (infinity uses only the order), or None to estimate it")
    fit = davidson(counts, options=BradleyTerryOptions(prior=prior, scale=1.0, centre=0.0))
    theta = _same_where_equal(fit.ratings)
    spread = _spread(counts, theta, prior)
    estimate = _of_decided(counts, theta, spread, prior, restricted)
    weight = estimate.kappa if kappa is None else kappa
    strength = _same_where_equal(theta - pessimism * spread)
    correction = _correction(counts, strength, fit.nu, weight)
    return PosteriorMargins(strength, theta, spread, fit.nu, weight, estimate, correction, pessimism)


def win_less_loss(gap: Floats, nu: float) -> Floats:
    """Probability of a win minus that of a loss in Davidson's model: sinh(gap / 2) / (cosh(gap / 2) + nu / 2)."""
    if math.isinf(nu):
        return np.zeros_like(np.asarray(gap, np.float64))
    size = np.abs(gap)
    half = np.exp(-size / 2)
    return np.asarray(np.sign(gap) * -np.expm1(-size) / (1 + nu * half + half * half), np.float64)


def shares(gap: Floats, nu: float) -> Cells:
    """Probabilities of a win, a tie and a loss in Davidson's model at these differences of strengths (3, pairs)."""
    if math.isinf(nu):
        return np.stack([np.zeros_like(gap), np.ones_like(gap), np.zeros_like(gap)])
    half = np.exp(-np.abs(gap) / 2)
    total = 1 + nu * half + half * half
    better, worse = 1 / total, half * half / total
    return np.stack([np.where(gap >= 0, better, worse), nu * half / total, np.where(gap >= 0, worse, better)])


def _same_where_equal(theta: Floats) -> Floats:
    """Make strengths equal that differ by no more than the fit's rounding errors."""
    order = np.argsort(theta, kind="stable")
    ordered = theta[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > _SAME)
    same = np.empty_like(theta)
    same[order] = np.repeat(ordered[starts], np.diff(np.append(starts, len(theta))))
    return same


def _of_decided(counts: MetPairs, theta: Floats, spread: Floats, prior: float, restricted: bool) -> Concentration:
    """The estimate of kappa from decided games, around their own strengths. theta, spread: of all games, the same if none was tied."""
    met = decided = counts
    if counts.tied.any():
        met = counts.only(counts.won + counts.lost > 0)
        decided = replace(met, tied=np.zeros_like(met.tied))
        fit = bradley_terry(decided, options=BradleyTerryOptions(prior=prior, scale=1.0, centre=0.0))
        theta = _same_where_equal(fit.ratings)
        spread = _spread(decided, theta, prior)
    leverage = _leverage(decided, theta, spread) if restricted else None
    predicted = shares(theta[met.first] - theta[met.second], 0.0)[[0, 2]]
    return concentration(np.stack([met.won, met.tied, met.lost]), predicted, leverage, (met.first, met.second))


def _spread(counts: MetPairs, theta: Floats, prior: float) -> Floats:
    """Standard deviation of each strength given the others', from the curvature of the posterior; a tie counts as two half games."""
    weights = counts.games * variance(theta[counts.first] - theta[counts.second])
    return np.asarray(1 / np.sqrt(counts.per_agent(weights, weights) + prior * variance(theta)), np.float64)


def _leverage(counts: MetPairs, theta: Floats, spread: Floats) -> Floats:
    """Share of a strength that each pair determines, by the resistance 1 / d(a) + 1 / d(b) of a well-connected graph; sums to about m."""
    weights = counts.games * variance(theta[counts.first] - theta[counts.second])
    return np.asarray(np.minimum(weights * (spread[counts.first] ** 2 + spread[counts.second] ** 2), 1.0), np.float64)


def _correction(counts: MetPairs, strength: Floats, nu: float, kappa: float) -> checks.Sparse:
    """(won - lost - games d) / (games + kappa) at the pairs that met, antisymmetric."""
    gap = strength[counts.first] - strength[counts.second]
    value = (counts.won - counts.lost - counts.games * win_less_loss(gap, nu)) / (counts.games + kappa)
    rows, columns = np.concatenate([counts.first, counts.second]), np.concatenate([counts.second, counts.first])
    entries = np.concatenate([value, -value])
    return scipy.sparse.csr_array(scipy.sparse.coo_array((entries, (rows, columns)), shape=(counts.m, counts.m)))
