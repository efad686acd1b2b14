"""Building new generations of a pool beside the one that serves readers.

May import: `services.shard` and everything it may import.
Read first: `builder.py` (when a generation is due, and the switch), `build.py` (folding it).
"""
