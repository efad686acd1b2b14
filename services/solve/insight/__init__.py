"""Insight: what ratings alone do not show, such as cycles, clones and weakly connected agents.

May import: `services.solve.problems`, `services.boards`, `ratings_core.analysis`.
Read first: `job.py`, `parts.py`.
"""
