"""Tallies of one pool: what solved methods read. Pairs, places and, where asked for, groups of whole games and features; or scores."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.frozen import Arrays, Frozen
from ratings_core.records.outcomes import OutcomeBatch, ScoreBatch
from ratings_core.tallies import PairTally, PlaceTally, ScoreTable
from ratings_core.tallies.featured_games import FeaturedGames
from services.control.records import FoldSettings
from services.state.clusters import in_groups
from services.state.features import values_of
from services.state.parts import part


class Part(Protocol):
    """One of the tallies."""

    @property
    def nbytes(self) -> int:
        """Bytes held, with what is reserved for growth."""

    def drop_before(self, bucket: int) -> None:
        """Drop the buckets below `bucket`."""

    def arrays(self) -> Arrays:
        """Canonical copy."""

    def frozen(self) -> Frozen:
        """What `arrays` gives now."""


class Tallies:
    """pairs, places: of games. scores: of measurements. clusters: pairs by groups of whole games; features: games with the features that
    the pool's settings name; both None where the pool keeps none.
    """

    def __init__(self, fold: FoldSettings) -> None:
        self.pairs, self.places, self.scores = PairTally(per_task=fold.per_task), PlaceTally(), ScoreTable()
        self.clusters = PairTally(per_task=True) if fold.clustered else None
        features = list(dict.fromkeys(fold.features))  # settings that name one twice stop their pool, and no other (`OnlineRatings`)
        self.features = FeaturedGames(features, fold.feature_window) if features else None

    @classmethod
    def from_arrays(cls, fold: FoldSettings, arrays: Arrays) -> "Tallies":
        """The tallies that are among a pool's content."""
        tallies = cls(fold)
        tallies.pairs = PairTally.from_arrays(part(arrays, "pairs"))
        tallies.places = PlaceTally.from_arrays(part(arrays, "places"))
        tallies.scores = ScoreTable.from_arrays(part(arrays, "scores"))
        if tallies.clusters is not None:
            tallies.clusters = PairTally.from_arrays(part(arrays, "clusters"))
        if tallies.features is not None:
            tallies.features = FeaturedGames.from_arrays(part(arrays, "features"))
        return tallies

    def add_games(self, batch: OutcomeBatch, bucket: NDArray[np.int64], meta: Arena) -> None:
        """Count games. bucket: time bucket of each; meta: JSON of each, empty where it has none."""
        self.pairs.add(batch, bucket)
        self.places.add(batch, bucket)
        if self.clusters is not None:
            self.clusters.add(in_groups(batch), bucket)
        if self.features is not None:
            self.features.add(batch, bucket, values_of(meta, self.features.names))

    def add_scores(self, batch: ScoreBatch, bucket: NDArray[np.int64]) -> None:
        """Count measurements. bucket: time bucket of each."""
        self.scores.add(batch, bucket)

    def drop_before(self, bucket: int) -> None:
        """Drop the buckets below `bucket`."""
        for tally in self.parts.values():
            tally.drop_before(bucket)

    @property
    def parts(self) -> dict[str, Part]:
        """The tallies by the prefix of their arrays."""
        kept: dict[str, Part | None] = {"pairs": self.pairs, "places": self.places, "scores": self.scores}
        kept |= {"clusters": self.clusters, "features": self.features}
        return {name: tally for name, tally in kept.items() if tally is not None}

    @property
    def nbytes(self) -> int:
        """Bytes held, with what is reserved for growth."""
        return sum(tally.nbytes for tally in self.parts.values())
