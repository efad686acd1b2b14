"""Building new generations of a pool beside the one that serves readers.

May import: `services.shard` and everything it may import.
Read first: `builder.py` (one step, and the switch), `due.py` (when a generation is due, or built again), `build.py` (folding it),
`past.py` (reading the log once more).
"""
