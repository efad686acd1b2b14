"""The command line, with one file for each command.

May import: every folder of `services`.
Read first: `main.py` (the list of commands), `up.py` (the whole system on one machine).
"""
