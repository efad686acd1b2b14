"""Starts the child processes of `equirank up` in one process group, restarts them after failures, and stops them in reverse order.

The leader of the group is a guardian process. It reads a pipe from the supervisor, and kills the group when the pipe closes, so no child
outlives the supervisor. The supervisor reaps the guardian last, so the group exists, and its number stays in use, as long as any child.
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
"""Seconds before a program is restarted after its first failure, its second, and so on. The last value is for all later ones."""
STEADY_SECONDS: Final = 60.0
"""After running for this many seconds, a program counts as healthy: its next failure counts as the first."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run as a child.

    Attributes:
        name: Name, also of its log file.
        command: Program and arguments.
        environment: Environment variables in addition to those of this process.
        stop_seconds: Seconds between SIGTERM and SIGKILL when it is stopped.
        prepare: Called before each start. It may raise `OSError`.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_seconds: float = 10.0
    prepare: Callable[[], None] = lambda: None


class Supervisor:
    """Starts programs in one process group. Only one thread may use it."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._running: dict[str, tuple[Program, subprocess.Popen[bytes]]] = {}
        self._failures: dict[str, int] = {}
        self._restart_at: dict[str, float] = {}
        self._seen_at: dict[str, float] = {}
        """Time at which `watch` first saw the program run after its last start."""
        read, self._pipe = os.pipe()
        self._guardian = subprocess.Popen([sys.executable, "-P", "-m", "services.runtime.guardian"], stdin=read, process_group=0)
        self.group = self._guardian.pid
        os.close(read)

    def start(self, program: Program) -> None:
        """Start a program. Its output is appended to <logs>/<name>.log."""
        program.prepare()
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
        """Restart programs that ended, after a pause that grows with each failure. Call it regularly.

        Args:
            now: Monotonic time in seconds.

        Raises:
            ChildProcessError: The guardian ended, so children could outlive the supervisor.
        """
        if os.waitid(os.P_PID, self.group, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:  # `poll` would reap it
            raise ChildProcessError("the guardian ended: without it a killed supervisor would leave processes behind, so all stop")
        for name, (program, child) in list(self._running.items()):
            if child.poll() is None:
                self._seen_at.setdefault(name, now)
                continue
            if name not in self._restart_at:
                if now - self._seen_at.pop(name, now) >= STEADY_SECONDS:
                    self._failures[name] = 0
                failures = self._failures[name] = self._failures.get(name, 0) + 1
                pause = BACKOFF[min(failures, len(BACKOFF)) - 1]
                log.error(
                    "%s ended with status %s and is started again in %.1f s; its log is in %s", name, child.returncode, pause, self._logs
                )
                self._restart_at[name] = now + pause
            elif now >= self._restart_at[name]:
                self._restart(program, now)

    def _restart(self, program: Program, now: float) -> None:
        """Start a program again. If this fails, for example on a full disk, the next attempt is after the longest pause."""
        try:
            self.start(program)
        except OSError as error:
            self._restart_at[program.name] = now + BACKOFF[-1]
            log.error("%s cannot be started and is retried in %.0f s: %s", program.name, BACKOFF[-1], error)  # noqa: TRY400
            return
        del self._restart_at[program.name]

    def wait_until(self, name: str, ready: Callable[[], bool], seconds: float, *, pause: float = 0.05) -> None:
        """Wait until `ready()` is true.

        Args:
            name: Name of the program.
            ready: Whether the program serves.
            seconds: Deadline.
            pause: Seconds between two calls of `ready`.

        Raises:
            TimeoutError: The program was not ready at the deadline. The message names its log file.
            ChildProcessError: The program ended. The message names its log file.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if (status := self._running[name][1].poll()) is not None:
                raise ChildProcessError(f"{name} ended with status {status} at its start: see {self._logs / name}.log")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} was not ready within {seconds:g} s: see {self._logs / name}.log")
            time.sleep(pause)

    def stop(self) -> None:
        """Stop all programs, newest first, then kill the process group. A program that outlasts its `stop_seconds` is killed."""
        for program, child in reversed(self._running.values()):
            child.terminate()
            try:
                child.wait(program.stop_seconds)
            except subprocess.TimeoutExpired:
                log.warning("%s did not stop within %g s and was killed: the log has everything", program.name, program.stop_seconds)
                child.kill()
        self.kill()

    def kill(self) -> None:
        """Kill the process group now."""
        try:
            os.killpg(self.group, signal.SIGKILL)
        except ProcessLookupError:
            return
        for child in (self._guardian, *(child for _, child in self._running.values())):
            child.wait()
