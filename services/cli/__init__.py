"""The command line, one command a file.

May import: every folder of `services`.
Read first: `main.py` (the list of commands), `up.py` (the whole system on one machine).
"""
