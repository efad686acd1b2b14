"""Analyses of data and ratings: connectivity, cycles, clones, intervals, next matches.

May import: every other folder of `ratings_core` except `reference`.
Read first: `insight.py` (the report), `intervals.py`.
"""
