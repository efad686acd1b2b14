"""Soft Condorcet optimisation by a Fenchel-Young loss, online (Lanctot et al. 2025, sec. 3.3 and appendix B)."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import number
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.online.games import Scoring, keys_of, scoring
from ratings_core.online.noise import checked_seed, gumbel, keyed_word
from ratings_core.online.pairwise import Keys, fold_pairs
from ratings_core.online.plain import PlainRater
from ratings_core.online.prequential import Prequential
from ratings_core.online.sco import projected_step
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, tracing
from ratings_core.records.games import GameColumns, games_of
from ratings_core.records.outcomes import OutcomeBatch

_MAX_ALPHA: Final = 1e6
_MAX_RATING: Final = 1e9
_MIN_SIGMA: Final = 1e-6


@dataclass(frozen=True)
class FenchelYoung(PlainRater):
    """Stochastic gradient descent with batches of one outcome on the Fenchel-Young loss of ranking under Gumbel noise.

    Sigma times a standard Gumbel deviate is added to each side's rating, and the sides are ranked by the sums. Each side then moves by
    alpha times weight times the number of places by which its result is better than this rank, and is clipped to [low, high]. On average
    over the noise, a pair contributes S - sigmoid((a - b)/sigma). So the loss is convex, and its minimum is the Bradley-Terry fit at scale
    sigma (in the box). This method favours win rates, whereas `Sco` favours the order that most pairs agree with.

    The noise is keyed by the seed, the hash of the outcome's id and the side's number, so a replay draws the same bits. Outcomes without
    ids need `OutcomeBatch.numbered`.

    Differences from the source: eq. 9 as printed is minus the gradient (its ranks count from the best, those of appendix B from the worst);
    this method descends the gradient of appendix B. Tied sides share their places, so a tied pair moves together (the source has no ties).
    A team's rating is the mean of its members, and a member's gradient is the team's over its size (the source has single agents only).

    sigma: temperature, 1e-6 or more, in rating points. alpha: step, 0 to 1e6. low, high: bounds of ratings, low < high, within +-1e9.
    start: rating before any outcome, within the bounds. seed: of the noise, 0 to 2**53. Raises `InputError` on settings out of range.
    """

    name: ClassVar[str] = "fenchel_young"

    sigma: float = 1.0
    alpha: float = 0.2
    low: float = 0.0
    high: float = 100.0
    start: float = 50.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._set("sigma", number("sigma", self.sigma, low=_MIN_SIGMA, high=_MAX_RATING))
        self._set("alpha", number("alpha", self.alpha, low=0.0, high=_MAX_ALPHA))
        self._set("low", number("low", self.low, low=-_MAX_RATING, high=_MAX_RATING))
        self._set("high", number("high", self.high, above=self.low, high=_MAX_RATING))
        self._set("start", number("start", self.start, low=self.low, high=self.high))
        self._set("seed", checked_seed(self.seed))

    def fold(self, state: OnlineState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` does. Also raises `InputError` if an outcome has no key."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        key = keys_of(batch)
        self.grow(state, n)
        settings = (self.alpha, self.low, self.high, np.uint64(self.seed))
        _fold(state.rating, state.outcomes, games, key, self._slope, settings, scoring(score, games), traced)

    def _bounded(self, ratings: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(ratings, self.low, self.high)

    @property
    def _slope(self) -> float:
        return 1.0 / self.sigma


_Settings = tuple[float, float, float, np.uint64]
"""alpha, low, high, seed."""


@kernel
def _fold(
    rating: NDArray[np.float64], outcomes: NDArray[np.int64], games: GameColumns, key: Keys, slope: float, settings: _Settings,
    scoring: Scoring, trace: Tracing,
) -> None:  # fmt: skip
    fold_pairs(rating, outcomes, games, key, slope, settings, scoring, trace, _noise, _push, projected_step)


@inlined
def _noise(settings: _Settings, key: Keys, outcome: int, side: int) -> float:
    return gumbel(keyed_word(settings[3], key[outcome, 0], key[outcome, 1], np.uint64(side)))


@inlined
def _push(_settings: _Settings, x: float, result: float, luck: float) -> float:
    """The result minus the result of the perturbed ratings. Its sum over opponents is the number of places by which a side did better than
    them.
    """
    felt = x + luck
    return result - (0.5 + 0.5 * (int(felt > 0.0) - int(felt < 0.0)))
