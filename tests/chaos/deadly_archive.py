"""Works on an archive in a process that the kernel kills at a chosen system call, or that stops before a commit.

    python -m tests.chaos.deadly_archive LOG URL WORK POINT ERASED

LOG: folder of a SQLite log with one partition. WORK: `append`, `compact` or `erase`. POINT: one of `POINTS`, or `stopped`, which sends
SIGSTOP to itself when everything for the next commit is ready. ERASED: erasures of the partition as JSON. Ends with status `MOVED` once
another writer appended first, and by SIGSYS at a point.

A seccomp filter kills all threads at once in the middle of the call, as SIGKILL does, and nothing that the process has planned runs on.
"""

import ctypes
import platform
import signal
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from services.archive import erasure, writer
from services.archive.compaction import compact
from services.archive.erasure import erase_rows
from services.archive.follow import follow
from services.archive.writer import ArchiveMovedError
from services.control.erasures import ErasureRequest
from services.log.protocol import Topic
from services.log.sqlite.log import open_sqlite_log

MOVED = 3
POINTS: Final = {"file written": (82, 38), "before the commit": (265, 37), "after the commit": (87, 35)}
"""Point -> number of the system call on x86_64 and on aarch64: the rename that ends a file of rows, the link that makes a commit, and
the removal of the commit's temporary name, before anybody knows of the commit."""
COMMIT_RECORDS: Final = 100
_SECCOMP: Final = (317, 277)
_NO_NEW_PRIVILEGES, _FILTER, _ALL_THREADS = 38, 1, 1
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06


def die_at(point: str) -> None:
    """Make the kernel kill this process at the system call of a point. Raises `OSError` where it refuses."""
    machine = ("x86_64", "aarch64").index(platform.machine())
    lines = [(_LOAD, 0, 0, 0), (_EQUAL, 0, 1, POINTS[point][machine]), (_RETURN, 0, 0, _KILL), (_RETURN, 0, 0, _ALLOW)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    described = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(_SECCOMP[machine], _FILTER, _ALL_THREADS, described):
        raise OSError(ctypes.get_errno(), "the kernel refused a seccomp filter")


def armed(function: Callable[..., Any], point: str, after: int) -> Callable[..., Any]:
    """`function`, which dies at `point` in the call that follows `after` others."""
    left = [after]

    def called(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            stop() if point == "stopped" else die_at(point)
        return function(*given, **named)

    return called


def stop() -> None:
    """Stop here: a signal to the process, and not to this thread, would come a moment later."""
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def work_on(topic: Topic, url: str, work: str, erasures: list[ErasureRequest]) -> None:
    """Append all that the log holds in commits of `COMMIT_RECORDS`, merge all files, or replace erased names."""
    match work:
        case "append":
            for end in range(COMMIT_RECORDS, topic.end(0) + 1, COMMIT_RECORDS):
                follow(topic, {}, url, 0, end, erasures)
        case "compact":
            compact(url, 0, open_files=2)
        case _:
            erase_rows(url, 0, topic.identity, erasures)


def main() -> int:
    folder, url, work, point, erased = sys.argv[1:]
    erasures = msgspec.json.decode(erased, type=list[ErasureRequest])
    for module, after in ((writer, 1), (erasure, 0)):
        module.write_deltalake = armed(module.write_deltalake, point, after)  # type: ignore[attr-defined]
    if work == "compact":
        die_at(point)
    with closing(open_sqlite_log(Path(folder) / "log.sqlite", 1)) as log:
        try:
            work_on(log.outcomes, url, work, erasures)
        except ArchiveMovedError:
            return MOVED
    return 0


if __name__ == "__main__":
    sys.exit(main())
