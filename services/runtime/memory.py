"""Memory settings for a process that reads many outcomes: fewer runs of the garbage collector, and reuse of freed memory."""

import ctypes
import gc
import importlib.util
import logging
import os
from typing import Final

log = logging.getLogger("equirank.memory")

_GC_THRESHOLD: Final = (100_000, 20, 100)
"""High thresholds, because the objects of decoded outcomes have no cycles and are freed together. With the default thresholds, the search
for cycles would take most of the time."""
_OPTIONS: Final = {-3: 32 << 20, -1: 64 << 20}
"""Options of glibc's `mallopt` by their numbers in malloc.h, in bytes.

M_MMAP_THRESHOLD (-3): larger blocks are mapped one by one, and unmapped when they are freed. M_TRIM_THRESHOLD (-1): how much freed memory
the process keeps. Both values are the largest that malloc chooses by itself.
"""


def set_up_memory() -> None:
    """Set the thresholds of Python's garbage collector and of the C library's allocator for this process, and choose Arrow's allocator.

    The fold of each slice of records allocates columns and frees them. With the default thresholds, the allocator returns this memory to
    the system each time, and the page faults of the next slice take up to a tenth of the time of a fold. With these thresholds, the process
    keeps up to 64 MiB of freed memory. The C library's allocator is changed only if it is glibc.
    """
    gc.set_threshold(*_GC_THRESHOLD)
    _set_up_arrow()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for option, size in _OPTIONS.items():
        if mallopt(option, size) != 1:
            log.warning("the C library refused option %d of mallopt: folding may take up to a tenth longer", option)


def _set_up_arrow() -> None:
    """Let Arrow allocate with jemalloc, unless the environment names an allocator.

    Its default, mimalloc, returns the memory of each piece of an archive to the system: that takes up to a fifth of the time of a refold.
    """
    if importlib.util.find_spec("pyarrow") is None or "ARROW_DEFAULT_MEMORY_POOL" in os.environ:
        return
    import pyarrow as pa  # noqa: PLC0415 - needs an extra

    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())
