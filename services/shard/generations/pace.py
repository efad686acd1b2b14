"""How soon, and for how much of a shard's time, generations are built that leave retracted outcomes out: nobody asked for them by name."""


class Pace:
    """Spreads work so that it takes at most a share of the time.

    After s seconds of work, the next work begins s / share seconds after the last one began, at the earliest.

    Args:
        share: Above 0, up to 1; 1 spreads nothing.
        quiet: Seconds from a retraction to the generation that leaves its outcome out; retractions in between are part of it.
    """

    def __init__(self, share: float = 1.0, quiet: float = 0.0) -> None:
        self._share, self.quiet = share, quiet
        self._free_at = float("-inf")

    def ready(self, now: float) -> bool:
        """Whether more work may begin. now: seconds that never go back."""
        return now >= self._free_at

    def spend(self, seconds: float, now: float) -> None:
        """Work that took `seconds` has ended at `now`."""
        self._free_at = max(self._free_at, now - seconds) + seconds / self._share
