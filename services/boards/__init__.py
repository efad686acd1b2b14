"""The board model shared by shards, solves, API and command line: results, rows, history, insight.

May import: `services.checkpoints`, `services.state`, `services.control`, `services.runtime`.
Read first: `result.py` (a solved board), `reading.py` (a board as readers see it), `store/protocol.py` (the store's laws).
"""
