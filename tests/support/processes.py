"""Child processes of tests: each is ended and waited for, however its test ends."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from typing import AnyStr, Final

_PR_SET_PDEATHSIG: Final = 1


class TiedToParent:
    """Runs in the child before exec, so that the child ends with its parent.

    The C library is loaded in the constructor, before the fork, because loading is not safe after it.
    """

    def __init__(self, parent: int) -> None:
        self._parent, self._prctl = parent, CDLL(None, use_errno=True).prctl

    def __call__(self) -> None:
        self._prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self._parent:
            os._exit(1)


@contextmanager
def child(process: "subprocess.Popen[AnyStr]") -> "Iterator[subprocess.Popen[AnyStr]]":
    """A child process for the length of a block. At the end it is killed if it still runs, and its pipes are closed."""
    with process:
        try:
            yield process
        finally:
            process.kill()
