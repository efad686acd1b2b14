"""Stopping on signals: in order by the first one, at once by the second."""

import os
import signal
import threading
from collections.abc import Callable, Iterable


def on_signals(numbers: Iterable[int], first: Callable[[], object], later: Callable[[int], object]) -> None:
    """The first of these signals calls `first`, every later one `later` with its number. To be called in the main thread.

    Both run in a thread of their own, which the C handler wakes: the main thread may be inside a call of a library that does not
    come back, or hold the very lock that `first` takes.
    """
    meant = frozenset(numbers)
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    for number in meant:
        signal.signal(number, _nothing)
    threading.Thread(target=_watch, args=(reads, meant, first, later), name="signals", daemon=True).start()


def _watch(reads: int, meant: frozenset[int], first: Callable[[], object], later: Callable[[int], object]) -> None:
    told = False
    while True:
        for number in os.read(reads, 64):
            if number not in meant:
                continue
            if told:
                later(number)
            else:
                told = True
                first()


def _nothing(number: int, frame: object) -> None:
    """In place of what Python would do: the thread does it."""
