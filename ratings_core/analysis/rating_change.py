"""Which results moved a Bradley-Terry rating between two fits: an exact division of the change by pair.

Let t0 and t1 be the ratings before and after, in logits, and p(t) the expected score of a pair. The new results of a pair have the score
r = points - games p(t0) at the old ratings. Both fits balance points and expected points, so

    sum over pairs of w (gap1 - gap0) (e_i - e_j) = sum over pairs of r (e_i - e_j),    w = games1 (p(t1) - p(t0)) / (gap1 - gap0).

The left side is a Laplacian L times t1 - t0, so the change is the sum of L^-1 r (e_i - e_j) over pairs, without an approximation.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.batch.logistic import DENSE_UP_TO, Curvature, conjugate_gradient
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Floats

_ACCURACY: Final = 1e-13
_INEXACT: Final = 1e-5
"""Largest error of the sum of all effects, relative to the sum of their absolute values."""
_OF_FITS: Final = 1e-6
"""Further error that the fits can cause, in logits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairEffects:
    """Effects of pairs on the change of one rating, in logits.

    pairs: the results of both fits' pairs, after; games, points: (pairs,), after less before, of the first agent of each pair; effects:
    (pairs,), their effect on the rating; joined: effect of agents that the earlier fit did not rate in this component, which move the mean
    of the ratings (0 with a prior, whose anchor does not move). The effects and `joined` sum to the change.
    """

    pairs: MetPairs
    games: Floats
    points: Floats
    effects: Floats
    joined: float


def pair_effects(before: MetPairs, after: MetPairs, old: Floats, new: Floats, agent: int, *, prior: float) -> PairEffects:
    """Divide the change of an agent's rating by pair.

    Args:
        before: Results of the earlier fit, among agents 0 to m-1; only pairs inside the component of `agent`.
        after: Results of the later fit, in the same numbering; only pairs inside the component of `agent`.
        old: Ratings of the earlier fit in logits (m,), NaN for agents that it did not rate with `agent`; without a prior their mean is 0.
        new: Ratings of the later fit, in the same form.
        agent: Id of an agent that both fits rate.
        prior: Pseudo-games of each agent in both fits, >= 0.

    Raises:
        InputError: An agent that the earlier fit rates is not rated by the later one, or `agent` is not rated by both.
        SolverError: The effects do not sum to the change, because weights of very different size make the linear system inaccurate.
    """
    was, members = ~np.isnan(old), ~np.isnan(new)
    if not (was[agent] and members[agent]):
        raise InputError("agent", agent, "must be rated by both fits")
    if (was & ~members).any():
        raise InputError("new", int(np.flatnonzero(was & ~members)[0]), "must rate every agent of the earlier fit")
    theta1 = np.where(members, new, 0.0)
    # An agent without an earlier rating has that of its prior, or keeps its later one: the sum is exact for every choice.
    start = 0.0 if prior else theta1 + float((old[was] - new[was]).mean())
    theta0 = np.where(was, old, np.where(members, start, 0.0))
    pairs, games, points = _difference(before, after)
    gap0, gap1 = theta0[pairs.first] - theta0[pairs.second], theta1[pairs.first] - theta1[pairs.second]
    scores = points - games * scipy.special.expit(gap0)
    laplacian = Curvature(pairs, pairs.games * _slope(gap0, gap1), prior * _slope(theta0, theta1))
    contrast = np.zeros(pairs.m)
    contrast[agent] += 1
    if not prior:
        contrast[members] -= 1 / members.sum()
    pull = _solved(laplacian, contrast, agent, grounded=not prior)
    effects = np.asarray((pull[pairs.first] - pull[pairs.second]) * scores, np.float64)
    joined = 0.0 if prior else -float(theta0[members].mean())
    change, size = float(new[agent] - old[agent]), float(np.abs(effects).sum()) + abs(joined)
    if not abs(float(effects.sum()) + joined - change) <= _INEXACT * size + _OF_FITS:
        raise SolverError("the effects of pairs do not sum to the change of the rating: the weights of the results differ too much")
    return PairEffects(pairs=pairs, games=games, points=points, effects=effects, joined=joined)


def _difference(before: MetPairs, after: MetPairs) -> tuple[MetPairs, Floats, Floats]:
    """Pairs of both, with the results after; and games and points of `after` less `before` (pairs,)."""
    keys = np.union1d(before.first * before.m + before.second, after.first * after.m + after.second)
    first, second = keys // after.m, keys % after.m

    def spread(counts: MetPairs, column: Floats) -> Floats:
        there = np.zeros(len(keys))
        there[np.searchsorted(keys, counts.first * counts.m + counts.second)] = column
        return there

    pairs = MetPairs(after.m, first, second, spread(after, after.won), spread(after, after.lost), spread(after, after.tied))
    games = pairs.games - spread(before, before.games)
    return pairs, games, pairs.points - spread(before, before.points)


def _slope(one: Floats, other: Floats) -> Floats:
    """Difference quotient of the expected score p between two gaps, its derivative if they are equal; computed without cancellation.

    p(high) - p(low) = p(high) p(-low) (1 - exp(low - high)).
    """
    low, high = np.minimum(one, other), np.maximum(one, other)
    return np.asarray(scipy.special.expit(high) * scipy.special.expit(-low) * scipy.special.exprel(low - high), np.float64)


def _solved(laplacian: Curvature, contrast: Floats, agent: int, *, grounded: bool) -> Floats:
    """Solve laplacian x = contrast. grounded: x is determined up to a shift only, and x[agent] = 0."""
    diagonal = laplacian.diagonal
    if len(diagonal) > DENSE_UP_TO:
        counts, weights = laplacian.counts, laplacian.weights

        def apply(x: Floats) -> Floats:
            return np.asarray(diagonal * x - counts.per_agent(weights * x[counts.second], weights * x[counts.first]), np.float64)

        return conjugate_gradient(apply, contrast, diagonal, _ACCURACY)
    unlinked = np.flatnonzero(diagonal <= 0)
    grounds: NDArray[np.int64] = np.union1d(unlinked, [agent] if grounded else []).astype(np.int64)
    held = contrast.copy()
    held[grounds] = 0.0
    return np.asarray(scipy.linalg.solve(laplacian.grounded(grounds), held, assume_a="pos", lower=True, check_finite=False), np.float64)
