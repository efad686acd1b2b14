"""Child processes of tests: each is ended and waited for, however its test ends."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import AnyStr


@contextmanager
def child(process: "subprocess.Popen[AnyStr]") -> "Iterator[subprocess.Popen[AnyStr]]":
    """A child process for the length of a block. At the end it is killed if it still runs, and its pipes are closed."""
    with process:
        try:
            yield process
        finally:
            process.kill()
