"""Pauses after a failure of the store, for loops that have other work to do."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from services.boards.store.protocol import StoreError

_LOAD: Final = 4.0
"""Length of the pause, as a multiple of the time that the failed attempt took. Most time is thus left for other work, and a store that
refuses at once is used again at once."""
_MOST_SECONDS: Final = 30.0


class Backoff:
    """Pauses the use of a store after a failure.

    A loop uses the store only if `over` is true, and only inside a block of `asking`.

    Args:
        timer: Returns seconds that never go back.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer, self._until = timer, float("-inf")

    @property
    def over(self) -> bool:
        """Whether the pause is over, so that the store may be used."""
        return self._timer() >= self._until

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A block that uses the store. A `StoreError` inside starts a pause and is raised further."""
        began = self._timer()
        try:
            yield
        except StoreError:
            now = self._timer()
            self._until = now + min(_LOAD * (now - began), _MOST_SECONDS)
            raise
