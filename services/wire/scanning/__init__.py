"""Compiled scanner of plain game records. It converts bytes to columns without a Python object for each outcome.

May import: `services.wire` and `ratings_core`.
Read first: `scan.py` (entry point), `games.py` (grammar), `buffers.py` (memory).
"""
