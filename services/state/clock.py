"""The time of a pool: the latest time of its outcomes so far, which decides the bucket of each outcome (law 2)."""

import numpy as np
from numpy.typing import NDArray


class PoolClock:
    """time: latest time folded, None before any. late: outcomes older than that on arrival, since this object was made."""

    def __init__(self, bucket_seconds: float | None) -> None:
        self._bucket_seconds = bucket_seconds
        self.time: float | None = None
        self.late = 0

    def buckets(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Advance to `times` (n,), n >= 1. The bucket of each outcome is that of the pool's time on its arrival: a late one counts now."""
        running = np.maximum.accumulate(times if self.time is None else np.maximum(times, self.time))
        self.time = float(running[-1])
        self.late += int(np.count_nonzero(times < running))
        if self._bucket_seconds is None:
            return np.zeros(len(times), np.int64)
        return np.floor(running / self._bucket_seconds).astype(np.int64)
