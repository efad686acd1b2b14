"""Forecasts of games that were not played, from ratings, deviations and the record of earlier forecasts.

The code is plain Python on single numbers, because a reader asks for a few games.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from ratings_core import checks
from ratings_core.errors import InputError

_LARGEST: Final = 1e100
_TIES_PRIOR: Final = 20.0
"""Pairs of which each class of forecasts is taken to have seen the share of ties of all classes."""


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

    def log_odds(self, a: Strength, b: Strength) -> float:
        """The method's own log odds of side a against side b. Forecasts scale them (`Prequential.scale`)."""
        doubt = self.spread * (a.deviation * a.deviation + b.deviation * b.deviation)
        return self.slope * (a.mean - b.mean) / math.sqrt(1.0 + doubt)


def expected_score(log_odds: float) -> float:
    """Expected score from calibrated log odds: the probability of a win plus half that of a tie."""
    return 1.0 / (1.0 + math.exp(-log_odds)) if log_odds >= 0 else math.exp(log_odds) / (1.0 + math.exp(log_odds))


def tie_probability(expected: float, classes: Sequence[ForecastClass]) -> float:
    """Probability of a tie of two sides, from the shares of ties of earlier forecasts.

    The shares of the classes, each with `_TIES_PRIOR` pairs of the share of all, are connected by straight lines over their mean forecasts.

    Args:
        expected: Expected score of one side, 0 to 1; the other's gives the same value.
        classes: Classes of earlier forecasts, in ascending order of forecasts.

    Returns:
        The probability, at most twice the expected score of the weaker side. 0 without earlier forecasts.
    """
    favourite = max(expected, 1.0 - expected)
    total = math.fsum(one.weight for one in classes)
    if not total:
        return 0.0
    overall = math.fsum(one.weight * one.ties for one in classes) / total
    points = [(one.forecast, (one.weight * one.ties + _TIES_PRIOR * overall) / (one.weight + _TIES_PRIOR)) for one in classes]
    return min(_between(points, favourite), 2.0 * (1.0 - favourite))


def win_probabilities(log_odds: Sequence[Sequence[float]]) -> list[float]:
    """Probability of each side to end before all others, without ties.

    By the Plackett-Luce model, with strengths that are the mean log odds against all sides. They are those of the model itself if the log
    odds of the pairs are differences of strengths; otherwise their least-squares approximation.

    Args:
        log_odds: Calibrated log odds of each side against each, (n, n), antisymmetric, 0 on the diagonal.
    """
    strengths = [math.fsum(row) / len(row) for row in log_odds]
    weights = [math.exp(strength - max(strengths)) for strength in strengths]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def evenness(probabilities: Sequence[float]) -> float:
    """Quality of a match: entropy of who wins over that of an even match, 0 (decided) to 1 (even)."""
    return -math.fsum(p * math.log(p) for p in probabilities if p > 0.0) / math.log(len(probabilities))


def _between(points: Sequence[tuple[float, float]], x: float) -> float:
    """Value at x of the straight lines through points in ascending order; beyond the first and last point, their value."""
    if x <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return points[-1][1]
