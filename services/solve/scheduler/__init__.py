"""The scheduler of solves: it runs due solves as Ray tasks, keeps their results, and publishes them.

May import: the other folders of `services.solve`, `services.boards`, `services.checkpoints`.
Read first: `scheduler.py` (the loop), `flights.py` (running tries), `newest.py` (their results).
"""
