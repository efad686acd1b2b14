"""A broker that asks who comes: the log by PLAIN, by SCRAM, over TLS and by a certificate of its own, and what is said of wrong ones."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.kafka.broker import Broker, missing
from deploy.local.ports import free_ports
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Log, LogError
from tests.support.waiting import PATIENCE

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
AT_ONCE = 3600.0
"""Time limit of a connection that fails at once: a test that waits for it fails by its own time limit."""
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
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with key and certificate, in PEM, of a client that the broker knows and of a stranger."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("client", "stranger"):
        files = ["-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2"]
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *files]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[Broker]:
    if reason := missing():
        pytest.skip(f"no Kafka broker: {reason}")
    with Broker(tmp_path_factory.mktemp("sasl"), users={"equirank": "right"}, clients=certificates / "client.pem") as broker:
        yield broker


def opened(broker: Broker, timeout: float = PATIENCE, protocol: str = "SASL_PLAINTEXT", **options: str) -> Log:
    told = {"security_protocol": protocol, "sasl_plain_username": "equirank", "sasl_plain_password": "right", **options}
    return open_kafka_log(Connection(broker.encrypted if protocol == "SASL_SSL" else broker.asking, told, timeout), 1)


@pytest.mark.parametrize(
    ("protocol", "mechanism"), [("SASL_PLAINTEXT", "PLAIN"), ("SASL_PLAINTEXT", "SCRAM-SHA-512"), ("SASL_SSL", "PLAIN")]
)
def test_every_client_of_the_log_comes_in(broker: Broker, protocol: str, mechanism: str) -> None:
    trusted = {"ssl_cafile": str(broker.certificate)} if protocol == "SASL_SSL" else {}
    writes_and_reads(opened(broker, protocol=protocol, sasl_mechanism=mechanism, **trusted), mechanism.encode())


def writes_and_reads(log: Log, value: bytes) -> None:
    (offset,) = log.outcomes.append(0, [(b"blitz", value)])
    reader = log.outcomes.reader({0: offset})
    while not (records := reader.poll(1.0, 10).get(0, [])):
        pass
    assert [(record.offset, record.value) for record in records] == [(offset, value)]
    assert log.outcomes.end(0) == offset + 1
    reader.close()
    log.close()


def shown(broker: Broker, folder: Path, name: str | None, timeout: float) -> Log:
    """The log at the address that asks for a client's certificate. name: whose certificate is shown, if any."""
    files = {} if name is None else {"ssl_certfile": str(folder / f"{name}.pem"), "ssl_keyfile": str(folder / f"{name}.key")}
    options = {"security_protocol": "SSL", "ssl_cafile": str(broker.certificate)} | files
    return open_kafka_log(Connection(broker.mutual, options, timeout), 1)


def test_a_client_comes_in_by_its_certificate(broker: Broker, certificates: Path) -> None:
    writes_and_reads(shown(broker, certificates, "client", PATIENCE), b"by certificate")


@pytest.mark.parametrize("name", [None, "stranger"])
def test_a_client_without_a_known_certificate_is_told_so(broker: Broker, certificates: Path, name: str | None) -> None:
    with pytest.raises(LogError, match=r"within 10 s; the last try: .*certificate"):
        shown(broker, certificates, name, 10.0)


def test_a_certificate_that_cannot_be_read_is_named_at_once(broker: Broker, certificates: Path) -> None:
    with pytest.raises(LogError, match="ssl_certfile") as caught:
        shown(broker, certificates, "nobody", AT_ONCE)
    assert not caught.value.retriable


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
    with pytest.raises(LogError, match=r"refuses user \w+ by .*(SaslAuthenticationFailed|invalid credentials)") as caught:
        opened(broker, timeout=AT_ONCE, sasl_mechanism=mechanism, ssl_cafile=str(broker.certificate), **wrong)
    assert not caught.value.retriable, "waiting does not mend a password"
    assert "wrong" not in str(caught.value), "nor is one told"
    assert "right" not in str(caught.value)


def test_a_mechanism_that_the_broker_lacks_is_named(broker: Broker) -> None:
    with pytest.raises(LogError, match="SCRAM-SHA-256") as caught:
        opened(broker, timeout=AT_ONCE, sasl_mechanism="SCRAM-SHA-256")
    assert not caught.value.retriable


def test_a_refusal_is_told_though_other_addresses_do_not_answer(broker: Broker) -> None:
    dead = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with pytest.raises(LogError, match="refuses user equirank by PLAIN") as caught:
        open_kafka_log(Connection([*dead, broker.asking], WRONG, AT_ONCE), 1)
    assert not caught.value.retriable


def test_the_command_line_tells_a_wrong_password_in_one_line(broker: Broker, tmp_path: Path) -> None:
    environment = {**os.environ, "EQUIRANK_DATA": str(tmp_path), "EQUIRANK_KAFKA": broker.asking,
                   "EQUIRANK_KAFKA_OPTIONS": json.dumps(WRONG)}  # fmt: skip
    command = [sys.executable, "-m", "services.cli.main", "dead-letters", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert "refuses user equirank by PLAIN" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_certificate_that_is_not_trusted_is_the_reason_told(broker: Broker) -> None:
    with pytest.raises(LogError, match=r"within 10 s; the last try: .*certificate verify failed"):
        opened(broker, timeout=10.0, protocol="SASL_SSL", sasl_mechanism="PLAIN")


def test_a_client_that_names_nobody_is_told_what_it_met(broker: Broker) -> None:
    with pytest.raises(LogError, match=r"no connection to Kafka at .* within 10 s"):
        open_kafka_log(Connection(broker.asking, timeout=10.0), 1)
