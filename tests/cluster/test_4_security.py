"""TLS and authentication end to end: right ones work, wrong ones fail with a clear error, plaintext is refused."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster import secure
from tests.cluster.cluster import RELEASE
from tests.cluster.secure import api, ask, helm, kubectl

pytestmark = pytest.mark.usefixtures("secured")

KAFKA = {
    "security_protocol": "SASL_SSL", "ssl_cafile": "/etc/equirank/kafka/ca.crt", "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "equirank", "sasl_plain_password": secure.KAFKA_PASSWORD,
}  # fmt: skip
WRONG_KAFKA = {
    "a wrong password": (KAFKA | {"sasl_plain_password": "guessed"}, "refuses user equirank by SCRAM-SHA-512"),
    "an unknown user": (KAFKA | {"sasl_plain_username": "mallory"}, "refuses user mallory by SCRAM-SHA-512"),
    "an authority that did not sign": ({name: value for name, value in KAFKA.items() if name != "ssl_cafile"}, "CERTIFICATE_VERIFY_FAILED"),
    "plaintext": ({}, "no connection to Kafka"),
}
WRONG_REDIS = {
    "a wrong password": ("rediss://equirank:guessed@redis:6379/0?ssl_ca_certs=/etc/equirank/redis/ca.crt", "refuses these credentials"),
    "no user": ("rediss://redis:6379/0?ssl_ca_certs=/etc/equirank/redis/ca.crt", "refuses these credentials"),
    "an authority that did not sign": (f"rediss://equirank:{secure.REDIS_PASSWORD}@redis:6379/0", "CERTIFICATE_VERIFY_FAILED"),
    "plaintext": (f"redis://equirank:{secure.REDIS_PASSWORD}@redis:6379/0", "does not answer"),
}
UNTOLD = ("env", "-u", "SSL_CERT_FILE")
"""Without the variable that makes the object store's authority, which is also that of Kafka and Redis, the one of the whole process."""
TOP = ("equirank", "top", "--pool", "helm-test", "--count", "1")


@pytest.fixture(scope="module", autouse=True)
def answers_of_kafka(secured: Path) -> Iterator[Mapping[str, Future[str]]]:
    """What a command says to each wrong connection to Kafka. Some wait for half a minute, so they run beside the first tests."""
    kubectl("rollout", "status", f"deployment/{RELEASE}-engine", f"deployment/{RELEASE}-api", "--timeout=240s")
    with ThreadPoolExecutor(2) as pool:
        yield {wrong: pool.submit(_listed, options) for wrong, (options, _) in WRONG_KAFKA.items()}


def _listed(options: Mapping[str, str]) -> str:
    return api(*UNTOLD, f"EQUIRANK_KAFKA_OPTIONS={json.dumps(options)}", "equirank", "partitions", "list")


def test_the_right_ones_work() -> None:
    assert "Phase:          Succeeded" in helm("test", RELEASE, "--timeout", "5m")


@pytest.mark.parametrize("wrong", WRONG_REDIS)
def test_redis_refuses(wrong: str) -> None:
    url, error = WRONG_REDIS[wrong]
    said = api(*UNTOLD, f"EQUIRANK_REDIS={url}", *TOP)
    assert error in said
    assert "agent-0" not in said
    assert "agent-0" in api(*TOP)
    assert "Traceback" not in said


@pytest.mark.parametrize("token", ["", "x" * 64])
def test_ray_refuses_another_token(token: str) -> None:
    assert secure.ray_health(None).endswith("0")
    wrong = secure.ray_health(token)
    assert not wrong.endswith("\n0")
    assert "nauthenticated" in wrong or "uthentication" in wrong


@pytest.mark.parametrize(
    ("key", "path", "answer"),
    [
        ("", "/v1/pools/x", "401 no key"),
        ("guessed", "/v1/pools/x", "403 key does not allow this"),
        (secure.WRITE_KEY, "/v1/pools/x", "403 key does not allow this"),
        (secure.ADMIN_KEY, "/v1/pools/x", "201"),
    ],
)
def test_the_api_asks_for_the_right_key(key: str, path: str, answer: str) -> None:
    assert ask("PUT", path, key, {"kind": "games"}) == answer


def test_an_acl_keeps_other_topics_closed() -> None:
    script = (
        "import json, os; from kafka import KafkaProducer\n"
        "options = json.loads(os.environ['EQUIRANK_KAFKA_OPTIONS'])\n"
        "producer = KafkaProducer(bootstrap_servers=os.environ['EQUIRANK_KAFKA'], max_block_ms=15000, **options)\n"
        "producer.send('payments', b'x').get(15)\n"
    )
    assert "TopicAuthorizationFailed" in api("python", "-c", script)


def test_redis_keeps_dangerous_commands_closed() -> None:
    script = "import os, redis; redis.Redis.from_url(os.environ['EQUIRANK_REDIS']).flushall()"
    assert "NoPermission" in api("python", "-c", script)


@pytest.mark.parametrize("wrong", WRONG_KAFKA)
def test_kafka_refuses(wrong: str, answers_of_kafka: Mapping[str, Future[str]]) -> None:
    said = answers_of_kafka[wrong].result()
    assert WRONG_KAFKA[wrong][1] in said
    assert "Traceback" not in said


def test_keys_are_rotated_without_a_gap() -> None:
    """As docs/operations/secrets.md says: old and new key together, then the new one alone."""
    body = {"kind": "games"}
    for number, keys in enumerate(([secure.ADMIN_KEY, "admin-key-2"], ["admin-key-2"])):
        patch = {"stringData": {"admin-keys": json.dumps(keys)}}
        kubectl("patch", "secret", "api-keys", "--patch", json.dumps(patch))
        kubectl("rollout", "restart", f"deployment/{RELEASE}-api")
        kubectl("rollout", "status", f"deployment/{RELEASE}-api", "--timeout=120s")
        old = ask("PUT", f"/v1/pools/old-{number}", secure.ADMIN_KEY, body)
        assert old == ("201" if number == 0 else "403 key does not allow this")
        assert ask("PUT", f"/v1/pools/new-{number}", "admin-key-2", body) == "201"
