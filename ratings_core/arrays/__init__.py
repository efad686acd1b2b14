"""Arrays used as data structures: byte arenas, hash tables, hashing, digests, freezing.

May import: `ratings_core.kernels`, `ratings_core.errors`.
Read first: `hash_table.py`, `hashing.py`.
"""
