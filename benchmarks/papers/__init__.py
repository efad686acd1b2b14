"""Reproduction of the five papers behind the methods: each table and figure, printed beside ours.

`equirank papers` runs it. A folder holds a paper: a `Paper` with its items, over the public API of `ratings_core` only. `items.py` has
the records of a result, `run.py` runs items and stores results, `pages.py` writes the pages in docs/papers from stored results, and
`figures.py` draws. `data/PAPER` has the public numbers that a paper's experiments need, and `data` those of several papers.
"""
