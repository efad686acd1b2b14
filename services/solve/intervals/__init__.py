"""Intervals of solved ratings and ranks, from replicates of the data.

May import: `services.solve.uncertainty`, `services.solve.worker` and what they may import.
Read first: `plan.py` (which boards get intervals), `tasks.py`, `replicates.py`.
"""
