"""Outcomes as columns: one form for files, data frames, records and archives.

May import: `ratings_core.records`, `ratings_core.arrays`, `ratings_core.kernels`.
Read first: `outcomes.py`.
"""

from ratings_core.columns.outcomes import Games, TaskScores

__all__ = ["Games", "TaskScores"]
