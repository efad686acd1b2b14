"""Planning of solves: which jobs are due and in which order, as pure functions.

May import: nothing of `services`.
Read first: `jobs.py` (what a job is), `plan.py` (what is due).
"""
