"""A range of a pool's outcomes, by position and by time: which exports and offline ratings read."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.formats.times import seconds


@dataclass(frozen=True, slots=True)
class PoolRange:
    """Which outcomes of a pool are read.

    Attributes:
        pool: Name of the pool.
        begin: First offset of the log.
        end: Offset to end before; None for all there is.
        since: Outcomes of this time or later, seconds since 1970; None for all.
        until: Outcomes of before this time; None for all.
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
        """Which of `times` (n,) are within the range."""
        inside = np.ones(len(times), np.bool_)
        if self.since is not None:
            inside &= times >= self.since
        if self.until is not None:
            inside &= times < self.until
        return inside


def pool_range(pool: str, positions: tuple[int, int | None], since: str | None, until: str | None, option: str = "") -> PoolRange:
    """A range as people write it. since, until: a date, an ISO time or seconds; option: prefix of names in errors. Raises `InputError`."""
    first, last = (None if text is None else seconds(text, 1, option + name) for text, name in ((since, "since"), (until, "until")))
    return PoolRange(pool, *positions, first, last)
