"""Tallies: counts of pairs and places, and score tables, by time bucket. They are the complete input of a solve and can be merged."""

from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.pair_tally import PairTally
from ratings_core.tallies.place_tally import PlaceCounts, PlaceTally
from ratings_core.tallies.score_table import ScoreCells, ScoreTable

__all__ = ["PairCounts", "PairTally", "PlaceCounts", "PlaceTally", "ScoreCells", "ScoreTable"]
