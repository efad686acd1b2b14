"""Topics on a real quorum: made durable whatever the cluster's defaults are; weaker ones are named by the engine."""

import gc
import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from prometheus_client import generate_latest

from deploy.local.kafka.broker import Quorum, missing
from services.engine.engine import Engine
from services.engine.metrics import EngineMetrics
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.waiting import until

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.skipif(bool(missing()), reason=f"no Kafka broker: {missing()}"),
]
NAMES = ("min.insync.replicas", "unclean.leader.election.enable")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def quorum() -> Iterator[Quorum]:
    with Quorum(3) as quorum:
        yield quorum


@pytest.fixture(scope="module")
def admin(quorum: Quorum) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=quorum.bootstrap)) as admin:
        yield admin


def opened(quorum: Quorum, prefix: str, replication: int = 3) -> Log:
    return open_kafka_log(Connection(quorum.bootstrap), 2, replication=replication, topic_prefix=prefix)


def settings_of(admin: KafkaAdminClient, topic: str) -> dict[str, str]:
    """What the topic says itself, whatever the cluster's defaults are."""
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="dynamic")["topic"][topic]
    return {name: described[name]["value"] for name in NAMES if name in described}


def test_topics_of_three_replicas_are_made_durable(quorum: Quorum, admin: KafkaAdminClient) -> None:
    with closing(opened(quorum, prefix := f"d-{uuid.uuid4().hex[:6]}.")) as log:
        durable = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
        for name in ("outcomes", "control", "dead-letters"):
            until(lambda name=name: settings_of(admin, f"{prefix}{name}") == durable, f"all brokers know the settings of {name}")
        assert log.weaknesses == []


def test_topics_of_fewer_replicas_are_named(quorum: Quorum, admin: KafkaAdminClient) -> None:
    with closing(opened(quorum, f"d-{uuid.uuid4().hex[:6]}.", replication=1)) as log:
        assert len(log.weaknesses) == 3
        assert "has 1 of 3 replicas" in log.weaknesses[0]


def test_weaker_settings_are_told_by_the_engine_and_its_metric(
    quorum: Quorum, admin: KafkaAdminClient, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = f"d-{uuid.uuid4().hex[:6]}."
    opened(quorum, prefix).close()
    weak = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, f"{prefix}outcomes", configs=weak)])
    metrics = EngineMetrics(None)
    with closing(opened(quorum, prefix)) as log:
        Engine(Settings(), metrics)._tell_weaknesses(log)
    assert f"topic {prefix}outcomes has min.insync.replicas=1; set it to 2" in caplog.text
    assert f"topic {prefix}outcomes has unclean.leader.election.enable=true; set it to false" in caplog.text
    assert b"equirank_log_weaknesses 2.0" in generate_latest(metrics._registry)
