"""Normal beliefs about agents' strengths. Deviations can grow while an agent does not play; they are computed on read.

The code is plain Python on single numbers, because a reader of a board evaluates only a few rows.
"""

import math
import sys
from dataclasses import dataclass
from typing import Final, NamedTuple

from ratings_core import checks
from ratings_core.errors import InputError

LEVEL: Final = 0.95
"""Nominal coverage of an `interval`."""
_WIDTHS: Final = 1.96
"""Half the width of an interval of coverage `LEVEL`, in deviations of a normal distribution."""
_FARTHEST: Final = 4.0
"""Largest distance from the start, in logits, in `Stretch`. Its simulations had very few agents at larger distances."""
_WIDEST: Final = 1.5
"""Largest deviation of a new agent, in logits, in `Stretch`. Its simulations had no larger deviation."""
_LARGEST: Final = 1e100
"""Largest accepted number. Products of larger numbers could overflow."""
_MOST_PERIODS: Final = 2**63 - 1


class Belief(NamedTuple):
    """A belief directly after the agent's last outcome.

    deviation: standard deviation, in the unit of the ratings; wander: standard deviation of the change in strength per period of
    inactivity, in the same unit, 0 if deviations do not grow; since: number of the period after the last outcome's period, the first period
    that can count as inactive.
    """

    deviation: float
    wander: float = 0.0
    since: int = 0


class Stretch(NamedTuple):
    """Factor by which an interval is wider than the method's deviation says. It corrects the deviation to the true error.

    The factor is 1 + (1 - r**2) (base + distance * x**2 + doubt * r + spread * n).

    - r: deviation after the last outcome, divided by a new agent's deviation, at most 1. 1 - r**2 is the share of the variance that games
      have removed, so a new agent's factor is 1.
    - x: difference of the mean from a new agent's mean in logits, at most 4.
    - n: a new agent's deviation in logits, at most 1.5.

    Simulation determined the four numbers of each method (docs/concepts/intervals.md).
    """

    base: float = 0.0
    distance: float = 0.0
    doubt: float = 0.0
    spread: float = 0.0

    def at(self, x: float, r: float, n: float) -> float:
        """The factor for one agent, from x, r and n as defined above."""
        x, r, n = min(abs(x), _FARTHEST), min(r, 1.0), min(n, _WIDEST)
        return 1.0 + (1.0 - r * r) * (self.base + self.distance * x * x + self.doubt * r + self.spread * n)


NO_STRETCH: Final = Stretch()


@dataclass(frozen=True, slots=True)
class BeliefModel:
    """Common parameters of a method's beliefs.

    Attributes:
        newcomer: Deviation of a new agent, in the unit of the ratings. It is also the limit to which an inactive agent's deviation grows.
        below: Number of deviations (as of the last outcome) by which the rating is below the mean.
        period_seconds: Length of a rating period, counted from 1970. An inactive agent's deviation grows at the end of each period. None
            if deviations do not grow.
        start: Mean of a new agent.
        logit: Rating difference that changes the log odds by 1.
        stretch: Factor of the widths of intervals.

    Raises:
        InputError: A parameter or an argument of a method has another type, is not finite, is beyond 1e100 (except deviations and wanders),
            or is not positive (`newcomer` and `logit`), below 1 (`period_seconds`), or negative (deviations and wanders).
    """

    newcomer: float
    below: float = 0.0
    period_seconds: float | None = None
    start: float = 0.0
    logit: float = 1.0
    stretch: Stretch = NO_STRETCH

    def __post_init__(self) -> None:
        _check_number("newcomer", self.newcomer, 1 / _LARGEST)
        _check_number("logit", self.logit, 1 / _LARGEST)
        _check_number("below", self.below, -_LARGEST)
        _check_number("start", self.start, -_LARGEST)
        if self.period_seconds is not None:
            _check_number("period_seconds", self.period_seconds, 1.0)
        for name, factor in zip(Stretch._fields, checks.instance("stretch", self.stretch, Stretch), strict=True):
            _check_number(f"stretch.{name}", factor, -_LARGEST)

    def mean(self, rating: float, belief: Belief) -> float:
        """Mean strength of an agent from its rating on a board."""
        return rating + self.below * belief.deviation

    def deviation(self, belief: Belief, time: float | None) -> float:
        """Deviation of a belief at `time`, in seconds since 1970. The variance grows by wander**2 for every full period of inactivity.

        The deviation after the last outcome is returned if `time` is None, or no full period has passed since that outcome's period.
        """
        _check(belief, time)
        return self._deviation(belief, time)

    def interval(self, rating: float, belief: Belief, time: float | None) -> tuple[float, float]:
        """Interval of the strength of an agent at `time`: the mean minus and plus 1.96 deviations times the correction factor.

        rating: ranking value of the agent; time: seconds since 1970, or None for the time of the last outcome. The interval is infinite if
        its width is beyond the largest double.
        """
        _check_number("rating", rating, -_LARGEST)
        _check(belief, time)
        mean, deviation = self.mean(rating, belief), self._deviation(belief, time)
        # The factor uses the deviation after the last outcome, so that an interval never narrows during inactivity.
        place = (mean - self.start) / self.logit, belief.deviation / self.newcomer, self.newcomer / self.logit
        reach = _WIDTHS * deviation * self.stretch.at(*place)
        if not math.isfinite(mean):
            raise InputError("belief.deviation", belief.deviation, "must be small enough for a finite mean")
        return mean - reach, mean + reach

    def _deviation(self, belief: Belief, time: float | None) -> float:
        if time is None or self.period_seconds is None or not belief.wander:
            return belief.deviation
        away = math.floor(time / self.period_seconds) - belief.since
        if away <= 0:
            return belief.deviation
        return math.sqrt(min(belief.deviation * belief.deviation + away * (belief.wander * belief.wander), self.newcomer * self.newcomer))


def _check(belief: Belief, time: float | None) -> None:
    deviation, wander, since = checks.instance("belief", belief, Belief)
    _check_number("belief.deviation", deviation, 0.0, sys.float_info.max)
    _check_number("belief.wander", wander, 0.0, sys.float_info.max)
    checks.count("belief.since", since, low=-_MOST_PERIODS, high=_MOST_PERIODS)
    if time is not None:
        _check_number("time", time, -_LARGEST)


def _check_number(argument: str, value: float, low: float, high: float = _LARGEST) -> None:
    if type(value) is float and low <= value <= high:
        return  # the usual case, because every row of a board's page is checked
    checks.number(argument, value, low=low, high=high)
