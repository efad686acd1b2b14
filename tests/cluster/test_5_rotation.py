"""Every secret is rotated under load by the commands of docs/operations/secrets.md: nothing is lost, and nothing counts twice.

Afterwards the old secret is refused. Connections that were made with it are cut, so a process that still holds it would fail.
"""

import json
from collections.abc import Iterator
from hashlib import sha256

import pytest

from tests.cluster import cluster, secure, store
from tests.cluster.cluster import CHART, FULL, RELEASE, Loader, wait_until
from tests.cluster.secure import all_ready, api, ask, change_grants, grants, helm, kubectl
from tests.cluster.survival import survive

pytestmark = [pytest.mark.usefixtures("secured"), pytest.mark.skipif(not FULL, reason="EQUIRANK_CLUSTER_FULL is not set")]


@pytest.fixture(scope="module")
def load(secured_load: Loader) -> Iterator[Loader]:
    """The load on the secured release. At the end every board equals an offline fold."""
    yield secured_load
    verdict = api("equirank", "verify")
    assert "no difference" in verdict, verdict


def patch(name: str, **values: str) -> None:
    """Change values of a Secret."""
    kubectl("patch", "secret", name, "--patch", json.dumps({"stringData": values}))


def restart(*deployments: str) -> None:
    """Restart all pods of deployments, and wait for the new ones."""
    names = [f"deployment/{RELEASE}-{deployment}" for deployment in deployments]
    kubectl("rollout", "restart", *names)
    wait_for_rollout(*deployments)


def wait_for_rollout(*deployments: str) -> None:
    """Wait until deployments have new pods only."""
    for deployment in deployments:
        kubectl("rollout", "status", f"deployment/{RELEASE}-{deployment}", "--timeout=240s")


def redis_cli(*command: str) -> str:
    """Output of a Redis command of the administrator."""
    connection = ["--tls", "--cacert", "/tls/ca.crt", "--no-auth-warning", "--user", "admin", "--pass", secure.ADMIN_PASSWORD]
    return kubectl("exec", "redis", "--", "redis-cli", *connection, *command)


def change_user(name: str, *change: str) -> None:
    """Change a Kafka user by the administrator."""
    secure.kafka_tool("kafka-configs", "--alter", "--entity-type", "users", *change, "--entity-name", name)


def test_the_password_of_redis(load: Loader) -> None:
    def rotate() -> None:
        assert redis_cli("ACL", "SETUSER", "equirank", ">redis-pw-2").strip() == "OK"
        patch("passwords", redis="redis-pw-2")
        kubectl("delete", "pod", "-l", "app.kubernetes.io/component=head", "--wait=false")
        restart("api", "engine")
        wait_until("every pod is ready", all_ready, 240)
        assert redis_cli("ACL", "SETUSER", "equirank", f"<{secure.REDIS_PASSWORD}").strip() == "OK"
        assert int(redis_cli("CLIENT", "KILL", "USER", "equirank")) > 0
        assert redis_cli("ACL", "SAVE").strip() == "OK"

    survive(load, "password of Redis rotated", rotate, all_ready)
    old = f"rediss://equirank:{secure.REDIS_PASSWORD}@redis:6379/0?ssl_ca_certs=/etc/equirank/redis/ca.crt"
    top = ["equirank", "top", "--pool", next(iter(load.status().sent)), "--count", "1"]
    assert "refuses these credentials" in api("env", f"EQUIRANK_REDIS={old}", *top)
    assert "agent-" in api(*top)
    (saved,) = [line for line in kubectl("exec", "redis", "--", "cat", "/data/users.acl").splitlines() if line.startswith("user equirank ")]
    digests = [sha256(password.encode()).hexdigest() for password in (secure.REDIS_PASSWORD, "redis-pw-2")]
    assert [digest in saved for digest in digests] == [False, True], "a restart of Redis would read what was saved"


def test_the_user_of_kafka(load: Loader) -> None:
    def rotate() -> None:
        change_user("equirank-2", "--add-config", "SCRAM-SHA-512=[password=kafka-pw-2]")
        change_grants("add", "equirank-2")
        assert grants("equirank-2") == 4
        patch("passwords", **{"kafka-2": "kafka-pw-2"})
        changed = "kafka.sasl.username=equirank-2,kafka.sasl.passwordKey=kafka-2"
        helm("upgrade", RELEASE, str(CHART), "--reset-then-reuse-values", "--set", changed)
        wait_for_rollout("api", "engine")
        wait_until("every pod is ready", all_ready, 240)
        change_grants("remove", "equirank")
        assert grants("equirank") == 0
        change_user("equirank", "--delete-config", "SCRAM-SHA-512")

    survive(load, "user of Kafka replaced", rotate, all_ready)
    old = secure.PRODUCER | {"sasl_plain_username": "equirank", "sasl_plain_password": secure.KAFKA_PASSWORD}
    said = api("env", f"EQUIRANK_KAFKA_OPTIONS={json.dumps(old)}", "equirank", "partitions", "list")
    assert "refuses user equirank by SCRAM-SHA-512" in said


def test_a_key_of_the_api(load: Loader) -> None:
    def rotate() -> None:
        old = cluster.pods("api", secure.NAMESPACE)
        patch("api-keys", **{"write-keys": json.dumps([secure.WRITE_KEY, "write-key-2"])})
        restart("api")
        kubectl("wait", "--for=delete", *(f"pod/{name}" for name in old), "--timeout=120s")  # until then they answer, too
        load.execute("sh", "-c", "echo write-key-2 > /tmp/writer")
        patch("api-keys", **{"write-keys": json.dumps(["write-key-2"])})
        restart("api")

    survive(load, "key of the API rotated", rotate, all_ready)
    assert ask("POST", "/v1/outcomes", secure.WRITE_KEY, {}) == "403 key does not allow this"


def test_the_credentials_of_the_object_store(load: Loader) -> None:
    def rotate() -> None:
        store.add_user("equirank-2", "store-pw-2")
        patch("object-store", AWS_ACCESS_KEY_ID="equirank-2", AWS_SECRET_ACCESS_KEY="store-pw-2")  # noqa: S106 - of the test's server
        kubectl("delete", "pod", "-l", "app.kubernetes.io/component in (engine,head,shards,solves)")
        restart("api")
        wait_until("every pod is ready", all_ready, 240)
        store.remove_user("equirank")

    survive(load, "credentials of the object store rotated", rotate, all_ready)
    old = [f"{name}={value}" for name, value in store.environment("equirank", secure.STORE_PASSWORD).items()]
    said = api("env", *old, "equirank", "verify")
    assert "no difference" not in said
    assert "AWS Error" in said


def test_the_token_of_ray(load: Loader) -> None:
    token = "s" * 64

    def rotate() -> None:
        patch("ray-token", auth_token=token)
        kubectl("delete", "pod", "-l", "app.kubernetes.io/component in (engine,head,shards,solves)")

    survive(load, "token of Ray replaced", rotate, all_ready)
    assert secure.ray_health(None).endswith("0")
    assert secure.ray_health(token).endswith("0")
    refused = secure.ray_health(secure.RAY_TOKEN)
    assert not refused.endswith("\n0")
    assert "nauthenticated" in refused or "uthentication" in refused
