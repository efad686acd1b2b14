"""Limits the delay and the share of a shard's time of generations that are built because of retractions."""


class BuildPace:
    """Spreads work so that it takes at most the fraction `share` of the time.

    After s seconds of work, the next work begins s / share seconds after the last one began, at the earliest.

    Args:
        share: Greater than 0, at most 1. 1 disables the limit.
        quiet: Seconds from a retraction to the generation that applies it. That generation also applies the retractions in between.
    """

    def __init__(self, share: float = 1.0, quiet: float = 0.0) -> None:
        self._share, self.quiet = share, quiet
        self._free_at = float("-inf")

    def ready(self, now: float) -> bool:
        """Whether more work may begin. now: monotonic time in seconds."""
        return now >= self._free_at

    def spend(self, seconds: float, now: float) -> None:
        """Note that work which took `seconds` ended at `now`."""
        self._free_at = max(self._free_at, now - seconds) + seconds / self._share
