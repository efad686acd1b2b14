"""A release on a real cluster: it gets ready, counts each outcome once, and its pods say what they do."""

import re

from tests.cluster.cluster import RELEASE, Loader, helm, kubectl, pods
from tests.cluster.figures import note


def test_the_chart_installs_and_becomes_ready(release: dict[str, float]) -> None:
    note(f"every pod ready after {release['ready']:.0f} s")


def test_a_hundred_thousand_outcomes_are_counted_once_each(loader: Loader) -> None:
    status = loader.settled(120)
    assert sum(status.sent.values()) >= 100_000
    assert status.counted == status.sent
    assert status.duplicates == status.repeated > 0


def test_helm_test_passes(loader: Loader) -> None:
    assert "Phase:          Succeeded" in helm("test", RELEASE)


def test_the_logs_of_the_pods_say_what_shards_do(loader: Loader) -> None:
    for pod in pods("shards"):
        assert "took the partition over with epoch" in kubectl("logs", pod), pod


def test_the_engine_names_the_pod_that_holds_each_partition(loader: Loader) -> None:
    metrics = kubectl("exec", f"deployment/{RELEASE}-engine", "--", "wget", "-qO-", "http://127.0.0.1:9464/metrics")
    hosts = dict(re.findall(r'equirank_partition_owner\{host="([^"]+)",partition="(\d+)"', metrics))
    assert set(hosts) == set(pods("shards"))


def test_no_pod_compiles_kernels(loader: Loader) -> None:
    """They are read from the image. What a pod had to compile itself, for some 30 s after its start, would lie in its cache folder."""
    assert loader.execute("sh", "-c", "ls /opt/equirank/lib/python3*/site-packages/ratings_core/kernels/__pycache__")
    for pod in (*pods("shards"), *pods("solves")):
        assert not kubectl("exec", pod, "--", "sh", "-c", "ls -A /tmp/.cache/equirank 2>/dev/null || true"), pod


def test_two_replicas_answer(loader: Loader) -> None:
    assert len(pods("api")) == 2
