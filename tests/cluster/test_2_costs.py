"""What a release costs: memory at rest of each container, and seconds from pods without state to the first outcome folded."""

import datetime as dt
import time

import pytest

from tests.cluster.cluster import FULL, Loader, kubectl, objects, pods
from tests.cluster.figures import note

COMPONENTS = ("api", "engine", "head", "shards", "solves")
_MEMORY = """cd /sys/fs/cgroup; [ -d memory ] && cd memory
cat memory.current 2>/dev/null || cat memory.usage_in_bytes; cat memory.stat"""


def working_set(pod: str) -> int:
    """Bytes that the container of a pod needs: its usage without files that nobody has used for long, as the kubelet counts."""
    usage, *statistics = kubectl("exec", pod, "--", "sh", "-c", _MEMORY).splitlines()
    by_name = dict(line.split() for line in statistics)
    return int(usage) - int(by_name.get("total_inactive_file", by_name.get("inactive_file", 0)))


def test_memory_at_rest_is_far_below_the_limits(loader: Loader) -> None:
    loader.settled(120)
    measured = {component: working_set(pods(component)[0]) >> 20 for component in COMPONENTS}
    note("MiB at rest: " + ", ".join(f"{component} {used}" for component, used in measured.items()))
    limits = {"api": 1024, "engine": 2048, "head": 2048, "shards": 2048, "solves": 2048}
    assert {component for component, used in measured.items() if used > 0.75 * limits[component]} == set()


@pytest.mark.skipif(not FULL, reason="EQUIRANK_CLUSTER_FULL is not set")
def test_start_up(loader: Loader) -> None:
    """Engine and Ray end while outcomes wait in the log; measured from the first new pod that has a node."""
    components = "app.kubernetes.io/component in (engine,head,shards,solves)"
    loader.rate(20)
    old = {pod["metadata"]["uid"] for pod in objects("pods")}
    kubectl("delete", "pod", "-l", components, "--wait=true")
    before = loader.status()
    loader.wait_until_folded(before, 240)
    folded = time.time()
    new = [pod for pod in objects("pods") if pod["metadata"]["uid"] not in old]
    scheduled = [
        dt.datetime.fromisoformat(condition["lastTransitionTime"]).timestamp()
        for pod in new
        for condition in pod["status"]["conditions"]
        if condition["type"] == "PodScheduled"
    ]
    note(f"{folded - min(scheduled):.0f} s from the first pod scheduled to the first outcome folded in every pool")
    loader.settled(240)
