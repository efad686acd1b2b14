"""The sigmoid loss of soft Condorcet optimisation on sparse margins, and its descent inside a box of ratings.

Of the votes only margins matter: sum N(a, b) sigmoid((b - a)/tau) is, up to a constant, the sum over pairs of |margin| times the
sigmoid of how far the loser of the pair is above its winner (Lanctot et al. 2025, eq. 8 and appendix A).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit

from ratings_core.batch.pair_counts import MetPairs
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats

Ids = NDArray[np.int64]

_MEMORY: Final = 10
"""Corrections that L-BFGS keeps."""
_STALLED: Final = 1e-15
"""Relative progress below which a step of L-BFGS is rounding."""
_INSIDE: Final = 1 - 4 * float(np.finfo(float).eps)
"""Share of the way to a bound at which, but for rounding, it is reached."""


@dataclass(frozen=True, slots=True)
class Box:
    """Bounds of all ratings. low < high."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Length of its sides."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """Where Algorithm 1 starts."""
        return self.low + self.width / 2

    def free(self, theta: Floats, gradient: Floats) -> Floats:
        """`gradient` where descending along it stays in the box, 0 elsewhere (m,)."""
        held = ((theta <= self.low) & (gradient > 0)) | ((theta >= self.high) & (gradient < 0))
        return np.where(held, 0.0, gradient)


@dataclass(frozen=True, slots=True)
class SigmoidLoss:
    """Margins of m agents, and a pull towards the middle of their ratings.

    winner, loser: int64 (pairs,), of the pairs with a margin; margin: float64 (pairs,), > 0; agreed: sum over pairs of the smaller of
    N(a, b) and N(b, a), what any order gets wrong; prior: >= 0, half of it times ((theta - middle)/tau)^2 is added for each agent.
    """

    m: int
    winner: Ids
    loser: Ids
    margin: Floats
    agreed: float
    prior: float = 0.0

    @classmethod
    def of(cls, counts: MetPairs, prior: float = 0.0) -> "SigmoidLoss":
        """The loss of these tallies; ties take no part."""
        difference = counts.won - counts.lost
        ahead, behind = difference > 0, difference < 0
        return cls(
            counts.m,
            np.concatenate([counts.first[ahead], counts.second[behind]]),
            np.concatenate([counts.second[ahead], counts.first[behind]]),
            np.concatenate([difference[ahead], -difference[behind]]),
            float(np.minimum(counts.won, counts.lost).sum()),
            prior,
        )

    @property
    def weight(self) -> Floats:
        """Sum of each agent's margins without their signs (m,)."""
        return self._per_agent(self.margin, self.margin)

    def value(self, theta: Floats, tau: float) -> float:
        """The sum over votes and their pairs (eq. 6), without the prior."""
        return self.agreed + float(self.margin @ expit((theta[self.loser] - theta[self.winner]) / tau))

    def forces(self, theta: Floats, tau: float, middle: float) -> Floats:
        """The gradient, prior included, times tau (m,)."""
        wrong = expit((theta[self.loser] - theta[self.winner]) / tau)
        push = self.margin * wrong * (1 - wrong)
        return self._per_agent(-push, push) + self.prior * (theta - middle) / tau

    def dense(self) -> Floats:
        """Margins as a matrix (m, m), antisymmetric."""
        margins = np.zeros((self.m, self.m))
        margins[self.winner, self.loser] = self.margin
        return np.asarray(margins - margins.T)

    def _per_agent(self, of_winner: Floats, of_loser: Floats) -> Floats:
        sums = np.bincount(self.winner, of_winner, self.m) + np.bincount(self.loser, of_loser, self.m)
        return np.asarray(sums, np.float64)


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a descent ended. theta: (m,); steps: of L-BFGS; value: the loss with its prior, less `agreed`."""

    theta: Floats
    steps: int
    value: float


def descend(
    loss: SigmoidLoss, box: Box, tau: float, start: Floats, max_steps: int, *, progress: float = _STALLED, accuracy: float = 0.0
) -> Descent:
    """L-BFGS-B from `start` at one temperature, until a step gains less than `progress` of the loss, or no agent that the box does not hold
    is under a force above `accuracy` of its margins.

    Agents are scaled by the square root of their margins, so that one of many votes does not set the step of one of few.
    """
    scale = 1.0 / np.sqrt(np.maximum(loss.weight + 4 * loss.prior, np.finfo(float).tiny))
    scale[loss.weight + loss.prior == 0] = 1.0
    half, limit = box.width / (2 * tau), accuracy * np.maximum(loss.weight, np.finfo(float).tiny)
    latest = np.empty(0)

    def value_and_slope(scaled: Floats) -> tuple[float, Floats]:
        nonlocal latest
        x = scale * scaled
        latest = loss.prior * x
        value = _add_pairs(loss.winner, loss.loser, loss.margin, x, latest)
        return value + loss.prior / 2 * float(x @ x), latest * scale

    def arrived(intermediate_result: Any) -> None:
        held = Box(-half * _INSIDE, half * _INSIDE).free(scale * intermediate_result.x, latest)
        if bool((np.abs(held) <= limit).all()):
            raise StopIteration

    bounds = optimize.Bounds(-half / scale, half / scale)
    options = {"maxiter": max_steps, "maxfun": 3 * max_steps + 20, "maxcor": _MEMORY, "ftol": progress, "gtol": 0.0}
    begin = np.clip((start - box.middle) / tau, -half, half) / scale
    found: Any = optimize.minimize(value_and_slope, begin, (), "L-BFGS-B", jac=True, bounds=bounds, callback=arrived, options=options)  # type: ignore[call-overload]
    return Descent(_in_box(found.x * scale, half, box, tau), int(found.nit), float(found.fun))


@kernel
def _add_pairs(winner: Ids, loser: Ids, margin: Floats, x: Floats, slope: Floats) -> float:
    """Sum of margins times sigmoids at x, in temperatures; its gradient is added to `slope`."""
    total, lost = 0.0, 0.0  # Kahan's sum: line searches compare values to their last digits
    for p in range(len(winner)):
        wrong = 1.0 / (1.0 + np.exp(x[winner[p]] - x[loser[p]]))
        push = margin[p] * wrong * (1.0 - wrong)
        term = margin[p] * wrong - lost
        grown = total + term
        lost = (grown - total) - term
        total = grown
        slope[loser[p]] += push
        slope[winner[p]] -= push
    return total


def _in_box(x: Floats, half: float, box: Box, tau: float) -> Floats:
    """Ratings, those at a bound but for rounding exactly there."""
    near = half * _INSIDE
    theta = np.clip(box.middle + tau * x, box.low, box.high)
    return np.select([x >= near, x <= -near], [box.high, box.low], theta)
