"""Processes that append to the same embedded log until a test kills them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_APPENDER = """
import sys
from pathlib import Path
from services.log.sqlite.log import open_sqlite_log

path, name = Path(sys.argv[1]), sys.argv[2]
topic = open_sqlite_log(path, 2).outcomes
number = 0
while True:
    size = 1 + number % 5
    partition = number % 2
    offsets = topic.append(partition, [(name.encode(), f"{name}:{number}:{item}".encode()) for item in range(size)])
    print(partition, number, *offsets, flush=True)
    number += 1
"""


def start(path: Path, name: str) -> "subprocess.Popen[str]":
    """Start a process that appends to both partitions of a log.

    It prints partition, number and offsets of each acknowledged append. name: key of its records.
    """
    command = [sys.executable, "-c", _APPENDER, str(path), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})


def kill_after(process: "subprocess.Popen[str]", lines: int) -> list[str]:
    """Kill a process after it printed `lines` lines. Returns all complete lines that it printed."""
    assert process.stdout is not None
    acknowledged = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    # the last line may be incomplete: its acknowledgement does not count
    return [line for line in [*acknowledged, *rest.splitlines(keepends=True)] if line.endswith("\n")]
