"""Files and tables of outcomes as columns. Readers name the row and column of invalid input.

May import: `ratings_core.columns`, `ratings_core.voting.profile`, `ratings_core.records`.
Read first: `reading.py` (from a file to parts), `options.py`, `roles.py` (which columns hold what), then the folder `tables`.
"""
