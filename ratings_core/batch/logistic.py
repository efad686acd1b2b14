"""Newton's method for the likelihood of pairwise logistic models: one loop, with a dense and a sparse solver for its linear systems.

The parameters theta (m,) are in logits: first beats second with probability 1 / (1 + exp(theta[second] - theta[first])).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.batch.pair_counts import MetPairs
from ratings_core.graphs import Labels
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats

DENSE_UP_TO: Final = 512
"""Largest number of agents whose linear systems are factorised. For more agents, conjugate gradients on the met pairs are faster."""
_VALUE_NOISE: Final = 1e-12
"""Relative rounding error of the likelihood, which is a sum over all pairs. Smaller changes are treated as noise."""
_EXACT: Final = 1e-14
"""Gradient per game that is rounding: no step improves it."""
_FIRST_CAUTION: Final = 1e-4
"""Share of the bound's curvature after the first rejected step. It grows by 10 with each rejection and shrinks by 10 after each step."""
_LARGEST_LOGIT: Final = 3.0
"""Largest absolute logit of a share of points in a start. A start far beyond the optimum of nearly separable data has a gradient so small
that it could pass for the optimum."""
_SURE_MOVE: Final = 1.75
"""Largest change of a gap, in logits, at which a Newton step surely decreases the function: (e^r - r - 1) / r^2 < 1 up to r = 1.79. The
second derivative of a logistic loss changes by a factor of e^r at most over a gap change r (Bach 2010, Proposition 1)."""
_SAME_FACTOR: Final = 1e-3
"""Largest relative change of the weights at which a solver keeps its factor. A step then leaves this share of the error."""
_WIDEST: Final = 300.0
"""Largest absolute theta, in logits, whose exponentials are divided. Sums and products of two exponentials stay in the range of float64."""


@dataclass(frozen=True, slots=True)
class PairLikelihood:
    """Negative log-likelihood of the pairs, with `prior` tied pseudo-games of each agent against an anchor at theta 0.

    counts: the pairs in the sum; prior: >= 0, in games.
    """

    counts: MetPairs
    prior: float

    @property
    def games(self) -> Floats:
        """Weight of each agent's games, pseudo-games included (m,)."""
        won, lost = self.points()
        return won + lost

    def points(self) -> tuple[Floats, Floats]:
        """Points that each agent won and lost, pseudo-games included, each (m,). A tie is half a point for both."""
        counts = self.counts
        points = np.full((2, counts.m), self.prior / 2)
        _add_points(counts.first, counts.second, counts.won, counts.lost, counts.tied, points)
        return points[0], points[1]

    def value(self, theta: Floats) -> float:
        """Negative log-likelihood at theta.

        Each game costs log(1 + exp(-|gap|)), plus |gap| if the favourite lost. All terms are nonnegative, so none cancel.
        """
        gap, games, points = self.gaps(theta), self.counts.games, self.counts.points
        size = np.abs(gap)
        value = float(np.where(gap >= 0, games - points, points) @ size + games @ doubt(gap))
        return value + self.prior * float(np.abs(theta).sum() / 2 + doubt(theta).sum())

    def gradient(self, theta: Floats) -> Floats:
        """Expected minus actual points of each agent (m,)."""
        return self.slopes(theta)[0]

    def slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """First and second derivatives at theta, in one pass over the pairs.

        Returns the gradient (m,), expected minus actual points of each agent, and the weights of the curvature (pairs,).
        """
        counts = self.counts
        strength = np.exp(theta) if float(np.abs(theta).max()) <= _WIDEST else np.empty(0)
        gradient, weights = np.zeros(counts.m), np.empty(len(counts.first))
        _add_slopes(counts.first, counts.second, counts.won, counts.lost, counts.tied, theta, strength, gradient, weights)
        if self.prior:
            gradient += self.prior * (scipy.special.expit(theta) - 0.5)
        return gradient, weights

    def curvature(self, theta: Floats, caution: float = 0.0) -> "Curvature":
        """Curvature at theta: the second derivative (caution 0) or that of a quadratic upper bound that touches at theta (caution 1).

        A caution in between gives the weighted mean of both. Bound: Jaakkola and Jordan 2000, eq. 12.
        """
        weights, anchors = (
            (1 - caution) * variance(gap) + caution * bounding_variance(gap) if caution else variance(gap)
            for gap in (self.gaps(theta), theta)
        )
        return Curvature(self.counts, self.counts.games * weights, self.prior * anchors)

    def from_points(self) -> Floats:
        """Estimate theta from the points of each agent alone (m,), as a start.

        It is the logit of the share of points, with half a point more on both sides, `_LARGEST_LOGIT` at most, times
        sqrt(1 + pi/8 variance of these logits): averaging a logistic curve over normal gaps flattens it by this factor (MacKay 1992),
        and the variance of theta is taken to be theirs.
        """
        won, lost = self.points()
        logits = np.clip(np.log((won + 0.5) / (lost + 0.5)), -_LARGEST_LOGIT, _LARGEST_LOGIT)
        return np.asarray(logits * math.sqrt(1 + math.pi / 8 * float(logits.var())), np.float64)

    def gaps(self, theta: Floats) -> Floats:
        """Difference of theta across each pair (pairs,)."""
        return np.asarray(theta[self.counts.first] - theta[self.counts.second], np.float64)


@dataclass(frozen=True, slots=True)
class Curvature:
    """A graph Laplacian plus a diagonal. counts: the pairs; weights: of each pair (pairs,); anchors: of each agent's diagonal (m,)."""

    counts: MetPairs
    weights: Floats
    anchors: Floats

    @property
    def diagonal(self) -> Floats:
        """Diagonal entries (m,)."""
        return self.counts.per_agent(self.weights, self.weights) + self.anchors

    def dense(self) -> Floats:
        """The curvature as a dense matrix (m, m)."""
        matrix = np.zeros((self.counts.m, self.counts.m))
        matrix[self.counts.first, self.counts.second] = matrix[self.counts.second, self.counts.first] = -self.weights
        matrix[np.diag_indices(self.counts.m)] = self.diagonal
        return matrix

    def grounded(self, grounds: NDArray[np.int64]) -> Floats:
        """Dense matrix (m, m) with the rows and columns of the agents `grounds` replaced by those of the identity: their theta is fixed.

        Only the lower triangle is filled, because a Cholesky factorisation reads no more. The likelihood is constant under a shift of a
        component. Fixing one agent per component removes these shifts and keeps the matrix diagonally dominant, so the factorisation is
        accurate for very unequal weights, too.
        """
        matrix = np.zeros((self.counts.m, self.counts.m))
        _add_pairs(self.counts.first, self.counts.second, self.weights, matrix)
        matrix[np.diag_indices(self.counts.m)] += self.anchors
        matrix[grounds] = matrix[:, grounds] = 0.0
        matrix[grounds, grounds] = 1.0
        return matrix.T  # in LAPACK's order, so it is not copied; a row of `matrix` is written in sequence


Solver: TypeAlias = Callable[[Curvature, Floats], Floats]
"""Solves curvature x = rhs, exactly or roughly, up to shifts of components. Raises `scipy.linalg.LinAlgError` for a singular matrix."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """Result of `minimise`. theta: (m,); iterations: steps taken; cautious: rejected steps that were repeated with more curvature."""

    theta: Floats
    iterations: int
    cautious: int


@dataclass(frozen=True)
class _Point:
    """theta (m,) with its gradient (m,), the weights of its curvature (pairs,), and off, the gradient per game (m,)."""

    likelihood: PairLikelihood
    theta: Floats
    gradient: Floats
    weights: Floats
    off: Floats

    @cached_property
    def value(self) -> float:
        """Negative log-likelihood."""
        return self.likelihood.value(self.theta)

    @cached_property
    def worst(self) -> float:
        """Largest gradient per game."""
        return float(np.abs(self.off).max())

    def curvature(self, caution: float) -> Curvature:
        """As `PairLikelihood.curvature`."""
        if caution:
            return self.likelihood.curvature(self.theta, caution)
        return Curvature(self.likelihood.counts, self.weights, self.likelihood.prior * variance(self.theta))


def doubt(gap: Floats) -> Floats:
    """Negative log-probability that the favourite of a pair wins, log(1 + exp(-|gap|))."""
    return np.asarray(np.log1p(np.exp(-np.abs(gap))), np.float64)


def variance(gap: Floats) -> Floats:
    """Variance p (1 - p) of a result at this gap in logits, computed without cancellation."""
    odds = np.exp(-np.abs(gap))
    return np.asarray(odds / (1 + odds) ** 2, np.float64)


def bounding_variance(gap: Floats) -> Floats:
    """tanh(gap / 2) / (2 gap), or 1/4 at gap 0. At least as large as `variance`, and free of underflow at large gaps."""
    return np.divide(np.tanh(gap / 2), 2 * gap, out=np.full_like(gap, 0.25), where=gap != 0)


def grounds_of(likelihood: PairLikelihood, label: Labels) -> NDArray[np.int64]:
    """The agent with the most games in each component, to be grounded. Empty with a prior, which removes the free shifts.

    label: component of each agent (m,).
    """
    if likelihood.prior > 0:
        return np.empty(0, np.int64)
    order = np.lexsort((-likelihood.games, label))
    return np.asarray(order[np.unique(label[order], return_index=True)[1]], np.int64)


def solver(likelihood: PairLikelihood, label: Labels) -> Solver:
    """The faster solver for this number of agents: dense up to `DENSE_UP_TO`, else sparse. label: component of each agent (m,)."""
    return _factorising(grounds_of(likelihood, label)) if likelihood.counts.m <= DENSE_UP_TO else _conjugate(likelihood)


def minimise(likelihood: PairLikelihood, solve: Solver, tolerance: float, max_iterations: int, start: Floats | None = None) -> Minimum:
    """Minimise the negative log-likelihood by Newton's method.

    The method starts from `start` if its largest gradient per game is smaller than that of theta = 0, else from theta = 0. It stops when
    each agent's expected and actual points differ by at most `tolerance` per game, after one more step, which leaves a thousandth of the
    error at most. The step is left out where the difference is within rounding.

    Far from the optimum Newton's quadratic model can be wrong. A rejected step is repeated with a mixture of its curvature and that of a
    quadratic upper bound, with as little of the bound as is sufficient. The method stops early if the bound's system is numerically
    singular, too. The caller checks the result with a certificate.
    """
    games = np.maximum(likelihood.games, np.finfo(float).tiny)
    point = _point(likelihood, games, np.zeros(likelihood.counts.m))
    if start is not None and (given := _point(likelihood, games, start)).worst < point.worst:
        point = given
    caution, cautious = 0.0, 0
    for iteration in range(max_iterations):
        arrived = point.worst <= tolerance
        if point.worst <= min(_EXACT, tolerance):
            return Minimum(point.theta, iteration, cautious)
        ahead = _attempt(solve, games, point, caution)
        while ahead is None and caution < 1 and not arrived:
            caution = min(1.0, max(10 * caution, _FIRST_CAUTION))
            cautious += 1
            ahead = _attempt(solve, games, point, caution)
        if arrived or ahead is None:
            return Minimum((ahead or point).theta, iteration, cautious)
        point = ahead
        caution = caution / 10 if caution > _FIRST_CAUTION else 0.0
    return Minimum(point.theta, max_iterations, cautious)


def _point(likelihood: PairLikelihood, games: Floats, theta: Floats) -> _Point:
    gradient, weights = likelihood.slopes(theta)
    return _Point(likelihood, theta, gradient, weights, gradient / games)


def _attempt(solve: Solver, games: Floats, here: _Point, caution: float) -> _Point | None:
    """The point after one step, or None if the step is rejected. A step of the bound itself (caution 1) cannot increase the function."""
    try:
        step = solve(here.curvature(caution), here.gradient)
    except scipy.linalg.LinAlgError:
        return None
    ahead = _point(here.likelihood, games, here.theta - step)
    return ahead if caution >= 1 or _better(here, ahead, step) else None


def _better(here: _Point, ahead: _Point, step: Floats) -> bool:
    """Whether a step is an improvement.

    The function must fall by a quarter of the quadratic model's prediction, half the decrease along the gradient. If the predicted fall is
    within rounding, as close to the optimum or for agents with few games, the gradient per game must fall by 10 %. If it does, a step that
    moves no gap by more than `_SURE_MOVE` is accepted without computing the function, because it falls.
    """
    calmer = bool(np.linalg.norm(ahead.off) <= 0.9 * np.linalg.norm(here.off))
    if calmer and max(float(step.max()), 0.0) - min(float(step.min()), 0.0) <= _SURE_MOVE:  # 0: the anchor does not move
        return True
    promised = float(here.gradient @ step) / 2
    noise = _VALUE_NOISE * abs(here.value)
    fell = here.value - ahead.value
    return bool((promised > 10 * noise and fell >= promised / 4) or (fell >= -noise and calmer))


def _factorising(grounds: NDArray[np.int64]) -> Solver:
    """Cholesky factorisation. Its factor is kept for curvatures that differ by at most `_SAME_FACTOR` from the factorised one."""
    factorised: Curvature | None = None
    factor = np.empty((0, 0))

    def solve(curvature: Curvature, rhs: Floats) -> Floats:
        nonlocal factorised, factor
        if factorised is None or not _close(factorised, curvature):
            factorised = None
            factor, failed = scipy.linalg.lapack.dpotrf(curvature.grounded(grounds), lower=True, clean=False, overwrite_a=True)
            if failed:
                raise scipy.linalg.LinAlgError(f"the leading minor of order {failed} is not positive")
            factorised = curvature
        held = rhs.copy()
        held[grounds] = 0.0
        return np.asarray(scipy.linalg.lapack.dpotrs(factor, held, lower=True, overwrite_b=True)[0], np.float64)

    return solve


def _close(old: Curvature, new: Curvature) -> bool:
    pairs = ((old.weights, new.weights), (old.anchors, new.anchors))
    return all(bool((np.abs(after - before) <= _SAME_FACTOR * before).all()) for before, after in pairs)


def _conjugate(likelihood: PairLikelihood) -> Solver:
    """Truncated Newton: conjugate gradients with a diagonal preconditioner. The required accuracy rises as the gradient falls."""
    counts = likelihood.counts
    pairs = np.arange(len(counts.first))
    rows, columns = np.concatenate([counts.first, counts.second]), np.concatenate([counts.second, counts.first])
    pattern = scipy.sparse.csr_array(scipy.sparse.coo_array((np.concatenate([pairs, pairs]), (rows, columns)), shape=(counts.m, counts.m)))
    pair_of = pattern.data
    adjacency = scipy.sparse.csr_array((np.zeros(len(pair_of)), pattern.indices, pattern.indptr), shape=pattern.shape)
    games = np.maximum(likelihood.games, np.finfo(float).tiny)

    def solve(curvature: Curvature, rhs: Floats) -> Floats:
        adjacency.data = curvature.weights[pair_of]
        diagonal = curvature.diagonal
        accuracy = min(0.1, float(np.sqrt(np.abs(rhs / games).max())))
        return conjugate_gradient(lambda x: diagonal * x - adjacency @ x, rhs, diagonal, accuracy)

    return solve


def conjugate_gradient(apply: Callable[[Floats], Floats], rhs: Floats, diagonal: Floats, accuracy: float) -> Floats:
    """Solve apply(x) = rhs until |apply(x) - rhs| <= accuracy * |rhs| in the norm of the preconditioner 1 / diagonal.

    Agents without weight (diagonal 0) keep x = 0. The iteration stops after 10 m steps at the latest. Every iterate is a descent direction,
    so an early stop makes Newton's method slower but not wrong.
    """
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > np.finfo(float).tiny)
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    direction = inverse * residual
    energy = goal = float(residual @ direction)
    for _ in range(10 * len(rhs)):
        image = apply(direction)
        bend = float(direction @ image)
        if energy <= accuracy**2 * goal or bend <= 0:
            break
        x += (energy / bend) * direction
        residual -= (energy / bend) * image
        scaled = inverse * residual
        previous, energy = energy, float(residual @ scaled)
        direction = scaled + (energy / previous) * direction
    return x


@kernel
def _add_points(first: NDArray[np.int64], second: NDArray[np.int64], won: Floats, lost: Floats, tied: Floats, points: Floats) -> None:
    """Add the points of each pair to `points` (2, m), won and lost."""
    for pair in range(len(first)):
        own, other = won[pair] + tied[pair] / 2, lost[pair] + tied[pair] / 2
        points[0, first[pair]] += own
        points[1, first[pair]] += other
        points[0, second[pair]] += other
        points[1, second[pair]] += own


@kernel
def _add_slopes(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    won: Floats,
    lost: Floats,
    tied: Floats,
    theta: Floats,
    strength: Floats,
    gradient: Floats,
    weights: Floats,
) -> None:
    """Add the gradient of each pair to `gradient` (m,), and write its weight. strength: exp(theta) (m,), or empty if it could overflow.

    Both are computed from the probability of an upset, so no digits cancel where the favourite is nearly certain to win.
    """
    divided = len(strength) > 0
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        ahead = theta[a] >= theta[b]
        if divided:
            low, high = (strength[b], strength[a]) if ahead else (strength[a], strength[b])
        else:
            low, high = math.exp(-abs(theta[a] - theta[b])), 1.0
        share = 1 / (low + high)
        games = won[pair] + lost[pair] + tied[pair]
        expected = games * (low * share)
        upsets = (lost[pair] if ahead else won[pair]) + tied[pair] / 2
        surplus = upsets - expected if ahead else expected - upsets
        gradient[a] += surplus
        gradient[b] -= surplus
        weights[pair] = expected * (high * share)


@kernel
def _add_pairs(first: NDArray[np.int64], second: NDArray[np.int64], weights: Floats, matrix: Floats) -> None:
    """Add a Laplacian to the upper triangle of `matrix` (m, m)."""
    for pair in range(len(first)):
        a, b, weight = first[pair], second[pair], weights[pair]
        matrix[a, b] -= weight
        matrix[a, a] += weight
        matrix[b, b] += weight
