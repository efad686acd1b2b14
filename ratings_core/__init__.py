"""Rating methods that resist cycles and clones. Functions take and return arrays and use no clock, network, environment or process.

May import: nothing of `services`; third-party libraries for numerics only.
Read first: `solution.py` (the result of every solver), `errors.py`, then the folder of a method.
"""
