"""Run `equirank up` in a separate folder, as a user does, with commands and requests for tests."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from services.control.records import Takeover, decode
from services.log.sqlite.log import open_sqlite_log
from tests.support.waiting import PATIENCE, until


class Installation:
    """A running `equirank up`."""

    directory: Path | None = None
    """Working directory of commands; None for that of the tests."""

    def __init__(self, data: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")},
            "EQUIRANK_DATA": str(data),
            "EQUIRANK_PORT": "0",
            "EQUIRANK_METRICS_PORT": "0",
            "EQUIRANK_CHECKPOINT_SECONDS": "1",
            "EQUIRANK_SOLVE_SECONDS": "1",
            **(environment or {}),
        }
        self.redis_socket = str(data / "redis")
        (data / "up.json").unlink(missing_ok=True)
        self._output = data.parent / f"{data.name}.out"
        with self._output.open("ab") as output:
            self.process = subprocess.Popen(
                self._command("up", *options), cwd=self.directory, env=self.environment, stdout=output, stderr=output
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def ready(self) -> "Installation":
        """Wait until `up.json` contains the addresses."""
        until(lambda: self.process.poll() is not None or (self.data / "up.json").exists(), lambda: f"ready\n{self.output}")
        assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.output}"
        self.api = json.loads((self.data / "up.json").read_bytes())["api"]
        self.metrics = json.loads((self.data / "up.json").read_bytes())["metrics"]
        self.redis_socket = json.loads((self.data / "up.json").read_bytes())["redis"].removeprefix("unix://")
        return self

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run an `equirank` command with the settings of this installation."""
        return subprocess.run(
            self._command(*command), cwd=self.directory, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def get(self, path: str) -> Any:
        """JSON of a GET request; None if the request fails."""
        try:
            with urllib.request.urlopen(self.api + path, timeout=PATIENCE) as answer:
                return json.load(answer)
        except (HTTPError, URLError, OSError):
            return None

    def answer(self, path: str) -> Any:
        """JSON of a GET request that is repeated until it succeeds, as a client does after a 503: a loaded machine can miss limits."""
        return until(lambda: self.get(path), f"an answer of {path}")

    def post(self, path: str, body: object) -> tuple[int, Any]:
        """(status, JSON) of a POST with a JSON body."""
        return self.request("POST", path, body)

    def request(self, method: str, path: str, body: object) -> tuple[int, Any]:
        """(status, JSON) of a request with a JSON body."""
        request = urllib.request.Request(self.api + path, json.dumps(body).encode(), {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    def outcomes(self, pool: str) -> int:
        """Number of published outcomes of a pool; -1 before the first publication."""
        head = self.head(pool)
        return -1 if head is None else int(head["outcomes"])

    def head(self, pool: str) -> dict[str, Any] | None:
        """Head of a pool's newest publication; None if the request fails or nothing is published."""
        found = self.get(f"/v1/pools/{pool}")
        return None if found is None else found["head"]

    def shard_pids(self) -> list[int]:
        """Ids of the processes that own partitions, by the newest takeovers in the control log."""
        log = open_sqlite_log(self.data / "log.sqlite", 8)
        reader = log.control.reader({0: 0})
        newest: dict[int, int] = {}
        while log.control.end(0) and (records := reader.poll(0.2, 10_000).get(0)):
            for record in records:
                if isinstance(found := decode(record.value), Takeover):
                    newest[found.partition] = int(found.owner.rpartition("/")[2])
        reader.close()
        log.close()
        return sorted(set(newest.values()))

    def engine_log(self) -> str:
        """Last 4,000 characters of the engine's log file."""
        return (self.data / "logs" / "engine.log").read_text(errors="replace")[-4000:]

    def processes(self) -> dict[int, str]:
        """Process id -> command line of all living processes with the data folder in their environment, and of the installation's Redis."""
        return processes_with(f"EQUIRANK_DATA={self.data}", self.redis_socket)

    def stop(self) -> None:
        """Send SIGINT (Ctrl-C), and wait for the end."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)

    def close(self) -> None:
        """Kill the process if it runs, and wait until all processes of the installation have ended."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        until(lambda: not self.processes(), "all processes ended")
        if (note := self.data / "ray-folder").exists():  # of a killed engine; its next start would remove the folder
            shutil.rmtree(note.read_text(), ignore_errors=True)

    def _command(self, *command: str) -> list[str]:
        return [sys.executable, "-m", "services.cli.main", *command]


@contextmanager
def installation(data: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[Installation]:
    """A running installation. It is closed at the end of the block."""
    one = Installation(data, *options, environment=environment)
    try:
        yield one.ready()
    finally:
        one.close()


def processes_with(environment: str, command: str) -> dict[int, str]:
    """Process id -> command line of living processes with this variable in their environment, or this text in their command line."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                mine = environment.encode() in (folder / "environ").read_bytes().split(b"\0") or command in line
                if mine and b"State:\tZ" not in (folder / "status").read_bytes():
                    found[int(folder.name)] = line
            except OSError:
                continue
    return found
