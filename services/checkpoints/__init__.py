"""Checkpoints: data objects, manifests that name them, and the removal of old ones.

May import: `services.log`, `services.runtime`.
Read first: `checkpoint.py` (manifests and recovery order), `objects.py` (the array container).
"""
