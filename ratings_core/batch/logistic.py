"""Newton's method for the likelihood of pairwise logistic models: one loop, with a dense and a sparse solver for its linear systems.

The parameters theta (m,) are in logits: first beats second with probability 1 / (1 + exp(theta[second] - theta[first])).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.batch.pair_counts import MetPairs
from ratings_core.graphs import Labels
from ratings_core.solution import Floats

DENSE_UP_TO: Final = 512
"""Largest number of agents whose linear systems are factorised. For more agents, conjugate gradients on the met pairs are faster."""
_VALUE_NOISE: Final = 1e-12
"""Relative rounding error of the likelihood, which is a sum over all pairs. Smaller changes are treated as noise."""
_EXACT: Final = 1e-14
"""Gradient per game that is rounding: no step improves it."""
_FIRST_CAUTION: Final = 1e-4
"""Share of the bound's curvature after the first rejected step. It grows by 10 with each rejection and shrinks by 10 after each step."""


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
        return self.counts.per_agent(self.counts.games, self.counts.games) + self.prior

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Negative log-likelihood at theta, and its gradient: expected minus actual points of each agent (m,).

        Each game costs log(1 + exp(-|gap|)), plus |gap| if the favourite lost. All terms are nonnegative, so none cancel. Both share the
        exponential, because that is most of the work.
        """
        gap, games, points = self.gaps(theta), self.counts.games, self.counts.points
        size = np.abs(gap)
        odds = np.exp(-size)
        upset = np.where(gap >= 0, games - points, points)
        of_favourite = upset - games * (odds / (1 + odds))
        surplus = np.where(gap >= 0, of_favourite, -of_favourite)
        value = float(upset @ size + games @ np.log1p(odds))
        gradient = self.counts.per_agent(surplus, -surplus)
        if self.prior:
            value += self.prior * float(np.abs(theta).sum() / 2 + doubt(theta).sum())
            gradient += self.prior * (scipy.special.expit(theta) - 0.5)
        return value, gradient

    def value(self, theta: Floats) -> float:
        """Negative log-likelihood at theta."""
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: Floats) -> Floats:
        """Expected minus actual points of each agent (m,)."""
        return self.value_and_gradient(theta)[1]

    def curvature(self, theta: Floats, caution: float = 0.0) -> "Curvature":
        """Curvature at theta: the second derivative (caution 0) or that of a quadratic upper bound that touches at theta (caution 1).

        A caution in between gives the weighted mean of both. Bound: Jaakkola and Jordan 2000, eq. 12.
        """
        weights, anchors = (
            (1 - caution) * variance(gap) + caution * bounding_variance(gap) if caution else variance(gap)
            for gap in (self.gaps(theta), theta)
        )
        return Curvature(self.counts, self.counts.games * weights, self.prior * anchors)

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

        Only the upper triangle is filled, because a Cholesky factorisation reads no more. The likelihood is constant under a shift of a
        component. Fixing one agent per component removes these shifts and keeps the matrix diagonally dominant, so the factorisation is
        accurate for very unequal weights, too.
        """
        matrix = np.zeros((self.counts.m, self.counts.m), order="F")  # in LAPACK's order, so it is not copied
        matrix[self.counts.first, self.counts.second] = -self.weights
        matrix[np.diag_indices(self.counts.m)] = self.diagonal
        matrix[grounds] = matrix[:, grounds] = 0.0
        matrix[grounds, grounds] = 1.0
        return matrix


Solver: TypeAlias = Callable[[Curvature, Floats], Floats]
"""Solves curvature x = rhs, exactly or roughly, up to shifts of components. Raises `scipy.linalg.LinAlgError` for a singular matrix."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """Result of `minimise`. theta: (m,); iterations: steps taken; cautious: rejected steps that were repeated with more curvature."""

    theta: Floats
    iterations: int
    cautious: int


@dataclass(frozen=True, slots=True)
class _Point:
    """theta with its function value and gradient (m,); off: gradient per game (m,)."""

    theta: Floats
    value: float
    gradient: Floats
    off: Floats


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

    The method starts from `start` if its value is smaller than that of theta = 0, else from theta = 0. It stops when each agent's expected
    and actual points differ by at most `tolerance` per game, after one more step, which about doubles the accurate digits. The step is left
    out where the difference is within rounding.

    Far from the optimum Newton's quadratic model can be wrong. A rejected step is repeated with a mixture of its curvature and that of a
    quadratic upper bound, with as little of the bound as is sufficient. The method stops early if the bound's system is numerically
    singular, too. The caller checks the result with a certificate.
    """
    games = np.maximum(likelihood.games, np.finfo(float).tiny)
    point = _point(likelihood, games, np.zeros(likelihood.counts.m))
    if start is not None and (given := _point(likelihood, games, start)).value < point.value:
        point = given
    caution, cautious = 0.0, 0
    for iteration in range(max_iterations):
        off = float(np.abs(point.off).max())
        arrived = off <= tolerance
        if off <= min(_EXACT, tolerance):
            return Minimum(point.theta, iteration, cautious)
        ahead = _attempt(likelihood, solve, games, point, caution)
        while ahead is None and caution < 1 and not arrived:
            caution = min(1.0, max(10 * caution, _FIRST_CAUTION))
            cautious += 1
            ahead = _attempt(likelihood, solve, games, point, caution)
        if arrived or ahead is None:
            return Minimum((ahead or point).theta, iteration, cautious)
        point = ahead
        caution = caution / 10 if caution > _FIRST_CAUTION else 0.0
    return Minimum(point.theta, max_iterations, cautious)


def _point(likelihood: PairLikelihood, games: Floats, theta: Floats) -> _Point:
    value, gradient = likelihood.value_and_gradient(theta)
    return _Point(theta, value, gradient, gradient / games)


def _attempt(likelihood: PairLikelihood, solve: Solver, games: Floats, here: _Point, caution: float) -> _Point | None:
    """The point after one step, or None if the step is rejected. A step of the bound itself (caution 1) cannot increase the function."""
    try:
        step = solve(likelihood.curvature(here.theta, caution), here.gradient)
    except scipy.linalg.LinAlgError:
        return None
    ahead = _point(likelihood, games, here.theta - step)
    return ahead if caution >= 1 or _better(here, ahead, float(here.gradient @ step) / 2) else None


def _better(here: _Point, ahead: _Point, promised: float) -> bool:
    """Whether a step is an improvement.

    The function must fall by a quarter of the quadratic model's prediction (`promised`, half the decrease along the gradient). If the
    predicted fall is within rounding, as close to the optimum or for agents with few games, the gradient per game must fall by 10 %.
    """
    noise = _VALUE_NOISE * abs(here.value)
    fell = here.value - ahead.value
    if promised > 10 * noise and fell >= promised / 4:
        return True
    return bool(fell >= -noise and np.linalg.norm(ahead.off) <= 0.9 * np.linalg.norm(here.off))


def _factorising(grounds: NDArray[np.int64]) -> Solver:
    def solve(curvature: Curvature, rhs: Floats) -> Floats:
        held = rhs.copy()
        held[grounds] = 0.0
        _, found, failed = scipy.linalg.lapack.dposv(curvature.grounded(grounds), held, overwrite_a=True, overwrite_b=True)
        if failed:
            raise scipy.linalg.LinAlgError(f"the leading minor of order {failed} is not positive")
        return np.asarray(found, np.float64)

    return solve


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
