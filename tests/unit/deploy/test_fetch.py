"""What the test cluster's scripts do where something cannot be fetched: they end soon, with status 77 and one line."""

import os
import subprocess
from pathlib import Path

from tests.support.waiting import PATIENCE

SCRIPTS = Path(__file__).resolve().parents[3] / "deploy/local/kubernetes"


def fetch(tmp_path: Path, *command: str) -> tuple[int, str]:
    script = f'here={SCRIPTS}; . "$here/common"; fetch "$@"; echo "went on" >&2'
    environment = os.environ | {"EQUIRANK_CLUSTER_CACHE": str(tmp_path)}
    words = ["bash", "-euc", script, "bash", *command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stderr.strip()


def test_a_download_that_works(tmp_path: Path) -> None:
    assert fetch(tmp_path, "a thing", "60", "true") == (0, "went on")


def test_a_download_that_is_refused(tmp_path: Path) -> None:
    status, said = fetch(tmp_path, "a thing", "60", "sh", "-c", "echo looking; echo no route to host; exit 3")
    assert status == 77
    assert said.startswith("no cluster: a thing cannot be downloaded: no route to host")
    assert said.count("\n") == 0


def test_a_download_that_hangs(tmp_path: Path) -> None:
    status, said = fetch(tmp_path, "a thing", "0.5", "sleep", "600")
    assert status == 77
    assert "took longer than 0.5 s" in said
