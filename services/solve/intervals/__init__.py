"""Intervals of solved ratings and ranks, from replicates of the data.

May import: `services.solve.registry`, `services.solve.problems`, `services.solve.scheduler`.
Read first: `replicates.py`, `resampling.py`, `runner.py`.
"""
