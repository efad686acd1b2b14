"""A release beside a Kafka with SASL over TLS and ACLs, a Redis with TLS and ACL, and an object store with users.

The tests of the object store, of security, of rotation and of restoring share it.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.cluster import cluster, store
from tests.cluster.cluster import CHART, RELEASE, SERVERS, image, ready, run, secret, wait_until

NAMESPACE: Final = "secure"
KAFKA_PASSWORD, ADMIN_PASSWORD, REDIS_PASSWORD, RAY_TOKEN = "kafka-pw-1", "admin-pw-1", "redis-pw-1", "r" * 64
PRODUCER_PASSWORD, STORE_PASSWORD = "producer-pw-1", "store-pw-1"
WRITE_KEY, ADMIN_KEY = "write-key-1", "admin-key-1"

COMPONENTS: Final = {"api": 1, "engine": 1, "head": 1, "shards": 1, "solves": 1}
"""Pods of the release by component."""
PRODUCER: Final = {
    "security_protocol": "SASL_SSL", "ssl_cafile": "/etc/equirank/kafka/ca.crt", "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "producer", "sasl_plain_password": PRODUCER_PASSWORD,
}  # fmt: skip
"""Options of a producer's connection to Kafka."""

_SERVER: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9094
controller.listener.names=CONTROLLER
listeners=CLIENTS://:9093,CONTROLLER://localhost:9094
advertised.listeners=CLIENTS://kafka:9093
listener.security.protocol.map=CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENTS
sasl.enabled.mechanisms=SCRAM-SHA-512
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.clients.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
username="admin" password="{admin}";
ssl.keystore.type=PEM
ssl.keystore.location=/tls/server.pem
ssl.truststore.type=PEM
ssl.truststore.location=/tls/ca.crt
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
# Nobody is anonymous but the controller's own listener, on loopback.
super.users=User:admin;User:ANONYMOUS
log.dirs=/data/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
message.max.bytes=1100000
log.cleaner.dedupe.buffer.size=8388608
"""
_ADMIN: Final = """
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="{admin}";
ssl.truststore.type=PEM
ssl.truststore.location=/tls/ca.crt
"""
_FORMAT: Final = (
    "/opt/kafka/bin/kafka-storage.sh format --ignore-formatted -t MkU3OEVBNTcwNTJENDM2Qk -c /config/server.properties "
    "--add-scram 'SCRAM-SHA-512=[name=admin,password={admin}]' --add-scram 'SCRAM-SHA-512=[name=equirank,password={user}]' "
    "--add-scram 'SCRAM-SHA-512=[name=producer,password={producer}]' "
    "&& exec /opt/kafka/bin/kafka-server-start.sh /config/server.properties"
)
_REDIS: Final = (
    "cp /config/users.acl /data/users.acl && exec redis-server --save '' --port 0 --tls-port 6379 --tls-cert-file /tls/tls.crt "
    "--tls-key-file /tls/tls.key --tls-ca-cert-file /tls/ca.crt --tls-auth-clients no --aclfile /data/users.acl"
)
"""`ACL SAVE` needs a file that Redis can write."""
_ACL: Final = """\
user default off
user admin on >{admin} ~* &* +@all
user equirank on >{password} ~equirank:* ~RAY* ~DUMMY &* +@all -@admin -@dangerous +info +cluster
"""

VALUES: Final = {
    "kafka": {
        "bootstrapServers": "kafka:9093",
        "replication": 1,
        "tls": {"enabled": True, "caSecret": "authority"},
        "sasl": {"mechanism": "SCRAM-SHA-512", "username": "equirank", "existingSecret": "passwords", "passwordKey": "kafka"},
    },
    "redis": {
        "host": "redis",
        "username": "equirank",
        "existingSecret": "passwords",
        "passwordKey": "redis",
        "tls": {"enabled": True, "caSecret": "authority"},
    },
    "keys": {"existingSecret": "api-keys"},
    "ray": {"auth": {"existingSecret": "ray-token"}},
    "demo": {"enabled": False},
    "shards": {"count": 1},
    "api": {"replicas": 1, "minAvailable": 0},
    "settings": {"archive_seconds": 2},
}


def secrets(folder: Path) -> list[dict[str, Any]]:
    """Secrets with a throw-away authority, certificates of kafka and redis, passwords, keys and Ray's token."""
    authority, key, certificate = certificates(folder)
    return [
        secret("authority", ca__crt=authority),
        secret("tls", ca__crt=authority, tls__crt=certificate, tls__key=key, server__pem=key + certificate),
        secret("passwords", kafka=KAFKA_PASSWORD, redis=REDIS_PASSWORD),
        secret("api-keys", **{"write-keys": f'["{WRITE_KEY}"]', "admin-keys": f'["{ADMIN_KEY}"]'}),
        secret("ray-token", auth_token=RAY_TOKEN),
        secret(
            "config",
            server__properties=_SERVER.format(admin=ADMIN_PASSWORD),
            admin__properties=_ADMIN.format(admin=ADMIN_PASSWORD),
            users__acl=_ACL.format(password=REDIS_PASSWORD, admin=ADMIN_PASSWORD),
        ),
    ]


def servers() -> list[dict[str, Any]]:
    """Pods and Services of kafka and redis."""
    format_kafka = ["/bin/sh", "-c", _FORMAT.format(admin=ADMIN_PASSWORD, user=KAFKA_PASSWORD, producer=PRODUCER_PASSWORD)]
    return [*_server("kafka", format_kafka, 9093), *_server("redis", ["/bin/sh", "-c", _REDIS], 6379)]


def _server(name: str, command: list[str], port: int) -> list[dict[str, Any]]:
    folders = {"tls": {"secret": {"secretName": "tls"}}, "config": {"secret": {"secretName": "config"}}, "data": {"emptyDir": {}}}
    container = {
        "name": name,
        **SERVERS,
        "command": command,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 2},
        # Without a request it would get next to no processor beside pods that have one. All pods together have two cores.
        "resources": {"requests": {"cpu": "100m" if name == "kafka" else "20m", "memory": "384Mi" if name == "kafka" else "64Mi"}},
        "volumeMounts": [{"name": folder, "mountPath": f"/{folder}"} for folder in folders],
    }
    spec = {
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": folder, **source} for folder, source in folders.items()],
    }
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": port}]}},
    ]


def certificates(folder: Path) -> tuple[str, str, str]:
    """(authority, key, certificate) in PEM, for the names of all servers; made if the folder has none."""
    if not (folder / "tls.crt").exists():
        _make_certificates(folder)
    return (folder / "ca.crt").read_text(), (folder / "tls.key").read_text(), (folder / "tls.crt").read_text()


def _make_certificates(folder: Path) -> None:
    elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(folder, "req", "-x509", *elliptic, "-days", "2", "-subj", "/CN=throw-away", "-keyout", "ca.key", "-out", "ca.crt")
    _openssl(folder, "req", *elliptic, "-subj", "/CN=servers", "-keyout", "tls.key", "-out", "tls.csr")
    (folder / "names").write_text(f"subjectAltName=DNS:kafka,DNS:redis,DNS:{store.HOST},DNS:localhost\n")
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    _openssl(folder, "x509", "-req", "-in", "tls.csr", *signing, "-out", "tls.crt")


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


_GRANTS: Final = (
    "--operation All --resource-pattern-type prefixed --topic equirank --group equirank",
    "--operation IdempotentWrite --operation Describe --cluster",
)
"""What a user may do: everything with topics and groups of the prefix, and nothing else. As in docs/operations/secrets.md."""


def kubectl(*arguments: str, stdin: str | None = None, check: bool = True, timeout: float = 300) -> str:
    """kubectl in the namespace of the secured release."""
    return cluster.kubectl(*arguments, stdin=stdin, check=check, timeout=timeout, namespace=NAMESPACE)


def all_ready() -> bool:
    """Whether the whole release is ready, with no pod too many."""
    return ready(COMPONENTS, NAMESPACE)


def helm(*arguments: str) -> str:
    """helm in the namespace of the secured release."""
    return cluster.helm(*arguments, namespace=NAMESPACE)


def install(folder: Path, *options: str, store_user: tuple[str, str] = ("equirank", STORE_PASSWORD)) -> None:
    """Start Kafka and Redis, and a release that uses their TLS and users, and the object store.

    folder: of the certificates. options: further ones of helm. store_user: name and password of a user of the object store.
    """
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    run("kubectl", "apply", "-f", "-", stdin=json.dumps(namespace))
    cluster.apply(*secrets(folder), store.credentials(*store_user), *servers(), namespace=NAMESPACE)
    (folder / "values.json").write_text(json.dumps(VALUES))
    files = [str(CHART / "values-demo.yaml"), str(CHART / "ci" / "object-store.yaml"), str(folder / "values.json")]
    helm("upgrade", "--install", RELEASE, str(CHART), *[f"--values={file}" for file in files], *image(), *options)
    kubectl("wait", "--for=condition=Ready", "pod/kafka", "pod/redis", "--timeout=180s")
    change_grants("add", "equirank", "producer")
    wait_until("the users have their ACLs", lambda: grants("equirank") == grants("producer") == 4, 120)


def remove() -> None:
    """Take everything away again."""
    kubectl("delete", "pod", cluster.LOADER, "--now", "--ignore-not-found")
    helm("uninstall", RELEASE, "--wait")
    run("kubectl", "delete", "namespace", NAMESPACE, "--wait=false")


def kafka_tool(name: str, *arguments: str) -> str:
    """Output of one of Kafka's command-line tools, run by the administrator."""
    connection = ["--bootstrap-server", "kafka:9093", "--command-config", "/config/admin.properties"]
    return kubectl("exec", "kafka", "--", f"/opt/kafka/bin/{name}.sh", *connection, *arguments)


def change_grants(change: str, *users: str) -> None:
    """`add` or `remove` the ACLs of Kafka users."""
    principals = [option for user in users for option in ("--allow-principal", f"User:{user}")]
    for grant in _GRANTS:
        kafka_tool("kafka-acls", f"--{change}", "--force", *principals, *grant.split())


def grants(user: str) -> int:
    """Number of ACLs of a Kafka user."""
    return kafka_tool("kafka-acls", "--list", "--principal", f"User:{user}").count(f"principal=User:{user},")


def api(*command: str) -> str:
    """Output and errors of a command in the API's container, whatever its status."""
    script = 'timeout 100 "$@" 2>&1 || true'
    return kubectl("exec", f"deployment/{RELEASE}-api", "--", "sh", "-c", script, "sh", *command)


_ASK: Final = """
import sys, urllib.request, urllib.error, json
method, path, key, body = sys.argv[1:5]
headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + key} if key else {})
try:
    print(urllib.request.urlopen(urllib.request.Request("http://localhost:8000" + path, body.encode(), headers, method=method)).status)
except urllib.error.HTTPError as error:
    print(error.code, json.loads(error.read())["title"])
"""


def ask(method: str, path: str, key: str, body: object) -> str:
    """Status and title of the API's answer to a request with a key."""
    return api("python", "-c", _ASK, method, path, key, json.dumps(body)).strip()


def ray_health(token: str | None) -> str:
    """What `ray health-check` writes in the engine's pod with a token ("": none, None: the pod's own), and its status in the last line."""
    head = f"{RELEASE}-head-svc.{NAMESPACE}.svc:6379"
    other = "" if token is None else f"env RAY_AUTH_MODE={'token' if token else 'disabled'} RAY_AUTH_TOKEN={token} timeout 60 "
    script = f"{other}ray health-check --address {head} 2>&1; echo $?"
    return kubectl("exec", f"deployment/{RELEASE}-engine", "--", "sh", "-c", script).strip()
