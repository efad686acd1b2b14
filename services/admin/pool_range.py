"""Ranges of a pool's outcomes, by position and by time, for exports and offline ratings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.records.times import seconds


@dataclass(frozen=True, slots=True)
class PoolRange:
    """Range of outcomes of a pool.

    Attributes:
        pool: Name of the pool.
        begin: First offset.
        end: Offset after the last one; None for the end of the log.
        since: Earliest time of an outcome, seconds since 1970; None for no limit.
        until: Outcomes are before this time, seconds since 1970; None for no limit.
    """

    pool: str
    begin: int = 0
    end: int | None = None
    since: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        if self.end is not None and self.end < self.begin:
            raise InputError("to", self.end, f"must be {self.begin} or more, where the range begins")

    def in_time(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Select the `times` within the range: bool (n,) for float64 (n,), seconds since 1970."""
        inside = np.ones(len(times), np.bool_)
        if self.since is not None:
            inside &= times >= self.since
        if self.until is not None:
            inside &= times < self.until
        return inside


def pool_range(pool: str, positions: tuple[int, int | None], since: str | None, until: str | None, option: str = "") -> PoolRange:
    """Make a range from a command's or request's text.

    Args:
        pool: Name of the pool.
        positions: First offset, and the offset after the last one or None.
        since: Date, ISO time, or seconds since 1970; None for no limit.
        until: The same.
        option: Prefix of argument names in errors, such as `--`.

    Raises:
        InputError: A time cannot be read, or the range ends before it begins.
    """
    first, last = (None if text is None else seconds(text, option + name) for text, name in ((since, "since"), (until, "until")))
    return PoolRange(pool, *positions, first, last)
