"""Measurements in processes of their own: each with a peak of memory and a limit, so that nothing hangs or is in the way of the next.

A program is a function of a module of `benchmarks`, named `module:function`: JSON in as arguments, a dictionary out. What is being run
goes to stderr, as rows may take minutes.
"""

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def run(program: str, question: dict[str, Any], longest: float, what: str = "") -> dict[str, Any] | str:
    """What the program answers, with `peak`, its largest memory in MiB; or why there is no answer."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return answer([sys.executable, "-m", "benchmarks.isolated", program], question, longest, environment, what or program)


def answer(command: list[str], question: dict[str, Any], longest: float, environment: dict[str, str], what: str) -> dict[str, Any] | str:
    """The JSON that a command prints last, or why there is none; longest: wall seconds."""
    print(f"  {time.strftime('%H:%M:%S')} {what} (at most {longest:.0f} s)", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            command, input=json.dumps(question), capture_output=True, text=True, timeout=longest, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {longest:.0f} s"
    except OSError as error:
        return f"not started: {error.strerror}"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:80]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak() -> float:
    """Largest memory of this process so far, MiB; of its own program only, unlike getrusage's."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), float("nan"))


def memory(mib: float) -> str:
    """For a row."""
    return f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.0f} MiB"


if __name__ == "__main__":
    module, function = sys.argv[1].split(":")
    result = getattr(import_module(module), function)(**json.load(sys.stdin))
    print(json.dumps({**result, "peak": peak()}))
