"""What a solve needs to know of all outcomes: counts of pairs, of places, and scores by agent and task. Mergeable, by time bucket."""

from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.pair_tally import PairTally
from ratings_core.tallies.place_tally import PlaceCounts, PlaceTally
from ratings_core.tallies.score_table import ScoreCells, ScoreTable

__all__ = ["PairCounts", "PairTally", "PlaceCounts", "PlaceTally", "ScoreCells", "ScoreTable"]
