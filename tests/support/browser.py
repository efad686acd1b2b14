"""Open pages in a real browser without a window."""

import os
import shutil
import subprocess
import tempfile

import pytest

from tests.support.waiting import PATIENCE

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
NEEDED = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page is not tried (Debian: apt-get install chromium)")
"""Skips the marked test if no browser is installed."""


def dump(url: str, path: str) -> tuple[str, str]:
    """Open a page. Returns its document after 5 s of virtual time, and the lines of the browser's console. url: base URL of the site."""
    with tempfile.TemporaryDirectory(prefix="eqr-chrome-", ignore_cleanup_errors=True) as profile:
        command = [
            str(BROWSER),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            url + path,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env={**os.environ, "HOME": profile})
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
