"""Topics on a cluster whose brokers learn of new ones one after another."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from kafka.admin import KafkaAdminClient

from services.log.kafka import log as kafka_log
from services.log.kafka import topics as kafka_topics
from services.log.kafka.client import Connection
from services.log.kafka.topics import ensure_topics, plans
from services.log.protocol import LogError

PLANS = list(plans("t.", 2).values())


class Admin:
    """Of a cluster where a topic is known for good only after some questions that came too early."""

    def __init__(self, early: int) -> None:
        self.early, self.made = early, set[str]()

    def describe_cluster(self) -> dict[str, str]:
        return {"cluster_id": "c"}

    def describe_topics(self, names: Sequence[str]) -> list[dict[str, Any]]:
        late = self.made and self.early > 0
        self.early -= bool(self.made)
        return [self._described(plan, known=plan.name in self.made and not (late and plan is PLANS[-1])) for plan in PLANS]

    def _described(self, plan: kafka_topics.TopicPlan, *, known: bool) -> dict[str, Any]:
        partitions = [{"replica_nodes": [1, 2, 3]}] * (plan.partitions if known else 0)
        return {"name": plan.name, "error_code": 0 if known else 3, "topic_id": "id", "partitions": partitions}

    def close(self) -> None:
        """Nothing is open."""

    def create_topics(self, topics: dict[str, Any]) -> None:
        self.made.update(topics)

    def wait_for_topics(self, names: Sequence[str]) -> None:
        """The broker that was asked knows them."""

    def describe_configs(self, _: object, config_filter: str) -> dict[str, Any]:
        configs = {plan.name: {name: {"value": value} for name, value in plan.configs(3).items()} for plan in PLANS}
        return {"topic": configs}


class Cluster:
    """Where the topics are looked up and made."""

    def __init__(self, admin: Admin) -> None:
        self.timeout, self.admin = 30.0, lambda: admin


def test_a_broker_that_has_not_heard_of_a_new_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_log, "_ASK_AGAIN_SECONDS", 0.0)
    found = kafka_log._find_or_create_topics(cast("Connection", Cluster(Admin(early=3))), PLANS, create=True, replication=3)
    assert [(one.identity, one.retention) for one in found.values()] == [("kafka:c:id", None)] * 3


def test_a_topic_that_no_broker_ever_hears_of_is_told() -> None:
    with pytest.raises(LogError, match=r"t\.dead-letters cannot be described: error 3") as caught:
        ensure_topics(cast("KafkaAdminClient", Admin(early=1 << 30)), PLANS, create=True, replication=3)
    assert caught.value.retriable
