"""The dual of the coarse correlated equilibrium of least relative entropy: few variables, smooth, convex, with bounds lambda >= 0 only.

Among all joint distributions whose deviation gains are at most eps, the one nearest to a product prior t in relative entropy is sigma(a) ~
t(a) exp(-sum_c lambda_c A_c(a)), where lambda >= 0 minimises log sum_a t(a) exp(-sum_c lambda_c A_c(a)) + eps sum lambda (Liu et al. 2025,
sec. 3.2). Its gradient is eps minus the gains, computed by contraction.

L-BFGS-B determines which lambda are positive, usually few. Projected Newton steps on those (Bertsekas 1982) make them accurate. If the dual
has no minimum (eps = 0 and no equilibrium has the prior's support), the steps still reduce the gains by a constant factor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.games.tilted import Contractions, Mixes, Moments, Rows, covariance
from ratings_core.solution import Floats

CORRECTIONS: Final = 30
NEWTON_WORK: Final = 2e10
"""Largest number of multiplications of a Newton step: joints times the square of the number of positive multipliers."""
DIGITS: Final = 1e-11
"""Accuracy that Newton's method aims at near the minimum: a gap of g leaves errors of up to sqrt(2 g) in probabilities (Pinsker)."""
NEAR_STEPS: Final = 4
PATIENCE: Final = 30
"""Number of Newton steps in a row, none of which comes nearer to the minimum by half, after which the search ends."""
SUFFICIENT: Final = 1e-4
_RIDGE: Final = 1e-14


@dataclass(frozen=True, slots=True)
class Dual:
    """The dual program.

    log_prior: of each player's strategies; eps, unit: for each multiplier, concatenated over players. Gains and eps are in the player's
    unit and multipliers in its inverse, so that players' scales may differ. joints: number of joints of the game.
    """

    inside: Contractions
    log_prior: Mixes
    eps: Floats
    unit: Floats
    joints: int

    def moments(self, x: Floats) -> Moments:
        """Moments of the distribution with multipliers x, concatenated over players."""
        return self.inside.moments(self.log_prior, self.apart(x / self.unit))

    def value(self, x: Floats, at: Moments) -> float:
        """Value of the dual, to be minimised."""
        return at.log_total + float(self.eps @ x)

    def hopeless(self, value: float) -> bool:
        """True if a value proves that no distribution on the prior's support has gains of at most eps.

        Relative entropies are at most minus the log of the prior's least probability, so the value of a feasible program is at least that
        log.
        """
        return value < sum(float(own[np.isfinite(own)].min()) for own in self.log_prior) - 1.0

    def gradient(self, at: Moments) -> Floats:
        """Gradient of the dual: eps minus the gains, in units."""
        return np.asarray(self.eps - np.concatenate(at.gains) / self.unit, np.float64)

    def hessian(self, x: Floats, free: NDArray[np.bool_], at: Moments) -> Floats:
        """Hessian with respect to the free multipliers."""
        rows: Rows = tuple(np.flatnonzero(own) for own in self.apart(free))
        gain_covariance = covariance(self.inside, self.log_prior, self.apart(x / self.unit), rows, at.log_total)
        unit = self.unit[free]
        return np.asarray(gain_covariance / np.outer(unit, unit), np.float64)

    def apart(self, x: Floats | NDArray[np.bool_]) -> Mixes:
        """Split x into one array per player."""
        return tuple(np.split(x, np.cumsum([len(own) for own in self.log_prior])[:-1]))


@dataclass(frozen=True, slots=True)
class DualPoint:
    """A point of the dual.

    x: multipliers, concatenated over players; excess: largest gain beyond eps, at least 0, in units; gap: relative entropy minus the dual's
    value, nats; hopeless: True if proven to have no minimum; evaluations, newton_steps: counts.
    """

    x: Floats
    excess: float
    gap: float
    hopeless: bool
    evaluations: int
    newton_steps: int


def least(
    dual: Dual, x: Floats, accuracy: float, digits: float, max_iterations: int, stop: Callable[[], bool], *, near: bool = False
) -> DualPoint:
    """Minimise the dual from x: to `accuracy` in the gradient, then by Newton steps to `digits`.

    stop: called between steps; True ends the search. near: try a few Newton steps first, because x may be close to the minimum.
    """
    counted, steps = _Counted(dual, stop), 0
    if near:
        x, at, steps = _newton(counted, x, digits, NEAR_STEPS)
        excess, gap = shortfalls(dual, x, at)
        if shortfall(excess, gap) <= digits:
            return DualPoint(x, excess, gap, counted.hopeless, counted.evaluations, steps)
    x = counted.quasi_newton(x, accuracy, max_iterations)
    x, at, more = _newton(counted, x, digits, max_iterations)
    excess, gap = shortfalls(dual, x, at)
    return DualPoint(x, excess, gap, counted.hopeless, counted.evaluations, steps + more)


def shortfalls(dual: Dual, x: Floats, at: Moments) -> tuple[float, float]:
    """Largest gain beyond eps, at least 0, and sum_c lambda_c (eps - gain_c), which is the relative entropy minus the dual's value.

    Both are NaN where a gain is.
    """
    gradient = dual.gradient(at)
    return float(np.maximum(0.0, -gradient.min())), float(x @ gradient)


def shortfall(excess: float, gap: float) -> float:
    """The larger of `shortfalls` in size. NaN if one is, which Python's `max` would drop."""
    return float(np.max(np.abs([excess, gap])))


class _Counted:
    """The dual with a counter of its evaluations."""

    def __init__(self, dual: Dual, stop: Callable[[], bool]) -> None:
        self.dual, self._overdue, self.evaluations, self.hopeless = dual, stop, 0, False

    def stop(self) -> bool:
        return self.hopeless or self._overdue()

    def moments(self, x: Floats) -> Moments:
        self.evaluations += 1
        return self.dual.moments(x)

    def value_and_gradient(self, x: Floats) -> tuple[float, Floats]:
        at = self.moments(x)
        value = self.dual.value(x, at)
        self.hopeless |= self.dual.hopeless(value)
        return value, self.dual.gradient(at)

    def quasi_newton(self, x: Floats, accuracy: float, max_iterations: int) -> Floats:
        """The last point of L-BFGS-B, regardless of its status; the caller checks the point."""

        def callback(_: object) -> None:
            if self.stop():
                raise StopIteration

        limits = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 0.0, "gtol": 0.3 * accuracy, "maxcor": CORRECTIONS}
        rest: dict[str, Any] = {"jac": True, "bounds": [(0.0, None)] * len(x), "callback": callback, "options": limits}
        minimum = scipy.optimize.minimize(self.value_and_gradient, x, method="L-BFGS-B", **rest)
        return np.asarray(minimum.x, np.float64)


def _newton(counted: _Counted, x: Floats, accuracy: float, max_steps: int) -> tuple[Floats, Moments, int]:
    """Projected Newton steps until the accuracy is reached, steps no longer lead there, or a step would cost too much.

    Returns the point with the least shortfall, its moments, and the number of steps.
    """
    dual, at = counted.dual, counted.moments(x)
    best, best_at, least_shortfall, halved, step = x, at, np.inf, 0, 0
    for step in range(max_steps + 1):
        short = shortfall(*shortfalls(dual, x, at))
        if short < 0.5 * least_shortfall:
            halved = step
        if short < least_shortfall:
            best, best_at, least_shortfall = x, at, short
        if short <= accuracy or step - halved >= PATIENCE or step == max_steps or counted.stop():
            break
        gradient = dual.gradient(at)
        free = (x > 0) | (gradient < 0)
        if dual.joints * float(free.sum()) ** 2 > NEWTON_WORK:
            break
        better = _searched(counted, x, at, _direction(dual, x, at, gradient, free))
        if better is None:
            break
        x, at = better
    return best, best_at, step


def _direction(dual: Dual, x: Floats, at: Moments, gradient: Floats, free: NDArray[np.bool_]) -> Floats:
    """Step to the minimum of the quadratic model over the free multipliers, none below 0, so that every part of the step is feasible.

    Nearly equal rows make nearly flat directions. A step that is only cut off at the bounds makes no progress along them.
    """
    hessian = dual.hessian(x, free, at)
    hessian[np.diag_indices_from(hessian)] += _RIDGE * max(1.0, float(hessian.diagonal().max()))
    step, here, slope = np.zeros(len(x)), x[free], gradient[free]
    part = scipy.linalg.lstsq(hessian, -slope)[0]
    step[free] = part if (here + part >= 0).all() else _model_minimum(hessian, here, slope) - here
    return step


def _model_minimum(hessian: Floats, here: Floats, slope: Floats) -> Floats:
    """The z >= 0 that minimises slope @ (z - here) + (z - here) @ hessian @ (z - here) / 2, by nonnegative least squares."""
    values, vectors = scipy.linalg.eigh(hessian)
    root = np.sqrt(np.maximum(values, _RIDGE * values[-1]))
    minimiser, _ = scipy.optimize.nnls(root[:, None] * vectors.T, root * (vectors.T @ here) - (vectors.T @ slope) / root)
    return np.asarray(minimiser, np.float64)


def _searched(counted: _Counted, x: Floats, at: Moments, step: Floats) -> tuple[Floats, Moments] | None:
    """The longest of the steps 1, 1/2, 1/4, ..., projected on x >= 0, that improves enough; None if no step does.

    A step must lower the value. If the value is too flat to compare, it must lower the gradient.
    """
    dual, length = counted.dual, 1.0
    gradient, value, was = dual.gradient(at), dual.value(x, at), _kkt(dual, x, at)
    flat = 1e-13 * max(1.0, abs(value))
    while length > 1e-10:
        new = np.maximum(x + length * step, 0.0)
        promised = float(gradient @ (new - x))
        there = counted.moments(new)
        fell = dual.value(new, there) - value
        if fell < SUFFICIENT * promised and promised < -flat:
            return new, there
        if abs(fell) <= flat and _kkt(dual, new, there) < 0.9 * was:
            return new, there
        length /= 2
    return None


def _kkt(dual: Dual, x: Floats, at: Moments) -> float:
    gradient = dual.gradient(at)
    return float(np.abs(np.where(x > 0, gradient, np.minimum(gradient, 0.0))).max())
