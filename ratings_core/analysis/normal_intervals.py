"""Normal intervals of Bradley-Terry and Davidson ratings from the sandwich covariance.

At a nominal 95 %, percentiles of refits cover 90 to 91 %, because the bias of the fit occurs twice in a resampled fit. The sandwich covers
94.5 to 96.5 % for 10 to 1,000 games per pair (`benchmarks.coverage`), even if results deviate from the model, and needs no refit.
Agents with few games, or with nothing but wins or losses, need more than the scores of their games: `ratings_core.batch.covariance`.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import scipy

from ratings_core import checks
from ratings_core.analysis.intervals import Intervals
from ratings_core.analysis.rank_intervals import PAIRED_AGENTS, simultaneous_ranks
from ratings_core.batch.bradley_terry import comparable, components_of, inside
from ratings_core.batch.covariance import centred, model_share, prior_meat, unfitted
from ratings_core.batch.logistic import PairLikelihood, grounds_of, variance
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError, SolverError
from ratings_core.graphs import Labels
from ratings_core.margins.posterior import shares
from ratings_core.solution import Floats

NORMAL_AGENTS: Final = PAIRED_AGENTS
"""Largest number of agents, because the covariance is dense."""


def normal_intervals(
    counts: MetPairs,
    theta: Floats,
    *,
    nu: float | None = None,
    prior: float = 0.0,
    groups: Sequence[MetPairs] = (),
    level: float = 0.95,
) -> Intervals:
    """Intervals of ratings in logits, and of ranks, which hold together.

    Args:
        counts: Pairs of m agents.
        theta: The fitted ratings (m,), in logits, NaN for agents without one.
        nu: Tie parameter of Davidson's model; None for Bradley-Terry, where a tie is half a win.
        prior: Pseudo-games of each agent against an anchor, as in the fit.
        groups: The same games in two or more random groups; needed if games have more than two sides or weights. Empty: games are
            independent and have weight 1.
        level: Coverage of each rating's interval, and of all rank intervals together.

    Returns:
        The intervals; `error` is the standard error, `replicates` the number of groups. An agent without a rating has no interval, and
        its rank interval includes all ranks. Of agents that are not `comparable`, either may be above the other.

    Raises:
        InputError: An argument is out of range.
        SolverError: The information is singular to rounding.

    Source: White 1982 (sandwich); MacKinnon and White 1985 (HC2); Davidson 1970, eq. 2.6; ranks: `rank_intervals`.
    """
    level, prior = _level(level), checks.number("prior", prior, low=0.0)
    if checks.instance("counts", counts, MetPairs).m > NORMAL_AGENTS:
        raise InputError("counts", counts.m, f"must have at most {NORMAL_AGENTS} agents")
    theta = _ratings(theta, counts.m)
    nu = nu if nu is None or _infinite(nu) else checks.number("nu", nu, low=0.0)
    _check_groups(groups, counts.m)
    component = components_of(counts, prior)
    covariance = _covariance(counts, np.where(np.isnan(theta), 0.0, theta), nu, prior, component, groups)
    error = np.where(np.isnan(theta), np.nan, np.sqrt(np.maximum(covariance.diagonal(), 0.0)))
    tail = 1 - (1 - level) / 2
    reach = (float(scipy.special.stdtrit(len(groups) - 1, tail)) if groups else float(scipy.special.ndtri(tail))) * error
    freedom = len(groups) - 1 if groups else None
    first, last = simultaneous_ranks(theta, covariance, comparable(counts, prior), level=level, freedom=freedom)
    return Intervals(
        low=theta - reach, high=theta + reach, rank_low=first, rank_high=last, error=error,
        unrated=np.isnan(theta).astype(np.float64), level=level, replicates=len(groups),
    )  # fmt: skip


def _level(level: float) -> float:
    return checks.number("level", level, above=0.0, high=1.0 - 1e-9)


def _ratings(theta: Floats, m: int) -> Floats:
    ratings = checks.real("theta", theta)
    if ratings.shape != (m,) or np.isinf(ratings).any():
        raise InputError("theta", ratings, f"must be a finite number or NaN for each agent of {m}")
    return ratings


def _infinite(nu: Any) -> bool:
    return isinstance(nu, float) and nu == math.inf


def _check_groups(groups: Any, m: int) -> None:
    if isinstance(groups, np.ndarray) or len(checks.sequence("groups", groups)) == 1:
        raise InputError("groups", groups, "must be a list of two or more, or none")
    for i, group in enumerate(groups):
        if checks.instance(f"groups[{i}]", group, MetPairs).m != m:
            raise InputError(f"groups[{i}]", group.m, f"must be for the same {m} agents as counts")


def _covariance(counts: MetPairs, theta: Floats, nu: float | None, prior: float, component: Labels, groups: Sequence[MetPairs]) -> Floats:
    """Sandwich covariance in logits squared (m, m): of theta with a prior, else of theta minus its component's mean."""
    within, m = inside(counts, component), counts.m
    ties = nu is not None and 0 < nu < math.inf
    model = _Scores(m, nu if ties else None)
    bread, held = model.information(within, theta), [] if prior else grounds_of(PairLikelihood(within, prior), component).tolist()
    known = bread.diagonal()[:m].copy()
    bread[np.arange(m), np.arange(m)] += prior * variance(theta)
    bread[held] = bread[:, held] = 0.0
    bread[held, held] = 1.0
    try:
        inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(bread), np.eye(len(bread)))
    except scipy.linalg.LinAlgError as error:
        raise SolverError("intervals cannot be computed: the information matrix is numerically singular; set a prior") from error
    inverse[held] = inverse[:, held] = 0.0
    share = model_share(known, within.first, within.second)
    meat = model.information(within.times(share), theta)
    meat[:m, :m] += prior_meat(theta, prior)
    if groups:
        parts = (inside(group, component) for group in groups)
        sums = np.array([model.total(part.times(np.sqrt(1 - model_share(known, part.first, part.second))), theta) for part in parts])
        meat += len(groups) / (len(groups) - 1) * (sums - sums.mean(axis=0)).T @ (sums - sums.mean(axis=0))
    else:
        meat += model.squares(within.times(1 - share), theta, inverse)
    covariance = np.asarray((inverse @ meat @ inverse)[:m, :m], np.float64)
    return covariance if prior else centred(covariance, component)


class _Scores:
    """Scores (derivatives of the log-likelihood) of games: by theta (m,), then by log nu if the model has a tie parameter."""

    def __init__(self, m: int, nu: float | None) -> None:
        self._m, self._nu = m, nu

    def information(self, counts: MetPairs, theta: Floats) -> Floats:
        """Expected second derivatives of the negative log-likelihood, dense (m, m) or (m + 1, m + 1)."""
        win, tie, _ = self._shares(counts, theta)
        points, games = win + tie / 2, counts.games
        own, border = win + tie / 4 - points**2, tie / 2 - points * tie
        return self._outer(counts, games * own, games * border, games * tie * (1 - tie))

    def squares(self, counts: MetPairs, theta: Floats, inverse: Floats) -> Floats:
        """Sum over games of the outer products of their scores, dense (m, m) or (m + 1, m + 1). inverse: inverse information of the fit.

        The squared scores of theta are divided by `unfitted`. That of log nu is not, because no single game decides nu.
        """
        win, tie, _ = self._shares(counts, theta)
        points = win + tie / 2
        result = ((counts.won, 1.0, 0.0), (counts.tied, 0.5, 1.0), (counts.lost, 0.0, 0.0))
        own = sum(number * (score - points) ** 2 for number, score, _ in result)
        border = sum(number * (score - points) * (tied - tie) for number, score, tied in result)
        corner = sum(number * (tied - tie) ** 2 for number, _, tied in result)
        of_both, of_tie = tie / 2 - points * tie, tie * (1 - tie)
        given_nu = win + tie / 4 - points**2 - np.divide(of_both**2, of_tie, out=np.zeros_like(tie), where=of_tie > 0)
        kept = unfitted(counts, given_nu, inverse)
        return self._outer(counts, own / kept, border / np.sqrt(kept), corner)

    def total(self, counts: MetPairs, theta: Floats) -> Floats:
        """Sum of the scores of all games (m,) or (m + 1,)."""
        win, tie, _ = self._shares(counts, theta)
        surplus = counts.won + counts.tied / 2 - counts.games * (win + tie / 2)
        both = counts.per_agent(surplus, -surplus)
        return both if self._nu is None else np.append(both, counts.tied.sum() - counts.games @ tie)

    def _shares(self, counts: MetPairs, theta: Floats) -> Any:
        """Probabilities of a win, a tie and a loss; Bradley-Terry has no ties."""
        gap = theta[counts.first] - theta[counts.second]
        if self._nu is None:
            return scipy.special.expit(gap), np.zeros_like(gap), scipy.special.expit(-gap)
        return shares(gap, self._nu)

    def _outer(self, counts: MetPairs, own: Any, border: Any, corner: Any) -> Floats:
        """Sum over pairs of own (e_a - e_b)(e_a - e_b)', plus a row and column for log nu, made of `border` and `corner`."""
        m, size = self._m, self._m + (self._nu is not None)
        matrix = np.zeros((size, size))
        np.add.at(matrix, (counts.first, counts.second), -own)
        matrix += matrix.T
        matrix[np.arange(m), np.arange(m)] = counts.per_agent(own, own)
        if self._nu is not None:
            matrix[:m, m] = matrix[m, :m] = counts.per_agent(border, -border)
            matrix[m, m] = corner.sum()
        return matrix
