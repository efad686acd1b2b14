"""The front door of the library: `rate`, `compare` and `predict`, for games in any form, with results that know names.

May import: everything below.
Read first: `rate.py`, `rating.py`.
"""
