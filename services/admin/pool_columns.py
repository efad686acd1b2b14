"""Columns of a pool's outcomes by which `equirank solve --pool` chooses and slices them. The module imports nothing."""

from typing import Final

COLUMNS: Final = ("id", "time", "weight", "task", "offset")
"""Columns for `--where` and `--slice-by`, besides `meta.FIELD`."""
