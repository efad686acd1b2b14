"""Dashboards: written by scripts/dashboards, of queries that Prometheus accepts and metrics that exist."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.promtool import SERIES, needs_promtool, promtool

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "deploy/grafana").glob("*.json"))


def queries(path: Path) -> list[str]:
    panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def test_the_files_are_what_the_script_writes() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "scripts/dashboards"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert len(FILES) == 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_metric_exists(path: Path) -> None:
    used = {name for query in queries(path) for name in re.findall(r"equirank_\w+", query)}
    assert len(used) > 10
    assert used <= SERIES


@needs_promtool
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_prometheus_accepts_every_query(path: Path, tmp_path: Path) -> None:
    texts = [query.replace("$__rate_interval", "1m").replace("$namespace", ".*") for query in queries(path)]
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(texts)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", str(tmp_path / "rules.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_panel_lies_on_another(path: Path) -> None:
    panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
    places = [panel["gridPos"] for panel in panels]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels)
