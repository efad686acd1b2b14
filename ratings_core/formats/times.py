"""Times in the cells of files."""

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.records import times


def seconds(cell: str, row: int, column: str) -> float:
    """The time in a cell, in seconds since 1970, by the rules of `ratings_core.records.times.seconds`. Raises `FormatError`."""
    try:
        return times.seconds(cell, column)
    except InputError as error:
        raise FormatError(row, column, cell, error.rule) from None
