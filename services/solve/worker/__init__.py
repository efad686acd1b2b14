"""The worker processes of solves: the pool of them, and what a task does in its process.

May import: `services.solve.registry`, `services.solve.problems`, `services.solve.insight`, `services.boards`, `services.checkpoints`.
Read first: `tasks.py` (what a solve does), `task_pool.py` (the pool of worker processes).
"""
