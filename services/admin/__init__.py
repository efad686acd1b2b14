"""Operator tools: verification, backup and restore, dead-letter replay, log coverage.

May import: `services.shard` (pure parts), `services.solve`, and everything below them.
Read first: `verify.py`, `backup.py`.
"""
