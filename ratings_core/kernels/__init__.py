"""Foundations of the compiled kernels: compilation, portable exp and log, memory advice.

May import: nothing of `ratings_core` outside this folder.
Read first: `portable.py` (why results are equal bit for bit on every processor).
"""
