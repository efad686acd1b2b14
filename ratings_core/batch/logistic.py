"""Newton's method for the likelihood of pairwise logistic models: one loop, two ways to solve its linear systems.

The parameters theta (m,) are in logits: first beats second with probability 1 / (1 + exp(theta[second] - theta[first])).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from ratings_core.analysis.components import Labels
from ratings_core.batch.pair_counts import PairCounts
from ratings_core.solution import Floats

DENSE_UP_TO: Final = 512
"""Agents up to which Newton's systems are factorised; beyond, conjugate gradients on the pairs that met are faster."""
_ACCEPTED_SLOPE: Final = 0.8
"""A step may leave at most this share of the slope on its far side (the second Wolfe condition of Hager and Zhang 2005, eq. 4.1)."""
_VALUE_NOISE: Final = 1e-13
"""Relative rounding of the likelihood: near the optimum only its gradient tells steps apart (the same paper's approximate condition)."""


@dataclass(frozen=True, slots=True)
class PairLikelihood:
    """Minus the log-likelihood of the pairs, with `prior` tied pseudo-games of each agent against an anchor at theta 0.

    counts: the pairs that count; prior: >= 0, in games.
    """

    counts: PairCounts
    prior: float

    @property
    def games(self) -> Floats:
        """Weight of each agent's games, pseudo-games included (m,)."""
        return self.counts.per_agent(self.counts.games, self.counts.games) + self.prior

    def value(self, theta: Floats) -> float:
        """The function itself, up to a constant; sums of log(2 cosh(gap / 2)), which neither over- nor underflow."""
        gap = self._gap(theta)
        lead = self.counts.points - self.counts.games / 2
        return float(self.counts.games @ _log_cosh(gap) - lead @ gap + self.prior * _log_cosh(theta).sum())

    def gradient(self, theta: Floats) -> Floats:
        """Expected minus actual points of each agent (m,)."""
        surplus = self.counts.games * expit(self._gap(theta)) - self.counts.points
        return self.counts.per_agent(surplus, -surplus) + self.prior * (expit(theta) - 0.5)

    def weights(self, theta: Floats) -> Floats:
        """Second derivative along each pair's gap: games times the variance of one result (pairs,)."""
        return self.counts.games * variance(self._gap(theta))

    def anchored(self, theta: Floats) -> Floats:
        """Second derivative that the pseudo-games add on the diagonal (m,)."""
        return self.prior * variance(theta)

    def _gap(self, theta: Floats) -> Floats:
        return np.asarray(theta[self.counts.first] - theta[self.counts.second], np.float64)


Solver: TypeAlias = Callable[[Floats, Floats], Floats]
"""Of theta and a right side: solves H x = rhs for the curvature H there, roughly; the result need only be a direction of descent."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where `minimise` ended. theta: (m,); iterations: Newton steps taken."""

    theta: Floats
    iterations: int


def variance(gap: Floats) -> Floats:
    """Variance of one result at this gap in logits, p (1 - p), without cancellation."""
    return np.asarray(expit(gap) * expit(-gap), np.float64)


def laplacian(counts: PairCounts, weights: Floats) -> Floats:
    """The graph Laplacian of weighted pairs, dense (m, m)."""
    matrix = np.zeros((counts.m, counts.m))
    matrix[counts.first, counts.second] = matrix[counts.second, counts.first] = -weights
    matrix[np.diag_indices(counts.m)] = counts.per_agent(weights, weights)
    return matrix


def pinned_curvature(likelihood: PairLikelihood, theta: Floats, label: Labels) -> Floats:
    """Curvature with each component's free shift pinned (m, m), which makes it invertible and changes nothing across the shift.

    Without a prior the likelihood does not change when a component is shifted; the matrix of ones inside components, scaled like the
    curvature, fills exactly those directions.
    """
    matrix = laplacian(likelihood.counts, likelihood.weights(theta))
    matrix[np.diag_indices(len(theta))] += likelihood.anchored(theta)
    if likelihood.prior == 0:
        matrix += (label[:, None] == label) * pin_scale(matrix)
    return matrix


def pin_scale(matrix: Floats) -> float:
    """Weight of the pin: the mean diagonal entry over m, so that it neither drowns nor is drowned by the curvature."""
    return float(np.trace(matrix)) / len(matrix) ** 2 or 1.0


def solver(likelihood: PairLikelihood, label: Labels) -> Solver:
    """The cheaper way to solve the systems of this problem. label: component of each agent (m,)."""
    return _dense(likelihood, label) if likelihood.counts.m <= DENSE_UP_TO else _conjugate(likelihood)


def minimise(likelihood: PairLikelihood, solve: Solver, tolerance: float, max_iterations: int) -> Minimum:
    """Newton's method with a line search, from theta = 0, until the gradient per game is within the tolerance everywhere.

    Stops earlier after `max_iterations` steps or where no step along the Newton direction lowers the function any more (rounding);
    whether the point is good enough is for the caller's certificate to say.
    """
    theta = np.zeros(likelihood.counts.m)
    games = np.maximum(likelihood.games, np.finfo(float).tiny)
    for iteration in range(max_iterations):
        gradient = likelihood.gradient(theta)
        if (np.abs(gradient) <= tolerance * games).all():
            return Minimum(theta, iteration)
        step = -solve(theta, gradient)
        length = _step_length(likelihood, theta, step, float(gradient @ step))
        if length == 0.0:
            return Minimum(theta, iteration)
        theta = theta + length * step
    return Minimum(theta, max_iterations)


def _step_length(likelihood: PairLikelihood, theta: Floats, step: Floats, slope: float) -> float:
    """The first of 1, 1/2, 1/4, ... that neither raises the convex function nor overshoots its minimum on the line by much; 0 if none."""
    if not slope < 0:
        return 0.0
    value = likelihood.value(theta)
    limit = value + _VALUE_NOISE * abs(value)
    length = 1.0
    while length > np.finfo(float).eps:
        ahead = theta + length * step
        if likelihood.value(ahead) <= limit and likelihood.gradient(ahead) @ step <= -_ACCEPTED_SLOPE * slope:
            return length
        length /= 2
    return 0.0


def _dense(likelihood: PairLikelihood, label: Labels) -> Solver:
    def solve(theta: Floats, rhs: Floats) -> Floats:
        curvature = pinned_curvature(likelihood, theta, label)
        diagonal = curvature.diagonal().copy()
        # Lopsided data can make the curvature singular to rounding: a little more diagonal still gives a direction of descent.
        for damping in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
            curvature[np.diag_indices(len(rhs))] = diagonal * (1 + damping)
            try:
                return np.asarray(linalg.cho_solve(linalg.cho_factor(curvature, check_finite=False), rhs, check_finite=False), np.float64)
            except linalg.LinAlgError:
                continue
        return np.asarray(rhs / diagonal, np.float64)

    return solve


def _conjugate(likelihood: PairLikelihood) -> Solver:
    """Truncated Newton: conjugate gradients, preconditioned by the diagonal, to an accuracy that grows as the gradient falls."""
    counts = likelihood.counts
    pairs = np.arange(len(counts.first))
    rows, columns = np.concatenate([counts.first, counts.second]), np.concatenate([counts.second, counts.first])
    pattern = sparse.csr_array(sparse.coo_array((np.concatenate([pairs, pairs]) + 1, (rows, columns)), shape=(counts.m, counts.m)))
    pair_of = pattern.data - 1
    adjacency = sparse.csr_array((np.zeros(len(pair_of)), pattern.indices, pattern.indptr), shape=pattern.shape)
    scale = np.abs(likelihood.games).max()

    def solve(theta: Floats, rhs: Floats) -> Floats:
        weights = likelihood.weights(theta)
        adjacency.data = weights[pair_of]
        diagonal = counts.per_agent(weights, weights) + likelihood.anchored(theta)
        accuracy = min(0.1, float(np.sqrt(np.abs(rhs).max() / scale)))
        return conjugate_gradient(lambda x: diagonal * x - adjacency @ x, rhs, diagonal, accuracy)

    return solve


def conjugate_gradient(apply: Callable[[Floats], Floats], rhs: Floats, diagonal: Floats, accuracy: float) -> Floats:
    """Some x with |apply(x) - rhs| <= accuracy * |rhs| in the norm of the preconditioner 1 / diagonal, or after 10 m steps.

    Agents without weight (diagonal 0) keep x = 0. Any iterate is a direction of descent, so the limit costs speed, never truth.
    """
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    direction = inverse * residual
    energy = goal = float(residual @ direction)
    for _ in range(10 * len(rhs)):
        if energy <= accuracy**2 * goal:
            break
        image = apply(direction)
        curvature = float(direction @ image)
        if curvature <= 0:
            break
        x += (energy / curvature) * direction
        residual -= (energy / curvature) * image
        scaled = inverse * residual
        previous, energy = energy, float(residual @ scaled)
        direction = scaled + (energy / previous) * direction
    return x if x.any() else inverse * rhs


def _log_cosh(gap: Floats) -> Floats:
    """log(2 cosh(gap / 2)), elementwise."""
    size = np.abs(gap)
    return np.asarray(size / 2 + np.log1p(np.exp(-size)), np.float64)
