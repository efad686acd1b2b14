"""The engine: the driver process that starts Ray, shards and solves, supervises them and exports metrics.

May import: everything except `services.api`, `services.web` and `services.cli`.
Only this folder and `services.solve.worker.task_pool` import ray.
Read first: `engine.py`, `cluster.py` (the Ray cluster), `metrics.py`.
"""
