"""The solved methods under one signature: a table of methods, their parameters, and what each takes and returns.

May import: everything below. Read first: `method.py`, `registry.py`.
"""
