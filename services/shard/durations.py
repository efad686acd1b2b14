"""How long something took, each time: counted by bucket, as a histogram of Prometheus tells it."""

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from services.metrics import FOLD_BUCKETS


class Durations(msgspec.Struct):
    """counts: times by the first of `FOLD_BUCKETS` that they fit, the last of them by none; seconds: all together. One thread adds."""

    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(FOLD_BUCKETS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(FOLD_BUCKETS, seconds)] += 1
        self.seconds += seconds

    @classmethod
    def together(cls, parts: Iterable["Durations"]) -> "Durations":
        """A copy of all of them in one."""
        whole = cls()
        for part in parts:
            whole.counts = [count + more for count, more in zip(whole.counts, part.counts, strict=True)]
            whole.seconds += part.seconds
        return whole
