"""What a release costs: memory and processor time of each container, and seconds from pods without state to the first outcome folded."""

import datetime as dt
import time

import pytest

from tests.cluster.cluster import FULL, Loader, kubectl, objects, pods, wait_until
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


_CPU = """cd /sys/fs/cgroup; [ -f cpu.stat ] && sed -n 's/^usage_usec //p' cpu.stat || echo $(($(cat cpuacct/cpuacct.usage) / 1000))"""


def cpu_seconds(pod: str) -> float:
    """Processor time of the container of a pod since its start."""
    return int(kubectl("exec", pod, "--", "sh", "-c", _CPU)) / 1e6


@pytest.mark.skipif(not FULL, reason="EQUIRANK_CLUSTER_FULL is not set")
def test_processor_time_under_load(loader: Loader) -> None:
    """Of one pod of each component, while 5,000 outcomes come through Kafka, and readers and a writer ask the API."""
    loader.rate(20)
    measured = {component: pods(component)[0] for component in COMPONENTS}
    before, began, used = loader.status(), time.monotonic(), {component: cpu_seconds(pod) for component, pod in measured.items()}
    wanted = sum(before.sent.values()) + 5_000
    wait_until("5,000 outcomes more are sent", lambda: sum(loader.status().sent.values()) >= wanted, 240)
    after, seconds = loader.status(), time.monotonic() - began
    spent = {component: cpu_seconds(pod) - used[component] for component, pod in measured.items()}
    outcomes, requests = sum(after.sent.values()) - sum(before.sent.values()), after.asked - before.asked
    shares = ", ".join(f"{component} {1000 * used / seconds:.0f}" for component, used in spent.items())
    note(f"thousandths of a core at {outcomes / seconds:.0f} outcomes/s and {requests / seconds:.0f} requests/s: {shares}")
    assert min(spent.values()) > 0


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
