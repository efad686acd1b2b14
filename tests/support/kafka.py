"""A real Kafka broker for a test run, shared by all pytest-xdist workers.

`deploy/local/kafka/run --lease` runs the broker as long as any worker holds a shared lock on the lease file. The kernel releases the locks
of killed workers, so the broker ends with the test run.
"""

import atexit
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.kafka.broker import missing
from tests.support.waiting import until

RUN = Path(__file__).resolve().parents[2] / "deploy" / "local" / "kafka" / "run"


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
            atexit.register(held.close)  # before the broker is waited for, also if the test run was broken off
        bootstrap = address.read_text(encoding="utf-8")
        fcntl.flock(start, fcntl.LOCK_UN)
        yield bootstrap


def _start(folder: Path, lease: Path, address: Path) -> None:
    output = folder / "kafka.log"
    with output.open("wb") as log:
        process = subprocess.Popen([sys.executable, str(RUN), "--lease", str(lease)], stdout=log, stderr=log, start_new_session=True)
    atexit.register(process.wait)  # other workers of the run may use the broker for longer than this one
    try:
        until(lambda: process.poll() is not None or (address.exists() and address.read_text(encoding="utf-8")), "the Kafka broker starts")
        assert process.poll() is None, "the Kafka broker did not start"
    except AssertionError as error:
        process.kill()
        pytest.fail(f"{error}:\n{output.read_text(encoding='utf-8', errors='replace')[-4000:]}")
