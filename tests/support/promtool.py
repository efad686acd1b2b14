"""Run Prometheus's checker `promtool`, and list the metrics that rules and dashboards may use."""

import shutil
import subprocess
from typing import Final

import pytest

from services.runtime.metrics import API, ENGINE

_SUFFIXES: Final = {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
SERIES: Final = {metric.name + suffix for metric in (*API, *ENGINE) for suffix in _SUFFIXES[metric.kind]}
"""Names of all time series of API and engine."""

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: install the Debian package prometheus")


def promtool(*arguments: str) -> str:
    """Run promtool, and return the printed text. Fails if its exit status is not 0."""
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
