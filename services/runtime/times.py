"""Parsing of times from users, with the rules of times in files."""

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.times import seconds


def moment(text: str, argument: str) -> float:
    """Parse a time as seconds since 1970, as `seconds` parses a cell of a file. Raises `InputError` that names `argument`."""
    try:
        return seconds(text, 1, argument)
    except FormatError as error:
        raise InputError(argument, text, "must be a time such as 2026-11-22T06:00:00Z or 2026-11-22, or seconds since 1970") from error
