"""Publishing what changed to the store, beside the fold.

May import: `services.shard` and everything it may import.
Read first: `publisher.py` (rounds and their ends), `updates.py` (what is copied of a pool), `selection.py` (whose turn it is),
`writing.py` (fences, and what a store shows that this shard did not write).
"""
