"""Waiting until readers see a position of a pool."""

import time
from collections.abc import Callable
from typing import Final

from ratings_core.errors import InputError
from services.boards.store.live import LiveBoards
from services.boards.store.protocol import PoolHead

_STUCK_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1


def await_position(
    boards: LiveBoards, pool: str, position: int, stuck_seconds: float = _STUCK_SECONDS, clock: Callable[[], float] = time.monotonic
) -> PoolHead:
    """Wait until the pool's head has reached `position`, and return the head.

    Raises:
        TimeoutError: The position of the head did not change for `stuck_seconds`.
        InputError: The pool is stopped before `position`.
    """
    seen, moved = -1, clock()
    while True:
        head = boards.head(pool)
        if head is not None and head.position >= position:
            return head
        if head is not None and head.stopped is not None:
            raise InputError("pool", pool, f"must not be stopped, but it is stopped at position {head.position}: {head.stopped}")
        if head is not None and head.position > seen:
            seen, moved = head.position, clock()
        if clock() - moved > stuck_seconds:
            at = max(seen, 0)
            msg = f"pool {pool} has been at position {at} for {stuck_seconds:g} s, below {position}: check that the engine runs"
            raise TimeoutError(msg)
        time.sleep(_LOOK_SECONDS)
