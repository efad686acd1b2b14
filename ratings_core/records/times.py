"""Conversion of written times to seconds since 1970, and back."""

import math
import re
from datetime import UTC, date, datetime
from typing import Final

from ratings_core.errors import InputError

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMPACT_DATE: Final = len("20000131")
_MIDNIGHT_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RULE: Final = "must be a time such as 2026-11-22T06:00:00Z (UTC if it has no zone), a date such as 2026-11-22, or seconds since 1970"


def seconds(text: str, argument: str) -> float:
    """Convert a date, an ISO date and time (UTC if it has no zone), or a number to seconds since 1970.

    Exactly eight digits are a date such as 20260301. Other digits are a number of seconds, so that a long number is not read as a date.

    Raises:
        InputError: The text is no such time, or not finite. The error names `argument`.
    """
    if _NUMBER.fullmatch(text) and len(text) != _COMPACT_DATE:
        return _number(text, argument)
    try:
        if len(text) == len("2000-01-31"):
            return midnight(date.fromisoformat(text))
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return _number(text, argument)


def written(seconds: float) -> str:
    """A time as ISO text, rounded up to a full second, so that what was there at the time is there at the written one."""
    try:
        return datetime.fromtimestamp(math.ceil(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g}"  # outside of the calendar's range


def midnight(day: date) -> float:
    """Seconds since 1970 at 00:00 UTC of the day."""
    return float((day - _MIDNIGHT_1970.date()).days * 86_400)


def _number(text: str, argument: str) -> float:
    if _NUMBER.fullmatch(text) is None or not math.isfinite(value := float(text)):
        raise InputError(argument, text, _RULE)
    return value
