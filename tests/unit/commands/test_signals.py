"""Stopping on signals, where the main thread is inside a call that never comes back."""

import signal
import subprocess
import sys

from tests.support.waiting import PATIENCE

STUCK = """
import ctypes, os, signal
from services.runtime.signals import on_signals
on_signals((signal.SIGINT, signal.SIGTERM), lambda: print("first", flush=True), lambda number: os._exit(128 + number))
mutex, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex)
print("stuck", flush=True)
libc.pthread_mutex_lock(mutex)
"""


def test_the_first_is_heard_and_the_second_ends_it() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "stuck\n"
        program.send_signal(signal.SIGTERM)
        assert program.stdout.readline() == "first\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(PATIENCE) == 128 + signal.SIGINT
