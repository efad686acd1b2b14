"""What methods solve: games, results of pairs, margins, ballots and tables of scores, with the names of agents.

May import: everything below. Read first: `inputs.py`.
"""
