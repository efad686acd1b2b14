"""A real Kafka broker for a test run, shared by all pytest-xdist workers.

`deploy/local/kafka/run --lease` runs the broker as long as any worker holds a shared lock on the lease file. The kernel releases the locks
of killed workers, so the broker ends with the test run.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.kafka.broker import missing

RUN = Path(__file__).resolve().parents[2] / "deploy" / "local" / "kafka" / "run"
SECONDS_TO_START = 280.0
_STARTED: list[subprocess.Popen[bytes]] = []
"""Started processes. The references prevent Python's warning about a process that still runs when its object is deleted."""


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap address of the broker. Skips the test if the machine cannot run a broker; fails if a broker does not start."""
    reason = missing()
    if reason:
        pytest.skip(f"no Kafka broker: {reason}")
    base = tmp_path_factory.getbasetemp()
    with leased_broker(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) as bootstrap:
        yield bootstrap


@contextmanager
def leased_broker(folder: Path) -> Iterator[str]:
    """Address of the broker of `folder`. The first user starts the broker, and it ends after the last user's block."""
    lease, address = folder / "kafka.lease", folder / "kafka.lease.address"
    with (folder / "kafka.start").open("w") as start, lease.open("a") as held:
        fcntl.flock(start, fcntl.LOCK_EX)
        fcntl.flock(held, fcntl.LOCK_SH)
        if not address.exists():
            _start(folder, lease, address)
        bootstrap = address.read_text(encoding="utf-8")
        fcntl.flock(start, fcntl.LOCK_UN)
        yield bootstrap


def _start(folder: Path, lease: Path, address: Path) -> None:
    output = folder / "kafka.log"
    with output.open("wb") as log:
        process = subprocess.Popen([sys.executable, str(RUN), "--lease", str(lease)], stdout=log, stderr=log, start_new_session=True)
    _STARTED.append(process)
    deadline = time.monotonic() + SECONDS_TO_START
    while not (address.exists() and address.read_text(encoding="utf-8")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"the Kafka broker did not start:\n{output.read_text(encoding='utf-8', errors='replace')[-4000:]}")
        time.sleep(0.05)
