"""Elo's rating, online (Elo 1978), for games of two sides or more, of agents or teams."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import count, number
from ratings_core.errors import InputError
from ratings_core.kernel import inlined, kernel
from ratings_core.online.games import UNIT, check_pair, games_of, result_of, scoring, side_means
from ratings_core.online.prequential import Prequential, record
from ratings_core.online.state import OnlineState
from ratings_core.outcomes import MAX_SIDES, OutcomeBatch
from ratings_core.portable import log, sigmoid

_MAX_K: Final = 1e6
_MAX_RATING: Final = 1e9
_MIN_SCALE: Final = 1e-6


@dataclass(frozen=True)
class Elo:
    """Expected score E = 1/(1 + base**(-(a - b)/scale)); after an outcome each member of a side moves by K weight/(n - 1) sum(S - E).

    An outcome of n sides is its n(n-1)/2 pairs, all from the ratings before it; S is 1, 1/2 (tie) or 0; the sum is over the
    n - 1 opponents; a team plays at the mean of its members. For two sides this is the textbook's rule.

    k: step in rating points, 0 to 1e6. scale: points in which the odds grow by `base` (> 1). start: rating before any outcome.
    provisional_k: K of an agent that has taken part in fewer than provisional_outcomes outcomes; both are given or neither.
    Raises `InputError` on settings out of range. Source of the n-sided form: the sum over pairs divided by n - 1, so that K
    bounds a move whatever n is.
    """

    name: ClassVar[str] = "elo"

    k: float = 32.0
    scale: float = 400.0
    base: float = 10.0
    start: float = 1500.0
    provisional_k: float | None = None
    provisional_outcomes: int = 0

    def __post_init__(self) -> None:
        self._set("k", number("k", self.k, low=0.0, high=_MAX_K))
        self._set("scale", number("scale", self.scale, low=_MIN_SCALE, high=_MAX_RATING))
        self._set("base", number("base", self.base, above=1.0))
        self._set("start", number("start", self.start, low=-_MAX_RATING, high=_MAX_RATING))
        self._set("provisional_outcomes", count("provisional_outcomes", _whole(self.provisional_outcomes)))
        if (self.provisional_k is None) != (self.provisional_outcomes == 0):
            raise InputError("provisional_outcomes", self.provisional_outcomes, "must be at least 1 with provisional_k, and 0 without")
        if self.provisional_k is not None:
            self._set("provisional_k", number("provisional_k", self.provisional_k, low=0.0, high=_MAX_K))

    def init(self, n: int) -> OnlineState:
        """A state of `n` agents at `start`."""
        state = OnlineState()
        self._grow(state, count("n", n))
        return state

    def fold(self, state: OnlineState, batch: OutcomeBatch, score: Prequential | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` says."""
        games, n = games_of(batch)
        self._grow(state, n)
        provisional_k = self.k if self.provisional_k is None else self.provisional_k
        rates = (self.k, provisional_k, self.provisional_outcomes)
        _fold(state.rating, state.outcomes, *games, rates, self._slope, *scoring(score))

    def predict(self, state: OnlineState, a: int, b: int) -> float:
        """Expected score of agent `a` against agent `b`. Raises `InputError` where the state has no such agents."""
        check_pair(state, a, b)
        return sigmoid(self._slope * float(state.rating[a] - state.rating[b]))

    @property
    def _slope(self) -> float:
        """Log odds a rating point; by our own log, as it is part of the fold."""
        return log(self.base) / self.scale

    def _grow(self, state: OnlineState, n: int) -> None:
        state.grow(n, {"rating": self.start, "outcomes": 0})

    def _set(self, field: str, value: float) -> None:
        object.__setattr__(self, field, value)


def _whole(value: object) -> object:
    """Settings files may write 30 as 30.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Rates = tuple[float, float, int]


@kernel
def _fold(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64],
    side_start: NDArray[np.int64], place: NDArray[np.int32], agent_start: NDArray[np.int64], agent: NDArray[np.uint32],
    weight: NDArray[np.int64], rates: _Rates, slope: float, scored: bool, counts: NDArray[np.int64], sums: NDArray[np.float64],
) -> None:  # fmt: skip
    """One against one is written out here, since calls that pass arrays cost as much again; the bits are `_game`'s."""
    mean, gain = np.empty(MAX_SIDES), np.empty(MAX_SIDES)
    for i in range(len(weight)):
        first, n = side_start[i], side_start[i + 1] - side_start[i]
        begin = agent_start[first]
        if n != 2 or agent_start[first + 2] - begin != 2:
            side_means(rating, agent_start, agent, first, n, mean)
            _gains(place, first, n, weight[i], mean, slope, scored, counts, sums, gain)
            _move(rating, outcomes, agent_start, agent, first, n, weight[i], rates, gain)
            continue
        a, b = agent[begin], agent[begin + 1]
        x = slope * (rating[a] - rating[b])
        expected, result = sigmoid(x), result_of(place[first], place[first + 1])
        if scored:
            record(counts, sums, x, expected, result, weight[i])
        step = result - expected
        rating[a] += _rate(outcomes[a], rates) * (weight[i] * UNIT) * step
        rating[b] += _rate(outcomes[b], rates) * (weight[i] * UNIT) * (0.0 - step)
        outcomes[a] += 1
        outcomes[b] += 1


@kernel
def _gains(
    place: NDArray[np.int32], first: int, n: int, weight: int, mean: NDArray[np.float64], slope: float,
    scored: bool, counts: NDArray[np.int64], sums: NDArray[np.float64], gain: NDArray[np.float64],
) -> None:  # fmt: skip
    """Sum of S - E over each side's opponents, in the order of the sides."""
    gain[:n] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            x = slope * (mean[i] - mean[j])
            expected, result = sigmoid(x), result_of(place[first + i], place[first + j])
            if scored:
                record(counts, sums, x, expected, result, weight)
            gain[i] += result - expected
            gain[j] -= result - expected


@kernel
def _move(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], agent_start: NDArray[np.int64], agent: NDArray[np.uint32],
    first: int, n: int, weight: int, rates: _Rates, gain: NDArray[np.float64],
) -> None:  # fmt: skip
    for side in range(n):
        for member in range(agent_start[first + side], agent_start[first + side + 1]):
            a = agent[member]
            rating[a] += _rate(outcomes[a], rates) * (weight * UNIT) / (n - 1) * gain[side]
            outcomes[a] += 1


@inlined
def _rate(outcomes: int, rates: _Rates) -> float:
    """K of an agent that has taken part in `outcomes` outcomes. rates: k, provisional_k, provisional_outcomes."""
    return rates[1] if outcomes < rates[2] else rates[0]
