"""Outcomes as arrays, and rosters of names.

May import: `ratings_core.arrays`, `ratings_core.kernels`, and the modules at the top of `ratings_core`.
Read first: `outcomes.py`, `roster.py`.
"""
