"""The service around `ratings_core`: log, shards, solves, boards, API and command line.

Folders are layers, and imports go down only; tests/unit/docs/test_layers.py lists them.
"""
