"""Soft Condorcet optimisation, online: one step down the sigmoid loss an outcome (Lanctot et al. 2025)."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import count, number
from ratings_core.kernel import inlined, kernel
from ratings_core.online.games import UNIT, check_pair, games_of, result_of, scoring, side_means
from ratings_core.online.prequential import Prequential, record
from ratings_core.online.state import OnlineState
from ratings_core.outcomes import MAX_SIDES, OutcomeBatch
from ratings_core.portable import exp, sigmoid

_MAX_ALPHA: Final = 1e6
_MAX_RATING: Final = 1e9
_MIN_TAU: Final = 1e-6


@dataclass(frozen=True)
class Sco:
    """Stochastic gradient descent with batches of one outcome (sec. 3.2.1, eq. 7, Algorithm 1; E.4).

    The loss of an outcome is the sum, over its pairs of sides of which a ended before b, of sigmoid((b - a)/tau): a soft count
    of the pairs that the ratings order wrongly. Each outcome takes one step of alpha times weight down its gradient, from the
    ratings before it, then clips them to [low, high]. Tied pairs contribute nothing. A team plays at the mean of its members,
    so that a member's gradient is the team's over its size (the paper has single agents only).

    tau: temperature, 1e-6 or more. alpha: step, 0 to 1e6. low, high: bounds of ratings, low < high, within +-1e9.
    start: rating before any outcome, within the bounds. Raises `InputError` on settings out of range.
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

    def init(self, n: int) -> OnlineState:
        """A state of `n` agents at `start`."""
        state = OnlineState()
        self._grow(state, count("n", n))
        return state

    def fold(self, state: OnlineState, batch: OutcomeBatch, score: Prequential | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` says."""
        games, n = games_of(batch)
        self._grow(state, n)
        step = (self._slope, self.alpha * self._slope, self.low, self.high)
        _fold(state.rating, state.outcomes, *games, step, *scoring(score))

    def predict(self, state: OnlineState, a: int, b: int) -> float:
        """sigmoid((a - b)/tau): the share of pairs like this that the loss counts as rightly ordered. Raises as `Rater.predict` does."""
        check_pair(state, a, b)
        return sigmoid(self._slope * float(state.rating[a] - state.rating[b]))

    @property
    def _slope(self) -> float:
        return 1.0 / self.tau

    def _grow(self, state: OnlineState, n: int) -> None:
        state.grow(n, {"rating": self.start, "outcomes": 0})

    def _set(self, field: str, value: float) -> None:
        object.__setattr__(self, field, value)


_Step = tuple[float, float, float, float]
"""1/tau, alpha/tau, low, high."""


@kernel
def _fold(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64],
    side_start: NDArray[np.int64], place: NDArray[np.int32], agent_start: NDArray[np.int64], agent: NDArray[np.uint32],
    weight: NDArray[np.int64], step: _Step, scored: bool, counts: NDArray[np.int64], sums: NDArray[np.float64],
) -> None:  # fmt: skip
    """One against one is written out here, since calls that pass arrays cost as much again; the bits are the general way's."""
    mean, push = np.empty(MAX_SIDES), np.empty(MAX_SIDES)
    for i in range(len(weight)):
        first, n = side_start[i], side_start[i + 1] - side_start[i]
        begin = agent_start[first]
        if n != 2 or agent_start[first + 2] - begin != 2:
            side_means(rating, agent_start, agent, first, n, mean)
            _pushes(place, first, n, weight[i], mean, step[0], scored, counts, sums, push)
            _move(rating, outcomes, agent_start, agent, first, n, weight[i], step, push)
            continue
        a, b = agent[begin], agent[begin + 1]
        x = step[0] * (rating[a] - rating[b])
        result = result_of(place[first], place[first + 1])
        if scored:
            record(counts, sums, x, sigmoid(x), result, weight[i])
        up = (2.0 * result - 1.0) * _bell(x)
        rating[a] = _clip(rating[a] + step[1] * (weight[i] * UNIT) * up, step)
        rating[b] = _clip(rating[b] + step[1] * (weight[i] * UNIT) * (0.0 - up), step)
        outcomes[a] += 1
        outcomes[b] += 1


@kernel
def _pushes(
    place: NDArray[np.int32], first: int, n: int, weight: int, mean: NDArray[np.float64], slope: float,
    scored: bool, counts: NDArray[np.int64], sums: NDArray[np.float64], push: NDArray[np.float64],
) -> None:  # fmt: skip
    """Minus tau times the gradient by each side's rating, summed over its opponents in the order of the sides."""
    push[:n] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            x = slope * (mean[i] - mean[j])
            result = result_of(place[first + i], place[first + j])
            if scored:
                record(counts, sums, x, sigmoid(x), result, weight)
            up = (2.0 * result - 1.0) * _bell(x)
            push[i] += up
            push[j] -= up


@kernel
def _move(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], agent_start: NDArray[np.int64], agent: NDArray[np.uint32],
    first: int, n: int, weight: int, step: _Step, push: NDArray[np.float64],
) -> None:  # fmt: skip
    for side in range(n):
        begin, end = agent_start[first + side], agent_start[first + side + 1]
        rate = step[1] * (weight * UNIT) / (end - begin)
        for member in range(begin, end):
            a = agent[member]
            rating[a] = _clip(rating[a] + rate * push[side], step)
            outcomes[a] += 1


@inlined
def _bell(x: float) -> float:
    """The sigmoid's derivative, sigmoid(x) sigmoid(-x)."""
    small = exp(-abs(x))
    return small / ((1.0 + small) * (1.0 + small))


@inlined
def _clip(rating: float, step: _Step) -> float:
    """Algorithm 1's projection."""
    return min(max(rating, step[2]), step[3])
