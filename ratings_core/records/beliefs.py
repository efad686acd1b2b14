"""Beliefs about agents' strengths: normal ones, whose deviation may grow while an agent is away. Evaluated when read, agent by agent.

Plain Python on numbers: a reader of a board evaluates a few rows and needs no kernels for it.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

LEVEL: Final = 0.95
"""Probability that a belief gives to its `interval`."""
_WIDTHS: Final = 1.96
"""Deviations on both sides of the mean that hold so much of a normal distribution."""


class Belief(NamedTuple):
    """What an agent's last outcome left of a belief.

    deviation: its standard deviation then, in the ratings' unit; wander: standard deviation of what strength moves by in each period
    away, in the same unit, 0 where nothing grows; since: number of the period after that of the last outcome, the first that can count
    as away.
    """

    deviation: float
    wander: float = 0.0
    since: int = 0


@dataclass(frozen=True, slots=True)
class BeliefModel:
    """What all beliefs of a method have in common.

    newcomer: deviation before any outcome, in the ratings' unit; none grows beyond it; below: how many deviations, as the last outcome left
    them, the value that ranks lies below the mean; period_seconds: length of the periods, counted from 1970, at whose
    end the deviations of those who were away have grown; None where they do not grow; stretch: true errors over the method's deviations,
    by which intervals are wider than deviations say.
    """

    newcomer: float
    below: float = 0.0
    period_seconds: float | None = None
    stretch: float = 1.0

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
        mean, reach = rating + self.below * belief.deviation, _WIDTHS * self.stretch * self.deviation(belief, time)
        return mean - reach, mean + reach
