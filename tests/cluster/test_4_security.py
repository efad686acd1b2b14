"""TLS and authentication end to end: right ones work, wrong ones fail with a clear error, plaintext is refused."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.cluster import secure
from tests.cluster.cluster import CHART, RELEASE, image, run, wait_until

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


TOP = ("equirank", "top", "--pool", "helm-test", "--count", "1")


def kubectl(*arguments: str, stdin: str | None = None, check: bool = True, timeout: float = 300) -> str:
    return run("kubectl", "-n", secure.NAMESPACE, *arguments, stdin=stdin, check=check, timeout=timeout)


def api(*command: str) -> str:
    """Output and errors of a command in the API's container, whatever its status."""
    script = 'timeout 100 "$@" 2>&1 || true'
    return kubectl("exec", f"deployment/{RELEASE}-api", "--", "sh", "-c", script, "sh", *command)


@pytest.fixture(scope="module", autouse=True)
def secured(values: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kafka, Redis and a release that uses their TLS and users."""
    folder = tmp_path_factory.mktemp("secure")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": secure.NAMESPACE}}
    items = [namespace, *secure.secrets(folder), *secure.servers()]
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (folder / "values.json").write_text(json.dumps(secure.VALUES))
    options = ["-f", str(CHART / "values-demo.yaml"), "-f", str(folder / "values.json"), *image()]
    # A folder of each pod's own serves one shard: checkpoints are not what this test is about.
    options += ["--set", "checkpoints.url=memory://checkpoints"]
    run("helm", "-n", secure.NAMESPACE, "upgrade", "--install", RELEASE, str(CHART), *options)
    kubectl("wait", "--for=condition=Ready", "pod/kafka", "pod/redis", "--timeout=180s")
    wait_until("the ACLs are made", lambda: "4 ACLs" in _acls(), 120)
    yield
    run("helm", "-n", secure.NAMESPACE, "uninstall", RELEASE, "--wait")
    run("kubectl", "delete", "namespace", secure.NAMESPACE, "--wait=false")


def _acls() -> str:
    return kubectl("run", f"acls-{time.time():.0f}", "--rm", "-i", "--restart=Never", *_as_api(secure.ACLS), check=False)


def _as_api(script: str) -> list[str]:
    """Options of `kubectl run` for a pod with an API pod's environment that runs a Python script."""
    template = json.loads(kubectl("get", "deployment", f"{RELEASE}-api", "-o", "json"))["spec"]["template"]["spec"]
    container = {key: template["containers"][0][key] for key in ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts")}
    container |= {"name": "script", "args": ["python", "-c", script, secure.ADMIN_PASSWORD]}
    spec = {"containers": [container], "volumes": template["volumes"], "enableServiceLinks": False, "restartPolicy": "Never"}
    return ["--image=x", "--overrides", json.dumps({"spec": spec})]


def test_the_right_ones_work() -> None:
    kubectl("rollout", "status", f"deployment/{RELEASE}-engine", f"deployment/{RELEASE}-api", "--timeout=240s")
    assert "Phase:          Succeeded" in run("helm", "-n", secure.NAMESPACE, "test", RELEASE, "--timeout", "5m")


@pytest.mark.parametrize("wrong", WRONG_KAFKA)
def test_kafka_refuses(wrong: str) -> None:
    options, error = WRONG_KAFKA[wrong]
    said = api("env", f"EQUIRANK_KAFKA_OPTIONS={json.dumps(options)}", "equirank", "partitions", "list")
    assert error in said
    assert "Traceback" not in said


@pytest.mark.parametrize("wrong", WRONG_REDIS)
def test_redis_refuses(wrong: str) -> None:
    url, error = WRONG_REDIS[wrong]
    said = api("env", f"EQUIRANK_REDIS={url}", *TOP)
    assert error in said
    assert "agent-0" not in said
    assert "agent-0" in api(*TOP)
    assert "Traceback" not in said


@pytest.mark.parametrize("token", ["", "x" * 64])
def test_ray_refuses_another_token(token: str) -> None:
    mode = "token" if token else "disabled"
    head = f"{RELEASE}-head-svc.{secure.NAMESPACE}.svc:6379"
    join = f"env RAY_AUTH_MODE={mode} RAY_AUTH_TOKEN={token} timeout 60 ray health-check --address {head}"
    right = kubectl("exec", f"deployment/{RELEASE}-engine", "--", "sh", "-c", f"ray health-check --address {head}; echo $?")
    assert right.strip().endswith("0")
    wrong = kubectl("exec", f"deployment/{RELEASE}-engine", "--", "sh", "-c", f"{join} 2>&1; echo $?")
    assert not wrong.strip().endswith("\n0")
    assert "nauthenticated" in wrong or "uthentication" in wrong


ASK = """
import sys, urllib.request, urllib.error, json
method, path, key, body = sys.argv[1:5]
headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + key} if key else {})
try:
    print(urllib.request.urlopen(urllib.request.Request("http://localhost:8000" + path, body.encode(), headers, method=method)).status)
except urllib.error.HTTPError as error:
    print(error.code, json.loads(error.read())["title"])
"""


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
    assert api("python", "-c", ASK, "PUT", path, key, json.dumps({"kind": "games"})).strip() == answer


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


def test_keys_are_rotated_without_a_gap() -> None:
    """As docs/operations/secrets.md says: old and new key together, then the new one alone."""
    body = json.dumps({"kind": "games"})
    for number, keys in enumerate(([secure.ADMIN_KEY, "admin-key-2"], ["admin-key-2"])):
        patch = {"stringData": {"admin-keys": json.dumps(keys)}}
        kubectl("patch", "secret", "api-keys", "--patch", json.dumps(patch))
        kubectl("rollout", "restart", f"deployment/{RELEASE}-api")
        kubectl("rollout", "status", f"deployment/{RELEASE}-api", "--timeout=120s")
        old = api("python", "-c", ASK, "PUT", f"/v1/pools/old-{number}", secure.ADMIN_KEY, body).strip()
        assert old == ("201" if number == 0 else "403 key does not allow this")
        assert api("python", "-c", ASK, "PUT", f"/v1/pools/new-{number}", "admin-key-2", body).strip() == "201"
