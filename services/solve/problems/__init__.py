"""Problems, the inputs of methods: games, pairs, margins, ballots and score tables, from files or checkpoints.

May import: `services.imports`, `services.state`, `services.checkpoints`, `ratings_core`.
Read first: `inputs.py` (the kinds of problem), `load.py` (from a file).
"""
