"""Conversion of the times in files to seconds since 1970."""

import re
from datetime import UTC, date, datetime
from typing import Final

from ratings_core.formats.errors import FormatError
from ratings_core.formats.table import number

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMPACT_DATE: Final = len("20000131")
_MIDNIGHT_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(cell: str, row: int, column: str) -> float:
    """Convert a date, an ISO date and time (UTC if it has no zone), or a number to seconds since 1970. Raises `FormatError`.

    Exactly eight digits are a date such as 20260301. Other digits are a number of seconds, so that a long number is not read as a date.
    """
    if _NUMBER.fullmatch(cell) and len(cell) != _COMPACT_DATE:
        return number(cell, row, column)
    try:
        if len(cell) == len("2000-01-31"):
            return midnight(date.fromisoformat(cell))
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        if _NUMBER.fullmatch(cell):
            return number(cell, row, column)
        rule = "must be a date such as 2026-03-01, an ISO date and time, or seconds since 1970"
        raise FormatError(row, column, cell, rule) from None


def midnight(day: date) -> float:
    """Seconds since 1970 at 00:00 UTC of the day."""
    return float((day - _MIDNIGHT_1970.date()).days * 86_400)
