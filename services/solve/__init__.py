"""Solves: which are due, how they run, and what they return.

May import: `services.boards`, `services.imports` and everything below them; never `services.shard`.
Read first: `registry/methods.py` (the methods), `scheduler/scheduler.py` (running them), `worker/tasks.py`.
"""
