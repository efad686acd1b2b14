"""The scanner reads and writes no byte outside of what it was given: its memory ends at pages that end the process when touched."""

import json
import signal
import subprocess
import sys

from tests.support.waiting import PATIENCE


def guarded(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.support.guarded", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_a_byte_past_the_end_ends_the_process() -> None:
    assert guarded("past-the-end").returncode == -signal.SIGSEGV


def test_columns_that_are_too_small_and_a_missing_end_leave_records_to_the_decoder() -> None:
    """No such columns are made. The kernel checks every index against the end of its array, so even then no other memory is touched."""
    done = guarded("short", "2", "400")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["polls"] > 400
    assert 0 < found["plain"] < 200


def test_no_record_makes_the_scanner_pass_an_end() -> None:
    done = guarded("1", "3000")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["polls"] > 3000
    assert found["plain"] > 500, "damage leaves some records plain, so the test reaches every part of the grammar"
