"""How long something took, each time: counted by bucket, as a histogram of Prometheus tells it."""

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from services.runtime.metrics import FOLD_BUCKETS


class Durations(msgspec.Struct):
    """bounds: seconds, rising; counts: times by the first bound that they fit, the last of them by none; seconds: all together. One
    thread adds.
    """

    bounds: tuple[float, ...] = FOLD_BUCKETS
    counts: list[int] = []
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds

    @classmethod
    def together(cls, parts: Iterable["Durations"], bounds: tuple[float, ...] = FOLD_BUCKETS) -> "Durations":
        """A copy of all of them in one; they have these bounds."""
        whole = cls(bounds)
        for part in parts:
            whole.counts = [count + more for count, more in zip(whole.counts, part.counts, strict=True)]
            whole.seconds += part.seconds
        return whole
