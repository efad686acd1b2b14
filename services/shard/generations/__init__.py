"""Building new generations of a pool beside the one that serves readers.

May import: `services.shard` and everything it may import.
Read first: `builder.py` (one step, and the switch), `due.py` (when a generation is due), `starts.py` (from where it is folded),
`build.py` (folding it), `past.py` (reading the log once more), `retries.py` (after a failure).
"""
