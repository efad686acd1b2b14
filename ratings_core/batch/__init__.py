"""Methods fitted to all outcomes at once, from tallies.

May import: `ratings_core.voting`, `ratings_core.tallies` and everything below them.
Read first: `bradley_terry.py`, `comparisons.py` (their input), `soft_condorcet.py`.
"""
