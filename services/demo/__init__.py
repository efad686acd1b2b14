"""What `equirank up --demo` plays: one real evaluation, and one simulated pool that is labelled so.

`atari.csv` holds Table 3 of Marris et al., Deviation Ratings: 20 agents on 53 Atari games, scores normalised per game.
"""
