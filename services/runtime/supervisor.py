"""Children of `equirank up`: one process group, started in order, watched, restarted, stopped in reverse order.

The group's leader is a placeholder that outlives its members, so the group exists from the first child to the last. Nothing
survives the supervisor: a guardian in the group holds a pipe from it and kills the group at its end.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

log = logging.getLogger("equirank.supervisor")

BACKOFF: Final = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before what ended is started again, the first time, the second, ..."""
STEADY_SECONDS: Final = 60.0
"""A program that ran for so long counts as healthy: its next failure is a first one."""


@dataclass(frozen=True, slots=True)
class Program:
    """One child. ready: raises or returns False until the child serves; stop_seconds: what it gets between TERM and KILL."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_seconds: float = 10.0


class Supervisor:
    """Starts programs in its own process group. Not for more than one thread."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._running: dict[str, tuple[Program, subprocess.Popen[bytes]]] = {}
        self._failures: dict[str, int] = {}
        self._again: dict[str, float] = {}
        self._seen_at: dict[str, float] = {}
        """When `watch` first saw the program run, since its last start."""
        read, self._pipe = os.pipe()
        leader = subprocess.Popen([sys.executable, "-c", "import os; os.read(0, 1)"], stdin=read, process_group=0)
        self.group = leader.pid
        guardian = [sys.executable, "-P", "-m", "services.runtime.guardian", str(self.group)]
        self._guardian = subprocess.Popen(guardian, stdin=read, process_group=self.group)
        self._leader = leader
        os.close(read)

    def start(self, program: Program) -> None:
        """Start a program; its output goes to <logs>/<name>.log."""
        with (self._logs / f"{program.name}.log").open("ab") as output:
            child = subprocess.Popen(
                program.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **program.environment},
                process_group=self.group,
            )
        self._running[program.name] = (program, child)

    def watch(self, now: float) -> None:
        """Restart what ended by itself, after a pause that grows with each failure. Raises `ChildProcessError` without its guardian."""
        if self._guardian.poll() is not None:
            raise ChildProcessError("the guardian ended: without it a killed supervisor would leave processes behind, so all stop")
        for name, (program, child) in list(self._running.items()):
            if child.poll() is None:
                self._seen_at.setdefault(name, now)
                continue
            if name not in self._again:
                if now - self._seen_at.pop(name, now) >= STEADY_SECONDS:
                    self._failures[name] = 0
                failures = self._failures[name] = self._failures.get(name, 0) + 1
                pause = BACKOFF[min(failures, len(BACKOFF)) - 1]
                log.error("%s ended with status %s, starting it again in %.1f s; see %s", name, child.returncode, pause, self._logs)
                self._again[name] = now + pause
            elif now >= self._again[name]:
                self._start_again(program, now)

    def _start_again(self, program: Program, now: float) -> None:
        """Where that cannot be, as on a full disk that takes no new file, it is tried again after the longest pause."""
        try:
            self.start(program)
        except OSError as error:
            self._again[program.name] = now + BACKOFF[-1]
            log.error("%s cannot be started, trying again in %.0f s: %s", program.name, BACKOFF[-1], error)  # noqa: TRY400
            return
        del self._again[program.name]

    def wait_until(self, name: str, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `ready`; raises `TimeoutError` or `ChildProcessError` that names the log to read."""
        deadline = time.monotonic() + seconds
        while not ready():
            if (status := self._running[name][1].poll()) is not None:
                raise ChildProcessError(f"{name} ended with status {status} at its start: see {self._logs / name}.log")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} was not ready within {seconds:g} s: see {self._logs / name}.log")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop all programs, then the group itself."""
        self.stop_programs()
        self.kill()

    def stop_programs(self) -> None:
        """Stop all programs, newest first, each within its time."""
        for program, child in reversed(self._running.values()):
            child.terminate()
            try:
                child.wait(program.stop_seconds)
            except subprocess.TimeoutExpired:
                log.error("%s did not stop within %g s: killed", program.name, program.stop_seconds)  # noqa: TRY400 - no traceback helps
                child.kill()

    def kill(self) -> None:
        """End the whole group now."""
        try:
            os.killpg(self.group, signal.SIGKILL)
        except ProcessLookupError:
            return
        for child in (self._leader, self._guardian, *(child for _, child in self._running.values())):
            child.wait()
