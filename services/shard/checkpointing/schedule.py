"""When the next checkpoint of a partition is due."""

from typing import Final

_LOAD: Final = 5.0
"""A checkpoint that took s seconds is followed by a pause of at least _LOAD * s, so that large pools are not always being written."""


class CheckpointSchedule:
    """Goes by the `now` of its callers, seconds that never go back."""

    def __init__(self) -> None:
        self._next = float("-inf")
        self._interval = 0.0
        self._outcomes = 0
        self._soon = False

    def is_due(self, now: float, outcomes: int, most: int | None) -> bool:
        """Whether the next one is due. outcomes: read by the partition; most: outcomes since the last one after which the next is due."""
        return self._soon or now >= self._next or (most is not None and outcomes - self._outcomes >= most)

    def begin(self, outcomes: int, interval: float) -> None:
        """A checkpoint begins. interval: least seconds from its end to the next one."""
        self._soon, self._outcomes, self._interval = False, outcomes, interval

    def end(self, now: float, seconds: float) -> None:
        """A checkpoint ended after `seconds` of writing. now: when the fold learned of it, which may be late."""
        self._next = now + max(self._interval, _LOAD * seconds)

    def hurry(self) -> None:
        """The next one is due at once."""
        self._soon = True
