"""The registry of solved methods: inputs, parameters, cost, limits, and how an answer becomes a board.

May import: `services.solve.problems`, `services.boards`, `services.control`, `ratings_core`.
Read first: `methods.py` (the table of methods), `method.py` (one row's type), `parameters.py`.
"""
