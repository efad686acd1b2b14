"""Outcome files: opening, unpacking and reading rows as outcomes of the wire schema.

May import: `services.wire`, `services.control`, `services.runtime`, `ratings_core.formats`.
Read first: `files.py` (rows to outcomes), `sources.py` (opening and unpacking).
"""
