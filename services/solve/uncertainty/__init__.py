"""What intervals are made of: how the data of a solve are redrawn, and normal intervals that need no refits.

May import: `services.solve.registry`, `services.solve.problems`, `services.boards`.
Read first: `normal.py`, `resampling.py`.
"""
