"""Sources of intervals: resampling of a solve's data, and normal intervals that need no refits.

May import: `services.solve.registry`, `services.solve.problems`, `services.boards`.
Read first: `normal.py`, `resampling.py`.
"""
