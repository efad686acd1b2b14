"""A broker that asks who comes: the log by PLAIN, by SCRAM and over TLS, and what is said of a wrong password, mechanism or certificate."""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.kafka.broker import Broker, missing
from deploy.local.ports import free_ports
from services.log.kafka.client import Connection
from services.log.kafka.log import KafkaLog, open_kafka_log
from services.log.protocol import LogError

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
WRONG = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "equirank",
    "sasl_plain_password": "wrong",
}


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if reason := missing():
        pytest.skip(f"no Kafka broker: {reason}")
    with Broker(tmp_path_factory.mktemp("sasl"), users={"equirank": "right"}) as broker:
        yield broker


def opened(broker: Broker, timeout: float = 20.0, protocol: str = "SASL_PLAINTEXT", **options: str) -> KafkaLog:
    told = {"security_protocol": protocol, "sasl_plain_username": "equirank", "sasl_plain_password": "right", **options}
    return open_kafka_log(Connection(broker.encrypted if protocol == "SASL_SSL" else broker.asking, told, timeout), 1)


@pytest.mark.parametrize(
    ("protocol", "mechanism"), [("SASL_PLAINTEXT", "PLAIN"), ("SASL_PLAINTEXT", "SCRAM-SHA-512"), ("SASL_SSL", "PLAIN")]
)
def test_every_client_of_the_log_comes_in(broker: Broker, protocol: str, mechanism: str) -> None:
    trusted = {"ssl_cafile": str(broker.certificate)} if protocol == "SASL_SSL" else {}
    log = opened(broker, protocol=protocol, sasl_mechanism=mechanism, **trusted)
    (offset,) = log.outcomes.append(0, [(b"blitz", mechanism.encode())])
    reader = log.outcomes.reader({0: offset})
    while not (records := reader.poll(1.0, 10).get(0, [])):
        pass
    assert [(record.offset, record.value) for record in records] == [(offset, mechanism.encode())]
    assert log.outcomes.end(0) == offset + 1
    reader.close()
    log.close()


@pytest.mark.parametrize(
    ("mechanism", "wrong"),
    [
        ("PLAIN", {"sasl_plain_password": "wrong"}),
        ("SCRAM-SHA-512", {"sasl_plain_password": "wrong"}),
        ("SCRAM-SHA-512", {"sasl_plain_username": "nobody"}),
        ("PLAIN", {"sasl_plain_password": "wrong", "protocol": "SASL_SSL"}),
    ],
)
def test_who_is_not_known_is_refused_with_that_reason(broker: Broker, mechanism: str, wrong: dict[str, str]) -> None:
    began = time.monotonic()
    with pytest.raises(LogError, match=r"refuses user \w+ by .*(SaslAuthenticationFailed|invalid credentials)") as caught:
        opened(broker, timeout=60.0, sasl_mechanism=mechanism, ssl_cafile=str(broker.certificate), **wrong)
    assert time.monotonic() - began < 10.0, "at once"
    assert not caught.value.retriable, "waiting does not mend a password"
    assert "wrong" not in str(caught.value), "nor is one told"
    assert "right" not in str(caught.value)


def test_a_mechanism_that_the_broker_lacks_is_named(broker: Broker) -> None:
    began = time.monotonic()
    with pytest.raises(LogError, match="SCRAM-SHA-256") as caught:
        opened(broker, timeout=60.0, sasl_mechanism="SCRAM-SHA-256")
    assert not caught.value.retriable
    assert time.monotonic() - began < 10.0, "at once"


def test_a_refusal_is_told_though_other_addresses_do_not_answer(broker: Broker) -> None:
    dead = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with pytest.raises(LogError, match="refuses user equirank by PLAIN") as caught:
        open_kafka_log(Connection([*dead, broker.asking], WRONG, 60.0), 1)
    assert not caught.value.retriable


def test_the_command_line_tells_a_wrong_password_in_one_line(broker: Broker, tmp_path: Path) -> None:
    environment = {**os.environ, "EQUIRANK_DATA": str(tmp_path), "EQUIRANK_KAFKA": broker.asking,
                   "EQUIRANK_KAFKA_OPTIONS": json.dumps(WRONG)}  # fmt: skip
    command = [sys.executable, "-m", "services.cli.main", "dead-letters", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=25.0, check=False)
    assert done.returncode == 2
    assert "refuses user equirank by PLAIN" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_certificate_that_is_not_trusted_is_the_reason_told(broker: Broker) -> None:
    with pytest.raises(LogError, match=r"within 3 s; the last try: .*certificate verify failed"):
        opened(broker, timeout=3.0, protocol="SASL_SSL", sasl_mechanism="PLAIN")


def test_a_client_that_names_nobody_is_told_what_it_met(broker: Broker) -> None:
    with pytest.raises(LogError, match=r"no connection to Kafka at .* within 3 s"):
        open_kafka_log(Connection(broker.asking, timeout=3.0), 1)
