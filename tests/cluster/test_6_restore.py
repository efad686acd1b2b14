"""A namespace is lost with its Kafka: the archive in the object store makes the release again, as docs/operations/disasters.md says."""

import json
import time
from pathlib import Path
from typing import Final

import pytest

from tests.cluster import secure, store
from tests.cluster.archived import is_archived
from tests.cluster.cluster import CHART, FULL, RELEASE, Loader, run, wait_until
from tests.cluster.figures import note
from tests.cluster.secure import all_ready, api, kubectl

pytestmark = pytest.mark.skipif(not FULL, reason="EQUIRANK_CLUSTER_FULL is not set")

ELSEWHERE: Final = "kafka.topicPrefix=equirank-2.,checkpoints.url=s3://ratings/equirank-2,settings.archive=s3://ratings/archive-2"
USER: Final = ("restored", "store-pw-3")
SCRIPT: Final = CHART.parents[1] / "deploy" / "restore" / "archived_pools.py"
REPLAY: Final = 'for file in /tmp/pools/*.parquet; do equirank replay "$file" --pool "$(basename "$file" .parquet)" || exit; done'
_BOARDS: Final = """
import json, sys, urllib.request
def ask(path):
    return json.loads(urllib.request.urlopen("http://localhost:8000" + path).read())
boards = {}
for pool in sys.argv[1:]:
    head = ask("/v1/pools/" + pool)["head"]
    rows = ask("/v1/pools/" + pool + "/boards/elo?count=1000")["rows"]
    boards[pool] = [head["outcomes"], [[row["agent"], row["rating"]] for row in rows]]
print(json.dumps(boards))
"""
"""Prints of each pool how many outcomes its boards count, and all ratings."""


def boards(pools: list[str]) -> dict[str, tuple[int, list[tuple[str, float]]]]:
    """Outcomes and ratings of each pool."""
    found: dict[str, tuple[int, list[tuple[str, float]]]] = json.loads(api("python", "-c", _BOARDS, *pools).splitlines()[-1])
    return found


def test_a_lost_namespace_is_made_again_from_the_archive(secured: Path, secured_load: Loader) -> None:
    before = secured_load.settled(120)
    wait_until("everything is archived", lambda: is_archived(before.sent, before.duplicates), 120)
    expected = boards(sorted(before.sent))
    _lose()
    began = time.monotonic()
    store.add_user(*USER)
    secure.install(secured, "--set", ELSEWHERE, store_user=USER)
    wait_until("every pod is ready", all_ready, 300)
    kubectl("rollout", "status", f"deployment/{RELEASE}-engine", "--timeout=240s")
    engine = ["exec", "-i", f"deployment/{RELEASE}-engine", "--"]
    kubectl(*engine, "python", "-", f"s3://{store.BUCKET}/archive", "/tmp/pools", stdin=SCRIPT.read_text(encoding="utf-8"))
    kubectl(*engine, "sh", "-c", REPLAY, timeout=600)
    found = boards(sorted(before.sent))
    seconds = time.monotonic() - began
    gaps = {pool: before.sent[pool] - found[pool][0] for pool in before.sent}
    lost, doubled = sum(max(0, gap) for gap in gaps.values()), sum(max(0, -gap) for gap in gaps.values())
    outcomes = sum(before.sent.values())
    note(f"namespace and Kafka lost, restored from the archive: {outcomes} outcomes after {seconds:.0f} s; {lost} lost, {doubled} doubled")
    assert found == expected
    verdict = api("equirank", "verify")
    assert "no difference" in verdict, verdict


def _lose() -> None:
    """Delete the namespace with Kafka, Redis and release. Nobody is left who would finish what the cluster's finalizers wait for."""
    run("kubectl", "delete", "namespace", secure.NAMESPACE, "--wait=false")
    gone = ["get", "namespace", secure.NAMESPACE, "--ignore-not-found", "-o", "name"]

    def is_gone() -> bool:
        kubectl("patch", "raycluster", RELEASE, "--type=merge", "--patch", '{"metadata": {"finalizers": []}}', check=False)
        return not run("kubectl", *gone).strip()

    wait_until("the namespace is gone", is_gone, 240)
