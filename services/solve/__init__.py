"""Solves: the planning of due solves, their execution in worker processes, and their results.

May import: `services.boards`, `services.imports` and everything below them; never `services.shard`.
Read first: `registry/methods.py` (the methods), `scheduler/scheduler.py` (running them), `worker/tasks.py`.
"""
