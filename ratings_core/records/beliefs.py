"""Beliefs about agents' strengths: normal ones, whose deviation may grow while an agent is away. Evaluated when read, agent by agent.

Plain Python on numbers: a reader of a board evaluates a few rows and needs no kernels for it.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

LEVEL: Final = 0.95
"""Share of true strengths that an `interval` is meant to hold."""
_WIDTHS: Final = 1.96
"""Deviations on both sides of the mean that hold so much of a normal distribution."""
_FARTHEST: Final = 4.0
"""Logits from the start beyond which `Stretch` grows no more: the simulations that it was found by had hardly an agent farther."""
_WIDEST: Final = 1.5
"""Logits beyond which a newcomer's deviation counts no more: the simulations had none that was wider."""


class Belief(NamedTuple):
    """What an agent's last outcome left of a belief.

    deviation: its standard deviation then, in the ratings' unit; wander: standard deviation of what strength moves by in each period
    away, in the same unit, 0 where nothing grows; since: number of the period after that of the last outcome, the first that can count
    as away.
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
        """The factor for one agent."""
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
    """

    newcomer: float
    below: float = 0.0
    period_seconds: float | None = None
    start: float = 0.0
    logit: float = 1.0
    stretch: Stretch = NO_STRETCH

    def deviation(self, belief: Belief, time: float | None) -> float:
        """Of a belief as of `time`, seconds since 1970: variance has grown by wander**2 for every whole period away.

        As the last outcome left it for None, and for any time before the period after that outcome's has ended.
        """
        if time is None or self.period_seconds is None or not belief.wander:
            return belief.deviation
        away = math.floor(time / self.period_seconds) - belief.since
        if away <= 0:
            return belief.deviation
        return math.sqrt(min(belief.deviation * belief.deviation + away * (belief.wander * belief.wander), self.newcomer * self.newcomer))

    def interval(self, rating: float, belief: Belief, time: float | None) -> tuple[float, float]:
        """Where the strength of an agent of that rating is as of `time`, by `LEVEL`: its mean and 1.96 stretched deviations."""
        mean, deviation = rating + self.below * belief.deviation, self.deviation(belief, time)
        # By the deviation that the last outcome left: so an interval never narrows while its agent is away.
        place = (mean - self.start) / self.logit, belief.deviation / self.newcomer, self.newcomer / self.logit
        reach = _WIDTHS * deviation * self.stretch.at(*place)
        return mean - reach, mean + reach
