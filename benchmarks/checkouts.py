"""Another checkout of Equirank, as programs and as a whole system: what benchmarks compare with this one."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import httpx

from tests.support.installation import processes_with

LONGEST: Final = 30.0
"""Seconds after which a program that still runs is ended."""
STARTED: Final = 120.0
GAME: Final = '{"v":1,"id":"%s","pool":"mine","sides":[{"agents":["%s"],"place":1},{"agents":["b"],"place":2}]}'


class System:
    """`equirank up` of one checkout."""

    def __init__(self, data: Path, url: str, redis: str) -> None:
        self.data, self.url, self._redis = data, url, redis

    def processes(self) -> dict[int, str]:
        """Command lines of its processes, by process."""
        return processes_with(f"EQUIRANK_DATA={self.data}", self._redis)

    def status(self, path: str) -> str:
        """Status of a GET, or what went wrong."""
        try:
            return str(httpx.get(self.url + path, trust_env=False, timeout=10.0).status_code)
        except httpx.HTTPError as error:
            return type(error).__name__

    def play(self, name: str) -> int:
        """Send one outcome; the status."""
        return self.send(GAME % (name, "a"))

    def send(self, body: str) -> int:
        """Send outcomes or retractions; the status."""
        headers = {"Content-Type": "application/json"}
        return httpx.post(f"{self.url}/v1/outcomes", content=body, headers=headers, trust_env=False, timeout=30.0).status_code

    def generation(self) -> int:
        """Generation of the pool that readers see."""
        return int(httpx.get(f"{self.url}/v1/pools/mine", trust_env=False, timeout=10.0).json()["head"]["generation"])

    def outcomes(self) -> int:
        """Outcomes that readers see."""
        try:
            answer = httpx.get(f"{self.url}/v1/pools/mine", trust_env=False, timeout=10.0)
        except httpx.HTTPError:
            return 0
        head = answer.json().get("head") if answer.status_code == httpx.codes.OK else None
        return int(head["outcomes"]) if head else 0


@contextmanager
def system(checkout: Path, **variables: str) -> Iterator[System]:
    """`equirank up` of `checkout`, with one outcome folded. variables: of its environment."""
    with tempfile.TemporaryDirectory(prefix="eqh-") as folder:
        data = Path(folder) / "data"
        more = {"EQUIRANK_DATA": str(data), "EQUIRANK_PORT": "0", "EQUIRANK_METRICS_PORT": "0", "EQUIRANK_SHARDS": "1", **variables}
        child = subprocess.Popen(
            command(checkout, "-m", cli(checkout), "up"), env=environment(checkout) | more, cwd=checkout,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        redis = "no such socket"
        try:
            must(lambda: (data / "up.json").exists() or child.poll() is not None)
            addresses = json.loads((data / "up.json").read_bytes())
            redis = addresses["redis"].removeprefix("unix://")
            here = System(data, addresses["api"], redis)
            here.play("before")
            must(lambda: here.outcomes() > 0)
            yield here
        finally:
            child.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                child.wait(30.0)
            child.kill()
            child.wait()
            for pid in processes_with(f"EQUIRANK_DATA={data}", redis):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def program(checkout: Path, text: str, argument: str) -> str:
    """What a program prints in `checkout`, or how it ended."""
    try:
        done = subprocess.run(
            command(checkout, "-c", text, argument), env=environment(checkout), cwd=checkout, capture_output=True, text=True,
            timeout=LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not within {LONGEST:g} s"
    if done.returncode:
        return f"ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return done.stdout.strip()


def command(checkout: Path, *arguments: str) -> list[str]:
    own = checkout / ".venv" / "bin" / "python"
    return [str(own if own.exists() else sys.executable), *arguments]


def cli(checkout: Path) -> str:
    return "services.cli.main" if (checkout / "services" / "cli" / "main.py").exists() else "services.cli"


def environment(checkout: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")}
    return {**kept, "PYTHONPATH": str(checkout)}


def until(condition: Callable[[], bool], seconds: float) -> float | None:
    """Seconds until `condition` held; None where it did not within `seconds`."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if condition():
            return time.monotonic() - began
        time.sleep(0.1)
    return None


def must(condition: Callable[[], bool]) -> None:
    if until(condition, STARTED) is None:
        raise RuntimeError("the system did not start")
