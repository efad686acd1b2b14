"""A limit on the memory of one solve, inside its own process, and what it took."""

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
    """A solve asked for more than its limit."""


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Let this process take up to `more` bytes beyond what it has. Raises `OutOfMemory` where the block asked for more.

    The limit is on private writable memory (RLIMIT_DATA): the object store and code that Ray maps do not count.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _bytes(_DATA) + more
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(f"it needs more than {more >> 20:,} MiB (solve_memory_bytes)") from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def forget_peak() -> None:
    """Let `peak` count from now on; where the kernel does not allow it, it counts from the start of the process."""
    with suppress(OSError):
        (_SELF / "clear_refs").write_text("5")


def peak() -> int:
    """Bytes of memory that this process held at most, of all kinds."""
    return _bytes(_PEAK)


def _bytes(what: re.Pattern[bytes]) -> int:
    found = what.search((_SELF / "status").read_bytes())
    return int(found[1]) * 1024 if found else 0
