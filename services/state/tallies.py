"""Tallies of one pool, the input of solved methods: pairs, places, and optionally groups of games and features; or scores."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.frozen import Arrays
from ratings_core.records.outcomes import OutcomeBatch, ScoreBatch
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.clusters import in_groups
from ratings_core.tallies.featured_games import FeaturedGames
from ratings_core.tallies.place_tally import TeamTally
from services.control.records import FoldSettings
from services.state.features import values_of
from services.state.parts import LargePart, part


class PoolTally(LargePart, Protocol):
    """One of the tallies."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, reserved capacity included."""

    def drop_before(self, bucket: int) -> None:
        """Drop the buckets below `bucket`."""


class Tallies:
    """The tallies of one pool.

    Attributes:
        pairs, places: Results of games. Agents count where they are a side alone.
        teams: Places of the members of teams; None unless the pool has records of team games.
        scores: Sums of scores.
        clusters: Pairs by group of games (`ratings_core.tallies.clusters`); None unless the pool is clustered.
        features: Games with the features that the pool's settings name; None without features.
    """

    def __init__(self, fold: FoldSettings) -> None:
        self.pairs, self.places, self.scores = PairTally(per_task=fold.per_task), PlaceTally(), ScoreTable()
        self.teams = TeamTally() if fold.by_shape else None
        self.clusters = PairTally(per_task=True) if fold.clustered else None
        features = list(dict.fromkeys(fold.features))  # `OnlineRatings` stops a pool that names one twice
        self.features = FeaturedGames(features, fold.feature_window) if features else None

    @classmethod
    def from_arrays(cls, fold: FoldSettings, arrays: Arrays) -> "Tallies":
        """Rebuild the tallies from the arrays of a pool's content."""
        tallies = cls(fold)
        tallies.pairs = PairTally.from_arrays(part(arrays, "pairs"))
        tallies.places = PlaceTally.from_arrays(part(arrays, "places"))
        tallies.scores = ScoreTable.from_arrays(part(arrays, "scores"))
        if tallies.teams is not None:
            tallies.teams = TeamTally.from_arrays(part(arrays, "teams"))
        if tallies.clusters is not None:
            tallies.clusters = PairTally.from_arrays(part(arrays, "clusters"))
        if tallies.features is not None:
            tallies.features = FeaturedGames.from_arrays(part(arrays, "features"))
        return tallies

    def add_games(self, batch: OutcomeBatch, bucket: NDArray[np.int64], meta: Arena) -> None:
        """Count n games.

        Args:
            batch: The games.
            bucket: int64 (n,), time bucket of each game.
            meta: JSON `meta` of each game; empty text if it has none.
        """
        self.pairs.add(batch, bucket)
        self.places.add(batch, bucket)
        if self.teams is not None and len(batch.agent) > len(batch.place):  # a side has several agents
            self.teams.add(batch, bucket)
        if self.clusters is not None:
            self.clusters.add(in_groups(batch), bucket)
        if self.features is not None:
            self.features.add(batch, bucket, values_of(meta, self.features.names))

    def add_scores(self, batch: ScoreBatch, bucket: NDArray[np.int64]) -> None:
        """Count n outcomes with scores. bucket: int64 (n,), time bucket of each outcome."""
        self.scores.add(batch, bucket)

    def drop_before(self, bucket: int) -> None:
        """Drop the buckets below `bucket`."""
        for tally in self.parts.values():
            tally.drop_before(bucket)

    @property
    def parts(self) -> dict[str, PoolTally]:
        """The tallies by the prefix of their arrays."""
        kept: dict[str, PoolTally | None] = {"pairs": self.pairs, "places": self.places, "scores": self.scores}
        kept |= {"teams": self.teams, "clusters": self.clusters, "features": self.features}
        return {name: tally for name, tally in kept.items() if tally is not None}

    @property
    def nbytes(self) -> int:
        """Bytes of memory held, reserved capacity included."""
        return sum(tally.nbytes for tally in self.parts.values())
