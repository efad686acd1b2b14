"""Publishing changed boards to the store while the shard keeps folding.

May import: `services.shard` and everything it may import.
Read first: `publisher.py` (rounds and their results), `updates.py` (the copy of a pool's changes), `selection.py` (which pools are
written), `writing.py` (fences, and boards in the store that another shard wrote).
"""
