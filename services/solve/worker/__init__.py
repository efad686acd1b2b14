"""What runs inside the process of a solve: reading a checkpoint, solving, limits on memory and priority.

May import: `services.solve.registry`, `services.solve.problems`, `services.solve.insight`, `services.boards`, `services.checkpoints`.
Read first: `tasks.py`.
"""
