"""Memory limit of one solve in its own process, and measurement of its peak memory."""

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_DATA: Final = re.compile(rb"^VmData:\s+(\d+) kB$", re.MULTILINE)
_PEAK: Final = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_SELF: Final = Path("/proc/self")


class OutOfMemory(Exception):  # noqa: N818 - names the fact
    """A solve needed more memory than its limit."""


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Limit the memory that the block may allocate in this process to `more` bytes. Raises `OutOfMemory` if it needs more.

    The limit is on private writable memory (RLIMIT_DATA). The object store and code that Ray maps do not count.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _bytes(_DATA) + more
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(f"the solve needs more than {more >> 20:,} MiB (solve_memory_bytes)") from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def forget_peak() -> None:
    """Restart the measurement of `peak`. If the kernel does not allow it, `peak` counts from the start of the process."""
    with suppress(OSError):
        (_SELF / "clear_refs").write_text("5")


def peak() -> int:
    """Peak resident memory of this process in bytes, shared memory included."""
    return _bytes(_PEAK)


def _bytes(what: re.Pattern[bytes]) -> int:
    match = what.search((_SELF / "status").read_bytes())
    return int(match[1]) * 1024 if match else 0
