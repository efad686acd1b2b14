"""Soft Condorcet optimisation, online: one step down the sigmoid loss per outcome (Lanctot et al. 2025)."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import number
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import exp
from ratings_core.online.games import NO_KEYS, Scoring, scoring
from ratings_core.online.pairwise import Keys, fold_pairs, no_noise
from ratings_core.online.plain import PlainRater
from ratings_core.online.prequential import Prequential
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, tracing
from ratings_core.records.games import GameColumns, games_of
from ratings_core.records.outcomes import OutcomeBatch

_MAX_ALPHA: Final = 1e6
_MAX_RATING: Final = 1e9
_MIN_TAU: Final = 1e-6


@dataclass(frozen=True)
class Sco(PlainRater):
    """Stochastic gradient descent with batches of one outcome (sec. 3.2.1, eq. 7, Algorithm 1; E.4).

    The loss of an outcome is the sum of sigmoid((b - a)/tau) over its pairs of sides a, b in which a ended before b: a soft count of the
    pairs that the ratings order wrongly. Each outcome takes one step of alpha times weight down the gradient, from the ratings before the
    outcome, and then clips them to [low, high]. Tied pairs contribute nothing. A team's rating is the mean of its members, so a member's
    gradient is the team's over its size (the paper has single agents only).

    tau: temperature, 1e-6 or more. alpha: step, 0 to 1e6. low, high: bounds of ratings, low < high, within +-1e9. start: rating before any
    outcome, within the bounds. Raises `InputError` on settings out of range.
    """

    name: ClassVar[str] = "sco"

    tau: float = 1.0
    alpha: float = 0.5
    low: float = 0.0
    high: float = 100.0
    start: float = 50.0

    def __post_init__(self) -> None:
        self._set("tau", number("tau", self.tau, low=_MIN_TAU, high=_MAX_RATING))
        self._set("alpha", number("alpha", self.alpha, low=0.0, high=_MAX_ALPHA))
        self._set("low", number("low", self.low, low=-_MAX_RATING, high=_MAX_RATING))
        self._set("high", number("high", self.high, above=self.low, high=_MAX_RATING))
        self._set("start", number("start", self.start, low=self.low, high=self.high))

    def fold(self, state: OnlineState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` does."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        self.grow(state, n)
        step = (self.alpha * self._slope, self.low, self.high)
        _fold(state.rating, state.outcomes, games, NO_KEYS, self._slope, step, scoring(score, games), traced)

    def _bounded(self, ratings: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(ratings, self.low, self.high)

    @property
    def _slope(self) -> float:
        return 1.0 / self.tau


_Step = tuple[float, float, float]
"""alpha/tau, low, high."""


@kernel
def _fold(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], games: GameColumns, key: Keys, slope: float, step: _Step, scoring: Scoring,
    trace: Tracing,
) -> None:  # fmt: skip
    fold_pairs(rating, outcomes, games, key, slope, step, scoring, trace, no_noise, _push, projected_step)


@inlined
def _push(_step: _Step, x: float, result: float, _luck: float) -> float:
    """Minus tau times the gradient by the side's rating: the sigmoid's derivative, sigmoid(x) sigmoid(-x), signed by the result."""
    small = exp(-abs(x))
    return (2.0 * result - 1.0) * (small / ((1.0 + small) * (1.0 + small)))


@inlined
def projected_step(step: _Step, rating: float, _outcomes: int, weight: float, _opponents: int, members: int, push: float) -> float:
    """A member's rating after a step, clipped to the box (Algorithm 1's projection). Its gradient is the team's over its size.

    step: rate, low, high.
    """
    return min(max(rating + step[0] * weight / members * push, step[1]), step[2])
