"""Stop on signals: the first signal begins an orderly stop, the second one stops at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterable


def on_signals(numbers: Iterable[int], first: Callable[[], object], later: Callable[[int], object]) -> None:
    """Register callbacks for signals. Call it in the main thread.

    The callbacks run in a separate thread, which Python's C handler wakes by a pipe. They must not run in the main thread: it may be inside
    of a library call that does not return, or hold a lock that `first` needs.

    Args:
        numbers: The signals.
        first: Called on the first of these signals.
        later: Called with the number of the signal on every later one.
    """
    meant = frozenset(numbers)
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    for number in meant:
        signal.signal(number, _nothing)
    threading.Thread(target=_watch, args=(reads, meant, first, later), name="signals", daemon=True).start()


def _watch(reads: int, meant: frozenset[int], first: Callable[[], object], later: Callable[[int], object]) -> None:
    signalled = False
    while True:
        for number in os.read(reads, 64):
            if number not in meant:
                continue
            if signalled:
                later(number)
            else:
                signalled = True
                first()


def _nothing(number: int, frame: object) -> None:
    """Handler that replaces Python's default action. The thread of `_watch` does the work."""
