"""Traces logit equilibria from the targets, at beta = 0, towards the limit, by predictor and corrector steps along the path.

Beta is an unknown like the others, so the path may turn back in beta (a fold). A step is accepted only if it stays on the branch: few
Newton steps with shrinking residuals, a small correction, a direction close to the last one, and the same sign of the bordered determinant,
which changes only where branches cross.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from ratings_core.equilibria.logit_system import LogitPoint, LogitSystem
from ratings_core.solution import Floats

ACCURACY: Final = 1e-7
ROUNDING: Final = 1e-13
"""Largest residual of a log probability on the path: ACCURACY, plus ROUNDING times beta and unit for the rounding of payoffs."""
LARGEST_ERROR: Final = 1e-3
"""Upper limit of that residual for probabilities that are not next to 0: with larger errors, mixes do not sum to 1."""
NEXT_TO_0: Final = -40.0
"""Lower log probabilities are next to 0: the error of such a probability is negligible."""
LARGEST_BETA: Final = 1e15
"""In inverse units. From this beta on, log probabilities consist of rounding errors of payoffs."""
FIRST_STEP: Final = 0.1
SHORTEST: Final = 1e-12
MOST_CORRECTIONS: Final = 7
LEAST_COSINE: Final = 0.8
"""Smallest cosine between the directions of neighbouring points; a wider turn needs smaller steps."""
STRAIGHT: Final = 0.999
"""Cosine above which a short step may pass a change of sign, because branches cross there. At a sharp fold
the step may have turned back.
"""
LARGEST_MOVE: Final = 0.25
"""Largest change of a probability by the corrector."""


@dataclass(frozen=True, slots=True)
class PathPoint:
    """A point of the path.

    tangent: direction of (y, beta), of length 1; bend: change of the tangent per length; sign: of the bordered determinant; turned: number
    of folds so far; crossed: number of steps so far across a change of sign, where branches cross; newton_steps: number so far.
    """

    at: LogitPoint
    tangent: Floats
    bend: Floats
    sign: float
    turned: int
    crossed: int
    newton_steps: int


class LostPathError(Exception):
    """No step, however short, stays on the path."""


def trace(system: LogitSystem) -> Iterator[PathPoint]:
    """Points of the path, from beta 0 on; the iterator does not end. Raises `LostPathError`."""
    metric = _metric(system)
    point, length = _first(system, metric), FIRST_STEP
    while True:
        yield point
        point, length = _next(system, metric, point, length)


def _metric(system: LogitSystem) -> Floats:
    """Weights of squares: the mean over log probabilities, plus beta."""
    return np.append(np.full(system.unknowns, 1 / system.unknowns), 1.0)


def _first(system: LogitSystem, metric: Floats) -> PathPoint:
    at = system.start()
    towards_beta = np.append(np.zeros(system.unknowns), 1.0)
    tangent, sign = _tangent(system, metric, at, towards_beta)
    return PathPoint(at, tangent, np.zeros(len(tangent)), sign, 0, 0, 0)


def _tangent(system: LogitSystem, metric: Floats, at: LogitPoint, before: Floats) -> tuple[Floats, float]:
    """The path's direction, oriented like `before`, and the sign of the determinant bordered by `before`."""
    linear = system.linear(at, before * metric)
    step = linear.solve(np.zeros(system.unknowns), 1.0)
    return step / np.sqrt(metric @ step**2), linear.sign


def _next(system: LogitSystem, metric: Floats, point: PathPoint, length: float) -> tuple[PathPoint, float]:
    """The next point, and the step length to try after it."""
    newton_steps = point.newton_steps
    while length > SHORTEST * max(1.0, point.at.beta) and point.at.beta < LARGEST_BETA:
        with np.errstate(over="ignore", invalid="ignore"):  # steps that are not finite are rejected below
            corrected, used = _corrected(system, metric, point, length)
        newton_steps += used
        if corrected is not None:
            tangent, sign = _tangent(system, metric, corrected, point.tangent)
            cosine = float((metric * tangent) @ point.tangent)
            crossing = sign != point.sign and cosine > STRAIGHT and length < 1e-4 * max(1.0, point.at.beta)
            if np.isfinite(tangent).all() and cosine > LEAST_COSINE and (sign == point.sign or crossing):
                turned = point.turned + int(tangent[-1] * point.tangent[-1] < 0)
                bend = (tangent - point.tangent) / length
                next_point = PathPoint(corrected, tangent, bend, sign, turned, point.crossed + int(crossing), newton_steps)
                return next_point, length * _growth(used, cosine)
        length /= 2
    raise LostPathError(f"at beta {point.at.beta:.4g}")


def _growth(used: int, cosine: float) -> float:
    if cosine < 0.95:
        return 0.8
    return {0: 3.0, 1: 3.0, 2: 2.0, 3: 1.7, 4: 1.3, 5: 1.0}.get(used, 0.6)


def _corrected(system: LogitSystem, metric: Floats, point: PathPoint, length: float) -> tuple[LogitPoint | None, int]:
    """Newton's method from the predictor, in the plane across the path, and its number of steps. The point is None if it does not converge
    nearby.
    """
    z = np.append(point.at.y, point.at.beta) + length * point.tangent + length * (length / 2 * point.bend)
    if not _possible(z):
        return None, 0
    at, predicted = system.at(z[:-1], z[-1]), z
    border, size = point.tangent * metric, np.inf
    for step in range(MOST_CORRECTIONS):
        new_size = float(np.abs(at.residual).max())
        if (np.abs(at.residual) <= _allowed(system, at)).all():
            return (at if _near(predicted, at) else None), step
        if not new_size < (2 * size if step > 1 else 1e8):
            return None, step
        size = new_size
        try:
            z = z + system.linear(at, border).solve(at.residual, float(border @ (predicted - z)))
        except scipy.linalg.LinAlgError:
            return None, step
        if not _possible(z):
            return None, step
        at = system.at(z[:-1], z[-1])
    return None, MOST_CORRECTIONS


def _possible(z: Floats) -> bool:
    """True if log probabilities and beta are in the range of a path."""
    return bool(np.isfinite(z).all() and z[-1] >= 0 and z[:-1].max() < 1.0)


def _allowed(system: LogitSystem, at: LogitPoint) -> Floats:
    """Largest accepted residual of each log probability."""
    rounded = ACCURACY + ROUNDING * at.beta * system.scales
    return np.where(at.y > NEXT_TO_0, np.minimum(rounded, LARGEST_ERROR), rounded)


def _near(predicted: Floats, at: LogitPoint) -> bool:
    """True if the corrector changed every probability by less than LARGEST_MOVE."""
    return float(np.abs(np.exp(np.minimum(predicted[:-1], 0.0)) - np.exp(at.y)).max()) < LARGEST_MOVE
