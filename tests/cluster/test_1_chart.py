"""The chart without a cluster: it is accepted by helm, and values that mean nothing are refused."""

from pathlib import Path

import pytest

from tests.cluster.cluster import CHART, run

REFUSED = {
    "kakfa.bootstrapServers=a:9092": "additional properties 'kakfa' not allowed",
    "shards.count=0": "minimum: got 0, want 1",
    "demo.kafkaBrokers=2": "value must be one of 1, 3",
    "api.replicas=two": "got string, want integer",
    "settings.kafka=a:9092": "must not be valid against schema",
    "settings.tls_key=/key": "must not be valid against schema",
    "api.drainSeconds=0": "minimum: got 0, want 1",
}


def test_helm_finds_no_fault_in_the_chart() -> None:
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", str(CHART), "-f", str(CHART / "values-demo.yaml"))


@pytest.mark.parametrize("value", REFUSED)
def test_values_that_mean_nothing_are_refused(value: str) -> None:
    with pytest.raises(AssertionError, match="values don't meet the specifications") as refused:
        run("helm", "template", "x", str(CHART), "-f", str(CHART / "values-demo.yaml"), "--set", value)
    assert value.partition(".")[0] in str(refused.value)


def test_numbers_of_settings_are_written_whole(tmp_path: Path) -> None:
    """Helm reads numbers of a file as floating point."""
    values = tmp_path / "values.yaml"
    values.write_text("settings: {max_agents: 10000000, solve_memory_bytes: 8589934592, checkpoint_seconds: 2.5, create_pools: false}\n")
    rendered = run("helm", "template", "x", str(CHART), "-f", str(CHART / "values-demo.yaml"), "-f", str(values))
    written = {"MAX_AGENTS": "10000000", "SOLVE_MEMORY_BYTES": "8589934592", "CHECKPOINT_SECONDS": "2.5", "CREATE_POOLS": "false"}
    for name, text in written.items():
        assert f'EQUIRANK_{name}: "{text}"' in rendered


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("kafka.sasl.mechanism=SCRAM-SHA-512,kafka.sasl.username=equirank", "kafka.sasl.existingSecret"),
        ("redis.username=equirank", "redis.existingSecret"),
        ("kafka.tls.clientSecret=client", "kafka.tls.enabled=true"),
        ("solves.minReplicas=3,solves.maxReplicas=2", "solves.maxReplicas"),
    ],
)
def test_a_value_that_needs_another_one_names_it(given: str, missing: str) -> None:
    with pytest.raises(AssertionError, match=missing):
        run("helm", "template", "x", str(CHART), "--set", f"kafka.bootstrapServers=kafka:9092,redis.host=redis,{given}")


def test_nobody_scrapes_where_nobody_is_named() -> None:
    def policies(*options: str) -> list[str]:
        rendered = run("helm", "template", "x", str(CHART), "-f", str(CHART / "values-demo.yaml"), *options)
        return [part for part in rendered.split("\n---\n") if "kind: NetworkPolicy" in part]

    assert any("port: 9464" in policy for policy in policies())
    assert not any("port: 9464" in policy for policy in policies("--set-json", "networkPolicy.metricsFrom=[]"))


@pytest.mark.parametrize("missing", ["kafka.bootstrapServers", "redis.host"])
def test_brokers_and_redis_have_to_be_named(missing: str) -> None:
    given = {"kafka.bootstrapServers": "kafka:9092", "redis.host": "redis"}
    del given[missing]
    with pytest.raises(AssertionError, match=missing):
        run("helm", "template", "x", str(CHART), *[f"--set={name}={value}" for name, value in given.items()])


@pytest.mark.parametrize(("replicas", "left"), [("api.replicas=1", 0), ("api.replicas=3,api.minAvailable=3", 2), ("api.replicas=3", 1)])
def test_a_budget_of_the_api_leaves_one_pod_to_evict(replicas: str, left: int) -> None:
    """Without one, no node that runs the pod could be drained."""
    rendered = run("helm", "template", "x", str(CHART), "-f", str(CHART / "values-demo.yaml"), "--set", replicas)
    budgets = [part for part in rendered.split("\n---\n") if "kind: PodDisruptionBudget" in part and "x-equirank-api" in part]
    assert [f"minAvailable: {left}\n" in budget for budget in budgets] == ([True] if left else [])
