"""The sigmoid loss of soft Condorcet optimisation on sparse margins, and its minimisation in a box of ratings.

The loss depends on the votes only through their margins: sum N(a, b) sigmoid((b - a)/tau) equals, up to a constant, the sum over pairs of
|margin| sigmoid((loser - winner)/tau), with the winner of each pair by its margin (Lanctot et al. 2025, eq. 8 and appendix A).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.batch.pair_counts import MetPairs
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats

Ids = NDArray[np.int64]

_MEMORY: Final = 10
"""Number of corrections in the memory of L-BFGS."""
_STALLED: Final = 1e-15
"""Smallest relative progress of an L-BFGS step. Smaller progress is rounding error."""
_INSIDE: Final = 1 - 4 * float(np.finfo(float).eps)
"""Share of half the box's width beyond which a rating counts as being at the bound. The difference to 1 is rounding error."""


@dataclass(frozen=True, slots=True)
class Box:
    """Bounds of all ratings. low < high."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Length of the interval from `low` to `high`."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """Middle of the interval, the initial rating of Algorithm 1."""
        return self.low + self.width / 2

    def free(self, theta: Floats, gradient: Floats) -> Floats:
        """Projected gradient (m,): 0 for a rating at a bound that descent would push out of the box, else `gradient`."""
        held = ((theta <= self.low) & (gradient > 0)) | ((theta >= self.high) & (gradient < 0))
        return np.where(held, 0.0, gradient)


@dataclass(frozen=True, slots=True)
class SigmoidLoss:
    """The sigmoid loss of m agents, given by their margins, with an optional prior that pulls ratings to the middle of the box.

    winner, loser: int64 (pairs,), of the pairs with a margin; margin: float64 (pairs,), > 0; agreed: sum over pairs of the smaller of
    N(a, b) and N(b, a), the votes that every order gets wrong; prior: >= 0, adds prior/2 ((theta - middle)/tau)^2 for each agent.
    """

    m: int
    winner: Ids
    loser: Ids
    margin: Floats
    agreed: float
    prior: float = 0.0

    @classmethod
    def of(cls, counts: MetPairs, prior: float = 0.0) -> "SigmoidLoss":
        """The loss of these tallies; ties are ignored."""
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
        """Sum of each agent's absolute margins (m,)."""
        return self._per_agent(self.margin, self.margin)

    def value(self, theta: Floats, tau: float) -> float:
        """The loss over all votes and their pairs (eq. 6), without the prior."""
        return self.agreed + float(self.margin @ scipy.special.expit((theta[self.loser] - theta[self.winner]) / tau))

    def forces(self, theta: Floats, tau: float, middle: float) -> Floats:
        """Gradient of the loss, including the prior, times tau (m,)."""
        wrong = scipy.special.expit((theta[self.loser] - theta[self.winner]) / tau)
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
    """Result of a descent. theta: (m,); steps: number of L-BFGS steps; value: loss including the prior, minus `agreed`."""

    theta: Floats
    steps: int
    value: float


def descend(
    loss: SigmoidLoss, box: Box, tau: float, start: Floats, max_steps: int, *, progress: float = _STALLED, accuracy: float = 0.0
) -> Descent:
    """Minimise the loss at one temperature by L-BFGS-B from `start`.

    The descent stops if a step reduces the loss by less than the share `progress`, or if each component of the projected gradient, times
    tau, is at most `accuracy` times the sum of the agent's absolute margins.

    Ratings are scaled by the square root of these sums, so that agents with many votes do not determine the step of agents with few.
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

    bounds = scipy.optimize.Bounds(-half / scale, half / scale)
    options = {"maxiter": max_steps, "maxfun": 3 * max_steps + 20, "maxcor": _MEMORY, "ftol": progress, "gtol": 0.0}
    begin = np.clip((start - box.middle) / tau, -half, half) / scale
    minimum: Any = scipy.optimize.minimize(  # type: ignore[call-overload]
        value_and_slope, begin, (), "L-BFGS-B", jac=True, bounds=bounds, callback=arrived, options=options
    )
    return Descent(_in_box(minimum.x * scale, half, box, tau), int(minimum.nit), float(minimum.fun))


@kernel
def _add_pairs(winner: Ids, loser: Ids, margin: Floats, x: Floats, slope: Floats) -> float:
    """Sum of margins times sigmoids at x, in units of the temperature. Adds its gradient to `slope`."""
    total, lost = 0.0, 0.0  # Kahan summation, because line searches compare values that differ only in their last digits
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
    """Convert x to ratings. A rating within rounding error of a bound becomes exactly the bound."""
    near = half * _INSIDE
    theta = np.clip(box.middle + tau * x, box.low, box.high)
    return np.select([x >= near, x <= -near], [box.high, box.low], theta)
