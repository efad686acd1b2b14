"""Elo's rating, online (Elo 1978), for games of two or more sides, which are agents or teams."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import number, whole
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import log, sigmoid
from ratings_core.online.games import NO_KEYS, Scoring, scoring
from ratings_core.online.pairwise import Keys, fold_pairs, no_noise
from ratings_core.online.plain import PlainRater
from ratings_core.online.prequential import Prequential
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, tracing
from ratings_core.records.games import GameColumns, games_of
from ratings_core.records.outcomes import OutcomeBatch

_MAX_K: Final = 1e6
_MAX_RATING: Final = 1e9
_MIN_SCALE: Final = 1e-6


@dataclass(frozen=True)
class Elo(PlainRater):
    """Expected score E = 1/(1 + base**(-(a - b)/scale)); after an outcome each member of a side moves by K weight/(n - 1) sum(S - E).

    An outcome of n sides counts as its n(n-1)/2 pairs, all with the ratings before the outcome. S is 1, 1/2 (tie) or 0, and the sum is over
    the n - 1 opponents. A team's rating is the mean of its members. For two sides this is the textbook rule.

    k: step in rating points, 0 to 1e6. scale: points in which the odds grow by `base` (> 1). start: rating before any outcome.
    provisional_k: K of an agent that has taken part in fewer than provisional_outcomes outcomes; give both or neither. Raises `InputError`
    on settings out of range. Source of the n-sided form: the sum over pairs divided by n - 1, so that K bounds a move for any n.
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
        self._set("provisional_outcomes", whole("provisional_outcomes", self.provisional_outcomes))
        if (self.provisional_k is None) != (self.provisional_outcomes == 0):
            raise InputError("provisional_outcomes", self.provisional_outcomes, "must be at least 1 with provisional_k, and 0 without")
        if self.provisional_k is not None:
            self._set("provisional_k", number("provisional_k", self.provisional_k, low=0.0, high=_MAX_K))

    def fold(self, state: OnlineState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` does."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        self.grow(state, n)
        provisional_k = self.k if self.provisional_k is None else self.provisional_k
        rates = (self.k, provisional_k, self.provisional_outcomes)
        _fold(state.rating, state.outcomes, games, NO_KEYS, self._slope, rates, scoring(score, games), traced)

    @property
    def _slope(self) -> float:
        """Log odds per rating point. The fold uses it, so it is computed by the portable log."""
        return log(self.base) / self.scale


_Rates = tuple[float, float, int]
"""k, provisional_k, provisional_outcomes."""


@kernel
def _fold(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], games: GameColumns, key: Keys, slope: float, rates: _Rates, scoring: Scoring,
    trace: Tracing,
) -> None:  # fmt: skip
    fold_pairs(rating, outcomes, games, key, slope, rates, scoring, trace, no_noise, _push, _moved)


@inlined
def _push(_rates: _Rates, x: float, result: float, _luck: float) -> float:
    """S - E."""
    return result - sigmoid(x)


@inlined
def _moved(rates: _Rates, rating: float, outcomes: int, weight: float, opponents: int, _members: int, push: float) -> float:
    k = rates[1] if outcomes < rates[2] else rates[0]
    return rating + k * weight / opponents * push
