"""A running `equirank up`, for benchmarks that go through all of its processes."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.error import URLError

from services.runtime.settings import Settings

POOL = "blitz"
PARTITIONS = Settings.model_fields["partitions"].default


class Up:
    """`equirank up` in a folder of its own."""

    def __init__(self, data: Path, pool: str = POOL, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self.data, self.pool = data, pool
        unset = {name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")}
        own = {"EQUIRANK_DATA": str(data), "EQUIRANK_PORT": "0", "EQUIRANK_METRICS_PORT": "0"}
        command = [sys.executable, "-m", "services.cli.main", "up"]
        self.process = subprocess.Popen(command, env={**unset, **own, **settings}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120.0
        while not (data / "up.json").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"equirank up did not start; its logs are in {data / 'logs'}")
            time.sleep(0.1)
        self.api = json.loads((data / "up.json").read_bytes())["api"]

    def outcomes(self) -> int:
        """How many outcomes of the pool readers see now."""
        try:
            with urllib.request.urlopen(f"{self.api}/v1/pools/{self.pool}", timeout=10) as answer:  # noqa: S310 - our own address
                head = json.load(answer)["head"]
        except URLError:
            return 0
        return head["outcomes"] if head else 0

    def wait(self, count: int) -> None:
        while self.outcomes() < count:
            time.sleep(0.01)

    def post(self, body: bytes) -> None:
        request = urllib.request.Request(f"{self.api}/v1/outcomes", body, {"content-type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            answer.read()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
