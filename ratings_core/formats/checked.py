"""Checked values of single cells."""

import math

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.records.names import check_name


def number(cell: str, row: int, column: str) -> float:
    """The finite number in a cell. Raises `FormatError`."""
    try:
        value = float(cell)
    except ValueError:
        raise FormatError(row, column, cell, "must be a number") from None
    if not math.isfinite(value) or "_" in cell:
        raise FormatError(row, column, cell, "must be a finite number")
    return value


def name(cell: str, row: int, column: str) -> str:
    """The name of an agent or a task in a cell. Raises `FormatError` with the violated rule of names."""
    try:
        return check_name(cell)
    except InputError as error:
        raise FormatError(row, column, cell, error.rule) from error
