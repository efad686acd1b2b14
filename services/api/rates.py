"""Rates: a bucket for each of many names, which refills with time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_NAMES: Final = 10_000


class Buckets:
    """One bucket a name: `burst` at once, refilled by `rate` a second. The names least recently used are forgotten beyond 10,000.

    timer: seconds that never go back.
    """

    def __init__(self, rate: float, burst: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._timer = rate, burst, timer
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str) -> float:
        """Seconds until the bucket of `name` gives one more; 0 where it does so now."""
        return max(0.0, (1.0 - self._now(name)) / self._rate)

    def take(self, name: str) -> None:
        """Take one from the bucket of `name`; it goes down to empty and no further."""
        with self._lock:
            self._left[name] = (max(0.0, self._now(name) - 1.0), self._timer())
            self._left.move_to_end(name)
            if len(self._left) > _NAMES:
                self._left.popitem(last=False)

    def _now(self, name: str) -> float:
        left, at = self._left.get(name, (self._burst, self._timer()))
        return min(self._burst, left + self._rate * (self._timer() - at))
