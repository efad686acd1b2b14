"""How a process that reads many outcomes handles memory: few searches for cycles, and freed memory stays with the process."""

import ctypes
import gc
import logging
from typing import Final

log = logging.getLogger("equirank.memory")

_GC_THRESHOLD: Final = (100_000, 20, 100)
"""Outcomes are decoded into many objects that are all dropped together: looking for cycles among them is most of the cost."""
_OPTIONS: Final = {-3: 32 << 20, -1: 64 << 20}
"""Options of glibc's `mallopt` by their numbers in malloc.h, in bytes.

M_MMAP_THRESHOLD (-3): larger blocks are mapped one by one, and unmapped when they are freed. M_TRIM_THRESHOLD (-1): how much freed memory
the process keeps. Both values are the largest that malloc chooses by itself.
"""


def set_up_memory() -> None:
    """Set up Python's garbage collector and the C library's allocator, for the whole process.

    Each slice of records allocates columns and frees them. With standard thresholds their memory goes back to the system each time, and
    every page of it costs a fault in the next slice: up to a tenth of the time to fold a stream. Up to 64 MiB stay with the process now.
    Other C libraries than glibc keep their own rules.
    """
    gc.set_threshold(*_GC_THRESHOLD)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for option, size in _OPTIONS.items():
        if mallopt(option, size) != 1:
            log.warning("the C library refused option %d of mallopt: folding may take up to a tenth longer", option)
