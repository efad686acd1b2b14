"""The service around `ratings_core`: log, shards, solves, boards, API and command line.

Folders are layers, and imports go down only; tests/unit/docs/test_layers.py lists them.

May import: `ratings_core`.
Read first: docs/concepts/architecture.md, then `shard/worker.py` (the data path) and `engine/engine.py` (the driver).
"""
