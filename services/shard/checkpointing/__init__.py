"""Writing checkpoints while the shard keeps folding.

May import: `services.shard` and everything it may import.
Read first: `checkpointer.py` (schedule and writing), `freezing.py` (copying pools in slices).
"""
