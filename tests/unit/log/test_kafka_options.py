"""What each of kafka-python's clients is told: the connection's options as they are set, and what the log promises whatever they are."""

from typing import Any

import pytest

from services.backends import open_log
from services.log.kafka import client as kafka_client
from services.log.kafka.client import Clients, Connection
from services.log.protocol import LogError
from services.runtime.settings import Settings

SECURE = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "equirank",
    "sasl_plain_password": "secret",
    "ssl_check_hostname": True,
}
CLIENTS = ("KafkaAdminClient", "KafkaProducer", "KafkaConsumer")


class Told(dict[str, Any]):
    """A client that only keeps what it was told."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(settings)

    def close(self, **_: object) -> None:
        return


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Told]:
    """Every kind of client as it is made."""
    for name in CLIENTS:
        monkeypatch.setattr(kafka_client, name, Told)
    connection = Connection("broker:9093", SECURE, 30.0)
    clients = Clients(connection, "lag")
    asking, producer = clients.consumer.get(), clients.producer.get()
    found = {"admin": connection.admin(), "producer": producer, "asking": asking, "reading": connection.consumer(None)}
    clients.close()
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("client", ["admin", "producer", "asking", "reading"])
def test_every_client_signs_in_as_it_is_told(made: dict[str, Told], client: str) -> None:
    assert made[client].items() >= SECURE.items()
    assert made[client]["bootstrap_servers"] == "broker:9093"


def test_the_producer_acknowledges_what_all_in_sync_replicas_have(made: dict[str, Told]) -> None:
    wanted = {"acks": "all", "enable_idempotence": True, "allow_auto_create_topics": False}
    assert made["producer"].items() >= wanted.items()


@pytest.mark.parametrize(("client", "group"), [("asking", "lag"), ("reading", None)])
def test_consumers_see_what_was_committed_and_never_move_by_themselves(made: dict[str, Told], client: str, group: str | None) -> None:
    wanted = {"isolation_level": "read_committed", "auto_offset_reset": "none", "enable_auto_commit": False, "group_id": group}
    assert made[client].items() >= wanted.items()


def test_options_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIRANK_KAFKA", "broker:9093")
    monkeypatch.setenv("EQUIRANK_KAFKA_OPTIONS", '{"security_protocol": "SASL_SSL", "sasl_plain_username": "equirank"}')
    asked: list[dict[str, Any]] = []

    def refusing(**settings: Any) -> None:
        asked.append(settings)
        raise ValueError("far enough")

    monkeypatch.setattr(kafka_client, "KafkaAdminClient", refusing)
    with pytest.raises(LogError, match="far enough"):
        open_log(Settings())
    assert (asked[0]["security_protocol"], asked[0]["sasl_plain_username"]) == ("SASL_SSL", "equirank")
