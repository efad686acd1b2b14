"""Checkpoints: data objects, the manifests that name them, and which ones are retained.

May import: `services.log`, `services.runtime`.
Read first: `checkpoint.py` (manifests and recovery order), `objects.py` (the array container).
"""
