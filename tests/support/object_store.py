"""A real S3-compatible server on loopback: versitygw, which deploy/local/s3 builds. Tests are skipped if it cannot be built."""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from deploy.local.ports import free_ports
from tests.support.processes import TiedToParent, child
from tests.support.waiting import until

_BUILD: Final = Path(__file__).resolve().parents[2] / "deploy" / "local" / "s3" / "build"
USER: Final = "equirank"
SECRET: Final = "store-pw"  # noqa: S105 - of a server that runs only during a test
BUCKET: Final = "ratings"


def program() -> str:
    """Path of the server's program. Skips the test if it cannot be built."""
    built = subprocess.run([_BUILD], capture_output=True, text=True, check=False)
    if built.returncode == 77:
        pytest.skip(built.stderr.strip())
    assert built.returncode == 0, built.stderr
    return built.stdout.strip()


@contextmanager
def serving(folder: Path) -> Iterator[Mapping[str, str]]:
    """Start a server with an empty bucket in `folder`. Yields the environment variables that clients need."""
    (folder / "objects" / BUCKET).mkdir(parents=True)
    (port,) = free_ports(1)
    started = subprocess.Popen(
        [program(), "--port", f"127.0.0.1:{port}", "--access", USER, "--secret", SECRET, "posix", str(folder / "objects")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=TiedToParent(os.getpid()),  # noqa: PLW1509 - a killed test run leaves no server behind
    )
    with child(started) as server:
        until(lambda: server.poll() is not None or _listens(port), "the server listens")
        assert server.poll() is None, "the server ended at once"
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": USER,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
