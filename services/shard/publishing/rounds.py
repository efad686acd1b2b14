"""When the next round of writing to the store may begin."""

from typing import Final

_MOST_PAUSE: Final = 2.0
"""Seconds: a round that waited for a store that is down is not followed by a longer pause than this."""
_LOAD: Final = 2.0
"""A round of writing that took s seconds is followed by a pause of at least _LOAD * s while records wait, so that it never starves the
fold, and after one that failed."""


class Rounds:
    """Spaces rounds of writing. Arguments named `now` are seconds of a timer that never goes back.

    interval: seconds between the end of a round and the next one, at least.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._began = self._next = self._rested = float("-inf")

    def due(self, now: float, *, behind: bool) -> bool:
        """Whether the next round may begin. behind: records wait to be folded, so that the pause is longer."""
        return now >= (self._rested if behind else self._next)

    def begin(self, now: float) -> None:
        """A round begins."""
        self._began = now

    def end(self, now: float, *, failed: bool) -> None:
        """The round ended. failed: the store refused something or did not answer."""
        self._next = now + self._interval
        self._rested = max(self._next, now + min(_LOAD * (now - self._began), _MOST_PAUSE))
        if failed:
            self._next = self._rested
