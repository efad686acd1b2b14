"""Games by time bucket: recent results can count more than old ones, and the half-life that predicts best can be found."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import InputError
from ratings_core.margins import choose_half_life
from ratings_core.tallies import PairTally, PlaceTally

LEAST_WEIGHT: Final = 2.0**-20
"""The unit of weights. Results that would weigh less are left out."""
PERIODS: Final = 160
"""Most periods into which a history is divided to choose a half-life."""
HELD_OUT: Final = 10
"""Newest periods that are predicted from those before them."""
_LEAST_PERIODS: Final = 4
_CANDIDATES: Final = (*(2.0**power for power in range(8)), math.inf)
"""Half-lives that are tried, in periods."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The half-life that predicts held-out games best.

    Attributes:
        half_life: In buckets; 0 where results of any age should count alike.
        period: Buckets of one period.
        losses: Half-life in buckets (0: none) and log loss in nats a game, of each candidate.
        games: Weight of the games that were held out.
    """

    half_life: float
    period: int
    losses: tuple[tuple[float, float], ...]
    games: float


@dataclass(frozen=True, slots=True)
class History:
    """Tallies of games by time bucket.

    Attributes:
        tasks: Names of tasks by id.
        pairs: Results of pairs of single agents.
        places: Who came where.
        clusters: Results of pairs by group of whole games, as `services.state.clusters` counts them; None where they are not counted.
    """

    tasks: tuple[str, ...]
    pairs: PairTally
    places: PlaceTally
    clusters: PairTally | None = None

    @property
    def buckets(self) -> list[int]:
        """Numbers of the buckets that hold games, rising."""
        return sorted({*self.pairs.slabs.buckets, *self.places.slabs.buckets})

    @property
    def timed(self) -> bool:
        """Whether games were counted by time: without that, all are in bucket 0."""
        return self.buckets not in ([], [0])

    def weights(self, half_life: float) -> dict[int, float] | None:
        """Weights of buckets, the newest one with weight 1; None where all results count alike.

        Args:
            half_life: Buckets after which a result counts half; 0: all results count alike.
        """
        if not half_life:
            return None
        buckets = self.buckets
        weights = {bucket: 2.0 ** ((bucket - buckets[-1]) / half_life) for bucket in buckets}
        return {bucket: weight for bucket, weight in weights.items() if weight >= LEAST_WEIGHT}

    def choose(self, agents: int) -> Choice:
        """The half-life of least held-out log loss: the newest periods are predicted by posterior margins of those before them.

        Args:
            agents: How many agents there are.

        Raises:
            InputError: The games span fewer than four buckets, or none can be held out.
        """
        buckets = self.buckets
        first, last = buckets[0], buckets[-1]
        if last - first + 1 < _LEAST_PERIODS:
            rule = f"must be chosen from at least {_LEAST_PERIODS} time buckets: make them shorter"
            raise InputError("half_life", f"{last - first + 1} time buckets", rule)
        period = math.ceil((last - first + 1) / PERIODS)
        starts = range(last + 1 - period * math.ceil((last - first + 1) / period), last + 1, period)
        periods = [buckets[bisect_left(buckets, start) : bisect_left(buckets, start + period)] for start in starts]
        tallies = [of_tally(self.pairs.counts(dict.fromkeys(within, 1.0)), agents) for within in periods]
        found = choose_half_life(tallies, _CANDIDATES, first=max(1, len(tallies) - HELD_OUT))
        losses = tuple((_in_buckets(candidate, period), loss) for candidate, loss in zip(_CANDIDATES, found.losses, strict=True))
        return Choice(_in_buckets(found.half_life, period), period, losses, found.games)


def _in_buckets(periods: float, period: int) -> float:
    return 0.0 if math.isinf(periods) else periods * period
