"""Which solves are due, running them as Ray tasks, and keeping their results.

May import: the other folders of `services.solve`, `services.boards`, `services.checkpoints`.
Read first: `plan.py` (what is due), `runner.py` (running it), `tasks.py` (inside the task's process).
"""
