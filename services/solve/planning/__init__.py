"""Planning of solves: which jobs are due and in which order, as pure functions.

May import: `services.boards`, `services.runtime`.
Read first: `jobs.py` (what a job is, and its lifecycle), `due.py` (what is due), `ledger.py` (what is known of each job).
"""
