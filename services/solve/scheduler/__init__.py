"""The scheduler of solves: it runs due solves as Ray tasks, and publishes results that the store lacks.

May import: the other folders of `services.solve`, `services.boards`, `services.checkpoints`.
Read first: `scheduler.py` (the loop), `flights.py` (running tries), `publication.py` (reconciliation with the store).
"""
