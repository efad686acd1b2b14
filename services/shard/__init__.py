"""Shards: the Ray actor that folds partitions, publishes boards and writes checkpoints.

May import: `services.boards`, `services.backends` and everything below them; never `services.solve`.
Read first: `worker.py` (the loop), `partition.py` (the fold), `recovery.py`.
"""
