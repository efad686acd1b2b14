"""State of one pool: ratings, tallies, names and the dedupe window. The state is a pure fold of the pool's outcomes.

May import: `services.control`, `services.wire`, `services.runtime`, `ratings_core`. No log, store, clock or Ray.
Read first: `pool.py` (the path of an outcome), `content.py` (what checkpoints hold), `dedupe.py` (exactly once), `edits.py` (retractions,
bans and aliases).
"""
