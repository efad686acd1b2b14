"""Tables of any file or data frame as blocks of Arrow columns, without a Python object for each row.

May import: `ratings_core.formats.errors`, `ratings_core.formats.stream`, `ratings_core.records`, `ratings_core.arrays`.
Read first: `block.py`, then `csv_table.py`.
"""
