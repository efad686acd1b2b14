"""Names and kinds of pools, and the name of their first season."""

import re
from enum import StrEnum
from typing import Final

from ratings_core.errors import InputError

POOL_PATTERN: Final = r"(?:[a-z0-9][a-z0-9_-]{0,62}\.)?[a-z0-9][a-z0-9_-]{0,62}"
FIRST_SEASON: Final = "first"
"""Name of the season before the first one that was started by name."""
_NAME = re.compile(POOL_PATTERN)


class Kind(StrEnum):
    """What the outcomes of a pool are. The kind is fixed when the pool is created."""

    GAMES = "games"
    SCORES = "scores"


def is_pool_name(name: str) -> bool:
    """Whether `check_pool_name` accepts `name`."""
    return _NAME.fullmatch(name) is not None


def check_pool_name(name: str) -> str:
    """Return `name` if it is a valid pool name, `[tenant.]name`. Raises `InputError` otherwise."""
    if not _NAME.fullmatch(name):
        raise InputError("pool", name, "must be [tenant.]name, each of a-z 0-9 _ -, starting with a letter or digit, at most 63 characters")
    return name
