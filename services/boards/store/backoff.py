"""How long to leave a store alone that did not answer, for those who have other work than to wait for it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from services.boards.store.protocol import StoreError

_LOAD: Final = 4.0
"""An attempt that waited for s seconds is followed by a rest of _LOAD * s: most of the time is left for other work, and a store that
refuses at once is asked again at once."""
_MOST_SECONDS: Final = 30.0


class Backoff:
    """A loop asks while `over`, and asks inside `asking`. timer: seconds that never go back."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer, self._until = timer, float("-inf")

    @property
    def over(self) -> bool:
        """Whether the store may be asked."""
        return self._timer() >= self._until

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A store that fails inside is left alone for a while; the failure goes on."""
        began = self._timer()
        try:
            yield
        except StoreError:
            now = self._timer()
            self._until = now + min(_LOAD * (now - began), _MOST_SECONDS)
            raise
