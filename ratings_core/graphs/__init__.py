"""Graph algorithms shared by methods and analyses.

May import: nothing of `ratings_core`.
Read first: `components.py`.
"""
