"""Forecasts of games that were not played, from ratings, deviations and the record of earlier forecasts.

Nothing here needs kernels, so that a reader of boards need not load them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError

Floats: TypeAlias = NDArray[np.float64]

_LARGEST: Final = 1e100
_TIES_PRIOR: Final = 20.0
"""Pairs with the tie parameter of all classes that are added to each class, which matters where it has few pairs."""
_MOST_TIES: Final = 0.95
"""Largest share of ties in a class, in units of the largest that its forecast allows. It keeps tie parameters finite."""


class Strength(NamedTuple):
    """What a method knows of a side: mean strength, and its standard deviation, 0 for methods without deviations; in rating points."""

    mean: float
    deviation: float = 0.0


class ForecastClass(NamedTuple):
    """Pairs whose favourites had forecasts between two neighbours of 0.5, 0.55, ..., 1.

    weight: number of pairs, by weight. forecast, result: mean forecast and mean result of the favourite, where a tie counts 1/2. ties:
    share of ties.
    """

    weight: float
    forecast: float
    result: float
    ties: float


@dataclass(frozen=True, slots=True)
class ForecastModel:
    """How a method's strengths become log odds.

    Those of side a against side b are slope (m_a - m_b) / sqrt(1 + spread (v_a + v_b)), with means m and variances v. `Rater.forecasts`
    gives the model of each rater.

    Attributes:
        slope: Log odds per rating point, above 0.
        spread: Weight of variances, per squared rating point, 0 or more.
        sums: Whether the strength of a team is the sum of its members' strengths; otherwise it is their mean.

    Raises:
        InputError: A parameter is out of its range.
    """

    slope: float
    spread: float = 0.0
    sums: bool = False

    def __post_init__(self) -> None:
        checks.number("slope", self.slope, above=0.0, high=_LARGEST)
        checks.number("spread", self.spread, low=0.0, high=_LARGEST)
        checks.instance("sums", self.sums, bool)

    def team(self, members: Sequence[Strength]) -> Strength:
        """The strength of a side from those of its members, of which there is at least one."""
        if not members:
            raise InputError("members", members, "must be one or more")
        parts = 1 if self.sums else len(members)
        variance = math.fsum(member.deviation * member.deviation for member in members)
        return Strength(math.fsum(member.mean for member in members) / parts, math.sqrt(variance) / parts)

    def log_odds(self, sides: Sequence[Strength]) -> Floats:
        """The method's own log odds of each side against each, (n, n), antisymmetric. Forecasts scale them (`Prequential.scale`)."""
        mean, deviation = np.array(sides, np.float64).T
        variance = deviation * deviation
        return np.asarray(self.slope * (mean[:, None] - mean) / np.sqrt(1.0 + self.spread * (variance[:, None] + variance)))


def expected_scores(log_odds: Floats) -> Floats:
    """Expected scores from calibrated log odds: the probability of a win plus half that of a tie."""
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0.0, 1.0, small) / (1.0 + small))


class Ties:
    """Probabilities of ties of two sides, from the shares of ties of earlier forecasts.

    Davidson's model (1970) says p_tie = nu sqrt(p_win p_loss). Here nu depends on the favourite's forecast: each class of earlier forecasts
    has its own, averaged with that of all classes as if it had `_TIES_PRIOR` more pairs, and straight lines connect them over the classes'
    mean forecasts. So no forecast leaves a side without a chance to win.

    Args:
        classes: Classes of earlier forecasts, in ascending order. Without one, nothing is tied.
    """

    def __init__(self, classes: Sequence[ForecastClass]) -> None:
        self._forecasts, self._nu = np.array([0.5]), np.array([0.0])
        if not classes:
            return
        weight, forecast, _, ties = np.array(classes, np.float64).T
        overall = _nu(weight @ forecast / weight.sum(), weight @ ties / weight.sum())
        averaged = (weight * ties + _TIES_PRIOR * _tie(forecast, overall)) / (weight + _TIES_PRIOR)
        self._forecasts, self._nu = forecast, _nu(forecast, averaged)

    def probability(self, expected: Floats) -> Floats:
        """Probability of a tie. expected: expected scores of one side, 0 to 1; those of the other side give the same values."""
        favourite = np.maximum(expected, 1.0 - expected)
        return np.asarray(_tie(favourite, np.interp(favourite, self._forecasts, self._nu)))


def win_probabilities(log_odds: Floats) -> Floats:
    """Probability of each side to end before all others, if there are no ties.

    By the Plackett-Luce model, with strengths that are the mean log odds against all sides. They are those of the model itself if the log
    odds of the pairs are differences of strengths; otherwise their least-squares approximation.

    Args:
        log_odds: Calibrated log odds of each side against each, (n, n), antisymmetric, 0 on the diagonal.
    """
    strength = log_odds.mean(axis=1)
    weight = np.exp(strength - strength.max())
    return np.asarray(weight / weight.sum())


def evenness(probabilities: Floats) -> float:
    """Entropy of who ends first over that of an even game, 0 (decided) to 1 (even)."""
    likely = probabilities[probabilities > 0.0]
    return min(1.0, max(0.0, float(-(likely @ np.log(likely)) / math.log(len(probabilities)))))


def _tie(expected: Floats, nu: Floats | float) -> Floats:
    """Probability t of a tie by Davidson's model, from t**2 = nu**2 (e - t/2)(1 - e - t/2)."""
    square = np.square(nu)
    product = 4.0 * expected * (1.0 - expected)
    # the positive root, without a difference of nearly equal numbers
    return np.asarray(
        square * product / (square / 2.0 + np.sqrt(square * square / 4.0 * (1.0 - product) + square * product) + 1e-300) / 2.0
    )


def _nu(expected: Floats, ties: Floats) -> Floats:
    """Davidson's parameter for a share of ties at an expected score."""
    largest = 2.0 * np.minimum(expected, 1.0 - expected)
    tie = np.minimum(ties, _MOST_TIES * largest)
    apart = (expected - tie / 2.0) * (1.0 - expected - tie / 2.0)
    return np.asarray(np.divide(tie, np.sqrt(apart), out=np.zeros_like(tie + apart), where=apart > 0.0))
