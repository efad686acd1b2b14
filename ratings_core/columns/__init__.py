"""Outcomes as columns: one form for files, data frames, records and archives."""

from ratings_core.columns.outcomes import Games, TaskScores

__all__ = ["Games", "TaskScores"]
