"""How a process that reads many outcomes handles memory: few searches for cycles, and freed memory stays with the process."""

import ctypes
import gc
from typing import Final

_GC_THRESHOLD: Final = (100_000, 20, 100)
"""Outcomes are decoded into many objects that are all dropped together: looking for cycles among them is most of the cost."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of options of glibc's `mallopt` (malloc.h)."""
_MOST_FREE: Final = 64 << 20
_MOST_SHARED: Final = 32 << 20
"""Bytes. What malloc reaches by itself after it freed the largest arrays for which it does so."""


def set_up_memory() -> None:
    """Set up Python's garbage collector and the C library's allocator, for the whole process.

    Each slice of records allocates columns and frees them. With standard thresholds their memory goes back to the system each time, and
    every page of it costs a fault in the next slice: up to a tenth of the time to fold a stream. Up to 64 MiB stay with the process now.
    Other C libraries than glibc keep their own rules.
    """
    gc.set_threshold(*_GC_THRESHOLD)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MOST_SHARED)
        mallopt(_TRIM_THRESHOLD, _MOST_FREE)
