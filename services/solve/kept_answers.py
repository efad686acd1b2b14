"""Results of computations on request, kept by what they were computed from, so that a repeated request at one position costs nothing."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class KeptAnswers(Generic[V]):
    """The `most` last used values by key. Thread-safe; one value is computed at a time.

    A key names everything that the value depends on, with the digest of the pool's content, so a kept value is never outdated.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return the value of `key`, or compute and keep it. Raises what `compute` raises; nothing is kept then."""
        with self._lock:
            if key not in self._values:
                self._values[key] = compute()
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return self._values[key]
