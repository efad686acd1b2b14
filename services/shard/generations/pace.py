"""How much of a shard's time may go to generations that nobody asked for by name: those that leave retracted outcomes out."""


class Pace:
    """Spreads work so that it takes at most a share of the time. share: above 0, up to 1; 1 spreads nothing.

    After s seconds of work, the next work begins s / share seconds after the last one began, at the earliest.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._free_at = float("-inf")

    def ready(self, now: float) -> bool:
        """Whether more work may begin. now: seconds that never go back."""
        return now >= self._free_at

    def spend(self, seconds: float, now: float) -> None:
        """Work that took `seconds` has ended at `now`."""
        self._free_at = max(self._free_at, now - seconds) + seconds / self._share
