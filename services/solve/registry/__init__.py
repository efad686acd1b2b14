"""The registry of solved methods: their inputs, parameters, costs and limits, and the conversion of their answers to boards.

May import: `services.solve.problems`, `services.boards`, `services.control`, `ratings_core`.
Read first: `methods.py` (the table of methods), `method.py` (one row's type), `parameters.py`.
"""
