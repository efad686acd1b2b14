"""The embedded log: one SQLite file shared by the processes of one machine.

May import: `services.log`, `services.runtime`.
Read first: `log.py` (the protocol's implementation), `group_commit.py`, `file.py`.
"""
