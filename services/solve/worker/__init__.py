"""The worker processes of solves: the pool of processes, and the tasks that run in them.

May import: `services.solve.registry`, `services.solve.problems`, `services.solve.insight`, `services.solve.results`, `services.boards`,
`services.checkpoints`.
Read first: `tasks.py` (what a solve does), `task_pool.py` (the pool of worker processes).
"""
