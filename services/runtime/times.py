"""Times as people ask for them: ISO dates and times, or seconds since 1970."""

import math
from datetime import UTC, datetime

from ratings_core.errors import InputError


def moment(text: str, argument: str) -> float:
    """Seconds since 1970; of a time that names no zone in UTC. Raises `InputError` about `argument`."""
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
