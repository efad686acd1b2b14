"""Games by time bucket: weights that make recent results count more, and the choice of the half-life that predicts best."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import InputError
from ratings_core.tallies import PairTally, PlaceTally

LEAST_WEIGHT: Final = 2.0**-20
"""The unit of weights. Results with a smaller weight are left out."""
PERIODS: Final = 160
"""Largest number of periods into which a history is divided to choose a half-life."""
HELD_OUT: Final = 10
"""Number of newest periods whose games are predicted from earlier periods."""
_LEAST_PERIODS: Final = 4
_CANDIDATES: Final = (*(2.0**power for power in range(8)), math.inf)
"""Half-lives that are compared, in periods."""


@dataclass(frozen=True, slots=True)
class HalfLifeChoice:
    """The half-life that predicts held-out games best.

    Attributes:
        half_life: In buckets; 0 if all results should count alike.
        period: Number of buckets in one period.
        losses: For each candidate its half-life in buckets (0: all results count alike) and its log loss in nats per game.
        games: Total weight of the held-out games.
    """

    half_life: float
    period: int
    losses: tuple[tuple[float, float], ...]
    games: float


@dataclass(frozen=True, slots=True)
class BucketedGames:
    """Tallies of games by time bucket.

    Attributes:
        tasks: Names of tasks by id.
        pairs: Results of pairs of single agents.
        places: Places of agents in games, by number of sides.
        clusters: Results of pairs by random group of complete games, as `ratings_core.tallies.clusters` counts them; None if not counted.
    """

    tasks: tuple[str, ...]
    pairs: PairTally
    places: PlaceTally
    clusters: PairTally | None = None

    @property
    def buckets(self) -> list[int]:
        """Numbers of the buckets that hold games, in ascending order."""
        return sorted({*self.pairs.slabs.buckets, *self.places.slabs.buckets})

    @property
    def timed(self) -> bool:
        """Whether games were counted by time. If not, all games are in bucket 0."""
        return self.buckets not in ([], [0])

    def weights(self, half_life: float) -> dict[int, float] | None:
        """Bucket -> weight of its results. The newest bucket has weight 1. None if all results count alike.

        Args:
            half_life: Number of buckets after which a result counts half; 0 weighs all results alike.
        """
        if not half_life:
            return None
        buckets = self.buckets
        weights = {bucket: 2.0 ** ((bucket - buckets[-1]) / half_life) for bucket in buckets}
        return {bucket: weight for bucket, weight in weights.items() if weight >= LEAST_WEIGHT}

    def choose(self, agents: int) -> HalfLifeChoice:
        """Choose the half-life of least held-out log loss. Posterior margins of earlier periods predict each of the newest periods.

        Args:
            agents: Number of agents.

        Raises:
            InputError: The games span fewer than four buckets, or none can be held out.
        """
        from ratings_core.margins import choose_half_life  # noqa: PLC0415 - takes time to load, and few need it

        buckets = self.buckets
        first, last = buckets[0], buckets[-1]
        if last - first + 1 < _LEAST_PERIODS:
            rule = f"must be chosen from at least {_LEAST_PERIODS} time buckets: make --bucket-seconds smaller"
            raise InputError("half_life", f"{last - first + 1} time buckets", rule)
        period = math.ceil((last - first + 1) / PERIODS)
        starts = range(last + 1 - period * math.ceil((last - first + 1) / period), last + 1, period)
        periods = [buckets[bisect_left(buckets, start) : bisect_left(buckets, start + period)] for start in starts]
        tallies = [of_tally(self.pairs.counts(dict.fromkeys(within, 1.0)), agents) for within in periods]
        choice = choose_half_life(tallies, _CANDIDATES, first=max(1, len(tallies) - HELD_OUT))
        losses = tuple((_in_buckets(candidate, period), loss) for candidate, loss in zip(_CANDIDATES, choice.losses, strict=True))
        return HalfLifeChoice(_in_buckets(choice.half_life, period), period, losses, choice.games)


def _in_buckets(periods: float, period: int) -> float:
    return 0.0 if math.isinf(periods) else periods * period
