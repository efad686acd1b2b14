"""Parsing of times from users: ISO dates and times, or seconds since 1970."""

import math
from datetime import UTC, datetime

from ratings_core.errors import InputError


def moment(text: str, argument: str) -> float:
    """Parse a time as seconds since 1970. A time without a zone is in UTC. Raises `InputError` that names `argument`."""
    try:
        if math.isfinite(seconds := float(text)):
            return seconds
    except ValueError:
        pass
    try:
        asked = datetime.fromisoformat(text)
        return (asked if asked.tzinfo else asked.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError(argument, text, "must be a time such as 2026-11-22T06:00:00Z, or seconds since 1970") from error
