"""Histogram of durations, counted by bucket as in Prometheus."""

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from services.runtime.metrics import FOLD_BUCKETS


class Durations(msgspec.Struct):
    """A histogram of durations. Only one thread may add to it.

    Attributes:
        bounds: Upper bounds of the buckets in seconds, ascending.
        counts: Number of durations in each bucket. The last count is for durations above all bounds.
        seconds: Sum of all durations.
    """

    bounds: tuple[float, ...] = FOLD_BUCKETS
    counts: list[int] = []
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds

    @classmethod
    def together(cls, parts: Iterable["Durations"], bounds: tuple[float, ...] = FOLD_BUCKETS) -> "Durations":
        """Sum of several histograms, as a new one. bounds: their bounds, equal for all."""
        combined = cls(bounds)
        for part in parts:
            combined.counts = [count + more for count, more in zip(combined.counts, part.counts, strict=True)]
            combined.seconds += part.seconds
        return combined
