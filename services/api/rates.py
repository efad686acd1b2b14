"""Rate limits: one token bucket per name."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_NAMES: Final = 10_000


class Buckets:
    """One token bucket per name. Beyond 10,000 names, the least recently used are forgotten.

    rate: tokens added per second. burst: most tokens of a bucket. timer: monotonic time in seconds.
    """

    def __init__(self, rate: float, burst: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._timer = rate, burst, timer
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str) -> float:
        """Return the seconds until the bucket of `name` has one token; 0 if it has one now."""
        return max(0.0, (1.0 - self._now(name)) / self._rate)

    def take(self, name: str) -> None:
        """Take one token from the bucket of `name`. The bucket never goes below 0."""
        with self._lock:
            self._left[name] = (max(0.0, self._now(name) - 1.0), self._timer())
            self._left.move_to_end(name)
            if len(self._left) > _NAMES:
                self._left.popitem(last=False)

    def _now(self, name: str) -> float:
        left, at = self._left.get(name, (self._burst, self._timer()))
        return min(self._burst, left + self._rate * (self._timer() - at))
