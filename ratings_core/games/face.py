"""The strategy of largest entropy on the face of optimal strategies of one player.

The face is {p on the simplex: C'p = 0, D'p >= 0}. C has a column for each opponent strategy that is in some optimal strategy of the other
side, D has a column for each other opponent strategy, and payoffs are relative to the game's value. The method starts at a point inside the
face and moves along a basis of the null space of the equalities. A primal-dual interior point method (Boyd and Vandenberghe, Convex
Optimization, sec. 11.7) with multipliers z >= 0 of D'p >= 0 finds the point where log p - D z has no component along the face. Weak duality
bounds the missing entropy: the program's dual is the log-sum-exp of C w + D z.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from ratings_core.deadline import NEVER, Deadline
from ratings_core.solution import Floats

RANK_TOLERANCE: Final = 1e-10
"""Columns whose component outside the span of the others is smaller than this, relative to the largest, count as dependent."""
NOISE: Final = 1e-13
"""Bound on the rounding error of a payoff that equals the value; smaller columns count as zero."""
FLOOR: Final = 1e-15
"""Smallest probability and slack at the start: rounding may have set them to 0 although the face has points with larger ones."""
STILL: Final = 1e-15
"""The iteration has converged if no probability changes by more than this."""
LEAST_PRODUCT: Final = 1e-24
"""Smallest target for slack times multiplier: the barrier then changes probabilities by at most the square root of this."""
FADED: Final = 1e-16
"""Of a smaller probability, a step may take this much, which moves payoffs by rounding only: the largest entropy can want far less than
float64 holds, such as exp(-1e12).
"""
FAINTEST: Final = 1e-30
"""Probabilities do not fall below this."""
RIDGES: Final = (0.0, 1e-15, 1e-13, 1e-11)
"""Shares of the diagonal that are added in turn to a curvature that is singular in float64."""
LATE_PRODUCT: Final = 1e-16
"""Target from which points are candidates for the answer. Rounding can move later ones away again."""
SMALL_GAP: Final = 1e-12
"""Of points with at most this entropy gap, the last one is the most accurate."""
MAX_STEPS: Final = 200


@dataclass(frozen=True, slots=True)
class FacePoint:
    """A point of the face.

    strategy: (k,), positive; entropy_gap: upper bound on the missing entropy, in nats; single: True if the face is this point only; proven:
    True if, in addition, no optimal strategy plays outside the given support, however the support was chosen.
    """

    strategy: Floats
    entropy_gap: float = 0.0
    single: bool = False
    proven: bool = False


def proven_point(strategy: Floats) -> FacePoint:
    """The game's only optimal strategy, proven by strict complementarity and a nonsingular support system."""
    return FacePoint(strategy, single=True, proven=True)


def entropy(strategy: Floats) -> float:
    """Shannon entropy in nats; strategies of probability 0 add nothing."""
    played = strategy[strategy > 0]
    return max(0.0, float(-(played @ np.log(played))))


def point_of_largest_entropy(equalities: Floats, inequalities: Floats, inside: Floats, deadline: Deadline = NEVER) -> FacePoint:
    """The point of largest entropy with equalities' p = 0 and inequalities' p >= 0, matrices (k, .), entries of order 1.

    inside: (k,), positive, a point of the face up to rounding. An inequality may be tight there only if it is tight on the complete face.
    This function does not check the result, nor whether the deadline ended it early: use the caller's certificate and `entropy_gap`.
    """
    basis, along = _bases(np.column_stack([np.ones(len(inside)), equalities]))
    start = _on_equalities(inside, *basis)
    if not along.shape[1]:
        return FacePoint(start, single=True)
    start = np.maximum(start, FLOOR)
    return climbed(start, along, inequalities.T @ along, inequalities.T @ start, deadline)


def _bases(matrix: Floats) -> tuple[tuple[Floats, Floats, Floats], Floats]:
    """Bases of the range and of the null space of the transpose. The range basis has its triangle and the
    right-hand side (1, 0, 0, ...).
    """
    orthogonal, triangle, order = scipy.linalg.qr(matrix, pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(triangle))
    rank = int(np.count_nonzero(sizes > max(RANK_TOLERANCE * sizes[0], NOISE)))
    wanted = np.where(order[:rank] == 0, 1.0, 0.0)
    basis = np.asarray(orthogonal[:, :rank], np.float64), np.asarray(triangle[:rank, :rank], np.float64), wanted
    return basis, np.asarray(orthogonal[:, rank:], np.float64)


def _on_equalities(point: Floats, range_basis: Floats, triangle: Floats, wanted: Floats) -> Floats:
    """The nearest point that satisfies the equalities up to rounding."""
    coordinates = scipy.linalg.solve_triangular(triangle, wanted, trans=1, check_finite=False)
    return np.asarray(point + range_basis @ (coordinates - range_basis.T @ point), np.float64)


def climbed(strategy: Floats, along: Floats, slopes: Floats, slack: Floats, deadline: Deadline) -> FacePoint:
    """The point of largest entropy, from a positive one. along: a basis of the face's directions (k, d); slopes, slack: changes of the
    inequalities along these (., d), and their values at the start (.,).
    """
    slack = np.maximum(slack, FLOOR)
    multiplier = np.minimum(1.0, 1e-2 / slack)
    best = FacePoint(strategy, entropy_gap=np.inf)
    for _ in range(MAX_STEPS):
        target = max(LEAST_PRODUCT, 0.1 * float(slack @ multiplier) / max(1, len(slack)))
        step, moved = _step(strategy, along, slopes, slack, multiplier, target)
        if not np.isfinite(step).all():
            break
        slack_step = slopes @ moved
        multiplier_step = (target - multiplier * slack_step) / slack - multiplier
        length = min(_within(np.maximum(strategy, FADED), step), _within(slack, slack_step))
        strategy = np.maximum(strategy + length * step, np.minimum(strategy, FAINTEST))
        slack = slack + length * slack_step
        multiplier = multiplier + _within(multiplier, multiplier_step) * multiplier_step
        if target <= LATE_PRODUCT:
            best = _better(best, _point(strategy, along, slopes, slack, multiplier))
        if deadline.passed() or (float(np.abs(step).max()) <= STILL and target <= LEAST_PRODUCT):
            break
    return _better(best, _point(strategy, along, slopes, slack, multiplier))


def _point(strategy: Floats, along: Floats, slopes: Floats, slack: Floats, multiplier: Floats) -> FacePoint:
    shares = strategy / strategy.sum()
    return FacePoint(shares, entropy_gap=_entropy_gap(shares, along, slopes, slack, multiplier))


def _better(before: FacePoint, after: FacePoint) -> FacePoint:
    return after if after.entropy_gap <= max(SMALL_GAP, before.entropy_gap) else before


def _step(strategy: Floats, along: Floats, slopes: Floats, slack: Floats, multiplier: Floats, target: float) -> tuple[Floats, Floats]:
    """Newton's step of the strategy, and its coordinates along the face. NaN if binding inequalities exceed the other terms too far."""
    curvature = (along.T / strategy) @ along + (slopes.T * (multiplier / slack)) @ slopes
    coordinates = _solved(curvature, slopes.T @ (target / slack) - along.T @ np.log(strategy))
    return along @ coordinates, coordinates


def _solved(curvature: Floats, rhs: Floats) -> Floats:
    """The solution x of curvature x = rhs, for a positive definite curvature; NaN if it is too far from that in float64."""
    scale = 1 / np.sqrt(np.diagonal(curvature))
    scaled = curvature * np.outer(scale, scale)
    for ridge in RIDGES:
        factor, failed = scipy.linalg.lapack.dpotrf(scaled + ridge * np.eye(len(scale)))
        if not failed:
            return np.asarray(scale * scipy.linalg.lapack.dpotrs(factor, scale * rhs)[0], np.float64)
    return np.full(len(rhs), np.nan)


def _within(values: Floats, step: Floats) -> float:
    """The largest fraction of a step, at most 1, that keeps at least a hundredth of every value."""
    fastest = float(np.max(-step / values, initial=0.0))
    return min(1.0, 0.99 / fastest) if fastest > 0 else 1.0


def _entropy_gap(strategy: Floats, along: Floats, slopes: Floats, slack: Floats, multiplier: Floats) -> float:
    """Dual minus primal value, with w such that C w + D z is log p minus `rest`, the component of log p - D z along the face.

    Components are orthogonal in the metric of the entropy's curvature, in which small probabilities weigh as much as large ones.
    """
    uphill = along.T @ np.log(strategy) - slopes.T @ multiplier
    rest = along @ _solved((along.T / strategy) @ along, uphill) / strategy
    return abs(float(scipy.special.logsumexp(np.log(strategy) - rest) + strategy @ rest + slack @ multiplier))
