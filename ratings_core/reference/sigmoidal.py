"""The sigmoidal program of soft Condorcet optimisation (Lanctot et al. 2025, eq. 8, sec. 3.2.2 and appendix C).

It minimizes a sum of sigmoids of differences of ratings in a box (Udell and Boyd 2014). A sigmoid is convex below 0 and concave above. Here
tangents replace the convex part and chords the concave part. Both are below the sigmoid, so the value of this mixed-integer linear program
is a lower bound. The sigmoids at its solution, improved by a descent, give an upper bound.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy

from ratings_core.reference.programs import cvxpy, solve
from ratings_core.solution import Floats

_CONCAVE: Final = np.array([0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 3.6, 4.4, 5.5, 7.5, 12.0])
"""Ends of the chords, in temperatures. Between two ends, the sigmoid is at most 0.002 above its chord."""
_CONVEX: Final = np.linspace(-12.0, 0.0, 41)
"""Points at which the tangents touch, in temperatures."""


@dataclass(frozen=True, slots=True)
class LeastLoss:
    """The least loss is between lower and upper; ratings (m,) have the loss `upper`."""

    lower: float
    upper: float
    ratings: Floats


def least_sigmoid_loss(wins: Floats, *, tau: float = 1.0, low: float = 0.0, high: float = 100.0) -> LeastLoss:
    """Bound the least sigmoid loss, sum over a, b of N(a, b) sigmoid((theta_b - theta_a)/tau), with all ratings in [low, high].

    Args:
        wins: N (m, m): votes for a over b.
        tau: Temperature.
        low: Least rating.
        high: Largest rating.

    Returns:
        Two bounds, and ratings that attain the upper one.

    Raises:
        SolverError: The program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    cp, m = cvxpy(), len(wins)
    theta = cp.Variable(m)
    winner, loser = np.nonzero(wins > wins.T)
    margin = (wins - wins.T)[winner, loser]
    agreed = float(np.minimum(wins, wins.T).sum()) / 2
    bounds = [theta >= 0, theta <= (high - low) / tau]
    if not len(margin):
        return LeastLoss(agreed, agreed, np.full(m, (low + high) / 2))
    parts = [_below_sigmoid(theta[b] - theta[a], (high - low) / tau) for a, b in zip(winner, loser, strict=True)]
    value = sum(weight * part[0] for weight, part in zip(margin, parts, strict=True))
    lower = solve(cp.Minimize(value), [*bounds, *(one for part in parts for one in part[1])], linear=True)

    def loss(x: Floats) -> tuple[float, Floats]:
        s = scipy.special.expit(x[loser] - x[winner])
        slope = margin * s * (1 - s)
        return float(margin @ s), np.asarray(np.bincount(loser, slope, m) - np.bincount(winner, slope, m), np.float64)

    best: Any = scipy.optimize.minimize(loss, theta.value, jac=True, method="L-BFGS-B", bounds=[(0.0, (high - low) / tau)] * m)
    return LeastLoss(agreed + lower, agreed + float(best.fun), low + tau * best.x)


def _below_sigmoid(x: Any, reach: float) -> tuple[Any, list[Any]]:
    """An expression that is at least the tangents or chords of the sigmoid of x, and its constraints. reach: the largest |x|."""
    cp = cvxpy()
    ends = np.append(_CONCAVE[reach > _CONCAVE], reach)
    rises = np.diff(scipy.special.expit(ends))
    y, below = cp.Variable(nonneg=True), cp.Variable()
    parts, full = cp.Variable(len(rises), nonneg=True), cp.Variable(len(rises), boolean=True)
    lengths = np.diff(ends)
    constraints = [x == below + cp.sum(parts), below <= 0, below >= -reach * (1 - full[0]), parts <= cp.multiply(lengths, full)]
    constraints += [parts[:-1] >= cp.multiply(lengths[:-1], full[1:])] if len(rises) > 1 else []
    s = scipy.special.expit(_CONVEX)
    constraints.append(y >= s + cp.multiply(s * (1 - s), below - _CONVEX))
    return y + (rises / lengths) @ parts, constraints
