"""Recommended games: sampling rates of pairs that reduce a chosen uncertainty of Bradley-Terry ratings the most.

This is an optimal design of experiments (Pukelsheim 2006; for paired comparisons Grasshoff and Schwabe 2008). A game of a and b adds
w (e_a - e_b)(e_a - e_b)' to the information F of the ratings, with w = p (1 - p) by the current fit. The design minimises tr(L C), where C
is the inverse of F. L chooses the target: one agent (c-optimal), all ratings (A-optimal), or the top k. For the top k it weights the
variances of differences across the boundary by the probability that their order is wrong. tr(L C) is convex in the rates of all pairs, so
the distance of a design from the optimum can be certified. The design assumes that the current fit is true. Play a batch of games, fit
again, and recompute the rates.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.logistic import PairLikelihood, variance
from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import InputError
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.tallies.pair_counts import PairCounts

Ids: TypeAlias = NDArray[np.int64]
Loss: TypeAlias = Callable[[Floats, Floats], Floats]
"""Function from ratings (m,) in logits and their covariance (m, m) to the matrix L (m, m) of the target tr(L C). Rows of L sum to 0."""

AGENTS_UP_TO: Final = 500
"""Largest number of agents, because each step uses all pairs and inverts a dense matrix."""
_STEPS: Final = 200
_MOST_GAMES: Final = 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMatches:
    """Sampling rates of pairs.

    first, second: int64 (pairs,), all pairs of agents; rate: (pairs,), probability that the next game is of this pair; rates sum to 1, and
    each is at least floor / pairs. floor, games: as given. before: tr(L C) now; after: expected value after `games` games at these rates;
    uniform: expected value after as many games at equal rates.

    certificate (``duality_gap``): upper bound of the difference between `after` and its optimum, divided by before - after; recomputed at
    the returned rates. status: `approximate` if the certificate is above the tolerance.
    """

    first: Ids
    second: Ids
    rate: Floats
    floor: float
    games: float
    before: float
    after: float
    uniform: float
    certificate: Certificate
    status: Status
    seconds: float


def all_ratings() -> Loss:
    """Target: the sum of the variances of all ratings minus their mean (A-optimal)."""
    return lambda theta, _: np.eye(len(theta)) - 1 / len(theta)


def one_rating(agent: int) -> Loss:
    """Target: the variance of one agent's rating (c-optimal), relative to a weighted mean of all ratings.

    The weights are the inverse variances of the ratings. With equal weights, agents with few games would dominate the variance.
    """

    def loss(theta: Floats, covariance: Floats) -> Floats:
        if checks.count("agent", agent) >= len(theta):
            raise InputError("agent", agent, f"must be an id from 0 to {len(theta) - 1}")
        known = 1 / covariance.diagonal()
        contrast = -known / known.sum()
        contrast[agent] += 1
        return np.outer(contrast, contrast)

    return loss


def top(k: int) -> Loss:
    """Target: which agents are the best k.

    For each a inside and b outside the top k, the target adds the probability that b is better, times the remaining share of the variance
    of their difference. Equal ratings at the boundary are ordered by id.
    """

    def loss(theta: Floats, covariance: Floats) -> Floats:
        if not 1 <= checks.count("k", k) < len(theta):
            raise InputError("k", k, f"must be from 1 to {len(theta) - 1}")
        inside = np.zeros(len(theta), np.bool_)
        inside[np.argsort(-theta, kind="stable")[:k]] = True
        across = inside[:, None] & ~inside
        spread = np.where(across, _of_differences(covariance), 1.0)
        weight = np.where(across, scipy.special.ndtr(-(theta[:, None] - theta) / np.sqrt(spread)) / spread, 0.0)
        weight = weight + weight.T
        return np.asarray(np.diag(weight.sum(axis=1)) - weight, np.float64)

    return loss


def next_matches(
    counts: PairCounts, agents: int, loss: Loss, *, games: float, floor: float = 0.1, prior: float = 0.5, tolerance: float = 0.02
) -> NextMatches:
    """Compute the rates for the next `games` games that minimise the expected value of the target `loss` after these games.

    counts: pair counts of agents 0 to agents - 1; a tie counts as half a win for each agent. floor: share of the games drawn uniformly from
    all pairs, 0 to 1; it keeps all rates positive, so that the design explores and samples can be reweighted. prior: tied pseudo-games of
    each agent against an anchor; they keep the ratings of unconnected agents finite. tolerance: of the certificate. The method is
    exponentiated gradient descent; a step that increases the target is repeated with a quarter of its size. If no game reduces the target
    by more than rounding errors, the rates are equal and the gap is 0. Raises `InputError`.
    """
    begun = time.perf_counter()
    m = checks.count("agents", agents, low=2)
    if m > AGENTS_UP_TO:
        raise InputError("agents", m, f"must be at most {AGENTS_UP_TO}; pass fewer agents")
    budget, even = checks.number("games", games, above=0.0, high=_MOST_GAMES), checks.number("floor", floor, low=0.0, high=1.0)
    if not callable(loss):
        raise InputError("loss", loss, "must be a loss, such as all_ratings()")
    checks.number("tolerance", tolerance, above=0.0)
    known = of_tally(counts, m)
    fit = bradley_terry(known, options=BradleyTerryOptions(prior=checks.number("prior", prior, above=0.0), scale=1.0, centre=0.0))
    information = PairLikelihood(known, prior).curvature(fit.ratings).dense()
    problem = _Problem.of(information, fit.ratings, loss, budget)
    before = problem.at(np.zeros(len(problem.first))).value
    rate, point = _descend(problem, even, before, tolerance)
    left = (1 - even) * float(point.gain.max() - problem.mean_gain(point, rate, even))
    gap = left / (before - point.value) if before > point.value else 0.0
    return NextMatches(
        first=problem.first,
        second=problem.second,
        rate=rate,
        floor=even,
        games=budget,
        before=before,
        after=point.value,
        uniform=problem.at(np.full(len(rate), 1 / len(rate))).value,
        certificate=Certificate("duality_gap", max(gap, 0.0)),
        status=Status.OPTIMAL if gap <= tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - begun,
    )


@dataclass(frozen=True, slots=True)
class _Point:
    """Target tr(L C) at given rates, and its decrease per unit of each pair's rate (pairs,)."""

    value: float
    gain: Floats


@dataclass(frozen=True, slots=True)
class _Problem:
    """Design problem. information: (m, m), of past games; matrix: L (m, m); weight: (pairs,), information if all games were of the pair."""

    information: Floats
    matrix: Floats
    first: Ids
    second: Ids
    weight: Floats

    @classmethod
    def of(cls, information: Floats, theta: Floats, loss: Loss, games: float) -> "_Problem":
        first, second = (np.asarray(ids, np.int64) for ids in np.triu_indices(len(theta), 1))
        matrix = loss(theta, _inverse(information))
        return cls(information, matrix, first, second, games * variance(theta[first] - theta[second]))

    def at(self, rate: Floats) -> _Point:
        m = len(self.information)
        links = np.zeros((m, m))
        links[self.first, self.second] = links[self.second, self.first] = rate * self.weight
        covariance = _inverse(self.information + np.diag(links.sum(axis=1)) - links)
        image = covariance @ self.matrix
        slope = _of_differences(image @ covariance)
        return _Point(float(np.trace(image)), np.asarray(self.weight * slope[self.first, self.second], np.float64))

    def mean_gain(self, point: _Point, rate: Floats, floor: float) -> float:
        """Mean of the gains, weighted by the rates without their floor."""
        own = (rate - floor / len(rate)) / (1 - floor) if floor < 1 else rate
        return float(own @ point.gain)


def _descend(problem: _Problem, floor: float, before: float, tolerance: float) -> tuple[Floats, _Point]:
    pairs = len(problem.first)
    own, step = np.full(pairs, 1 / pairs), 1.0
    rate = floor / pairs + (1 - floor) * own
    point = problem.at(rate)
    for _ in range(_STEPS):
        excess = point.gain - point.gain.max()
        if (1 - floor) * -float(own @ excess) <= tolerance * (before - point.value):
            break
        tried = own * np.exp(step * excess / point.gain.max())
        tried /= tried.sum()
        there = floor / pairs + (1 - floor) * tried
        candidate = problem.at(there)
        if candidate.value < point.value:
            own, rate, point, step = tried, there, candidate, 1.6 * step
        else:
            step /= 4
    return rate, point


def _inverse(matrix: Floats) -> Floats:
    inverse = scipy.linalg.inv(matrix, check_finite=False)
    return np.asarray((inverse + inverse.T) / 2, np.float64)


def _of_differences(matrix: Floats) -> Floats:
    """Quadratic form of `matrix` at e_a - e_b for each a and b (m, m)."""
    diagonal = matrix.diagonal()
    return np.asarray(diagonal[:, None] + diagonal - 2 * matrix, np.float64)
