"""The chart without a cluster: it is accepted by helm, and values that mean nothing are refused."""

import pytest

from tests.cluster.cluster import CHART, run

REFUSED = {
    "kakfa.bootstrapServers=a:9092": "additional properties 'kakfa' not allowed",
    "shards.count=0": "minimum: got 0, want 1",
    "demo.kafkaBrokers=2": "value must be one of 1, 3",
    "api.replicas=two": "got string, want integer",
    "settings.kafka=a:9092": "must not be valid against schema",
}


def test_helm_finds_no_fault_in_the_chart() -> None:
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", str(CHART), "-f", str(CHART / "values-demo.yaml"))


@pytest.mark.parametrize("value", REFUSED)
def test_values_that_mean_nothing_are_refused(value: str) -> None:
    with pytest.raises(AssertionError, match="values don't meet the specifications") as refused:
        run("helm", "template", "x", str(CHART), "-f", str(CHART / "values-demo.yaml"), "--set", value)
    assert value.partition(".")[0] in str(refused.value)


@pytest.mark.parametrize("missing", ["kafka.bootstrapServers", "redis.host"])
def test_brokers_and_redis_have_to_be_named(missing: str) -> None:
    given = {"kafka.bootstrapServers": "kafka:9092", "redis.host": "redis"}
    del given[missing]
    with pytest.raises(AssertionError, match=missing):
        run("helm", "template", "x", str(CHART), *[f"--set={name}={value}" for name, value in given.items()])
