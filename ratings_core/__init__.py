"""Ratings that resist cycles and clones: arrays in, arrays out. No clock, network, environment or process.

May import: nothing of `services`; third-party libraries for numerics only.
Read first: `solution.py` (what every solver returns), `errors.py`, then the folder of a method.
"""
