"""The wire schema, version 1: decoding, checking and explaining outcome records, and their columns.

May import: `services.runtime` and `ratings_core`.
Read first: `events.py` (decoder and encoder), `rules.py` (why an outcome is refused), `columns.py` (the arrays that kernels fold).
"""
