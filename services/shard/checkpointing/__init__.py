"""Writing checkpoints while the shard keeps folding.

May import: `services.shard` and everything it may import.
Read first: `checkpointer.py` (begin, freeze, submit), `entries.py` (which pools are written), `writer.py` (objects, pruning),
`freezing.py` (copying pools in slices).
"""
