"""The pools of `equirank up --demo`: a real evaluation, and simulated pools, which are labeled as simulated.

`atari.csv` holds Table 3 of Marris et al., Deviation Ratings: 20 agents on 53 Atari games, scores normalized per game.

May import: `services.imports`, `services.solve`, `services.boards` and everything below them.
Read first: `feed.py`, `clones.py` (the clone attack).
"""
