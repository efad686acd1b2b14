"""A Kafka with SASL over TLS and ACLs, a Redis with TLS and ACL, and the Secrets of both: manifests of the security test."""

import os
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.cluster.cluster import secret

NAMESPACE: Final = "secure"
IMAGE: Final = os.environ.get("EQUIRANK_CLUSTER_DEMO_IMAGE", "docker.io/apache/kafka:4.1.1")
KAFKA_PASSWORD, ADMIN_PASSWORD, REDIS_PASSWORD, RAY_TOKEN = "kafka-pw-1", "admin-pw-1", "redis-pw-1", "r" * 64
WRITE_KEY, ADMIN_KEY = "write-key-1", "admin-key-1"

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
_FORMAT: Final = (
    "/opt/kafka/bin/kafka-storage.sh format --ignore-formatted -t MkU3OEVBNTcwNTJENDM2Qk -c /config/server.properties "
    "--add-scram 'SCRAM-SHA-512=[name=admin,password={admin}]' --add-scram 'SCRAM-SHA-512=[name=equirank,password={user}]' "
    "&& exec /opt/kafka/bin/kafka-server-start.sh /config/server.properties"
)
_REDIS: Final = [
    "redis-server", "--save", "", "--port", "0", "--tls-port", "6379", "--tls-cert-file", "/tls/tls.crt", "--tls-key-file", "/tls/tls.key",
    "--tls-ca-cert-file", "/tls/ca.crt", "--tls-auth-clients", "no", "--aclfile", "/config/users.acl",
]  # fmt: skip
_ACL: Final = "user default off\nuser equirank on >{password} ~equirank:* ~RAY* ~DUMMY &* +@all -@admin -@dangerous +info +cluster\n"

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
}


def secrets(folder: Path) -> list[dict[str, Any]]:
    """Secrets with a throw-away authority, certificates of kafka and redis, passwords, keys and Ray's token."""
    authority, key, certificate = _certificates(folder)
    return [
        secret("authority", ca__crt=authority),
        secret("tls", ca__crt=authority, tls__crt=certificate, tls__key=key, server__pem=key + certificate),
        secret("passwords", kafka=KAFKA_PASSWORD, redis=REDIS_PASSWORD),
        secret("api-keys", **{"write-keys": f'["{WRITE_KEY}"]', "admin-keys": f'["{ADMIN_KEY}"]'}),
        secret("ray-token", auth_token=RAY_TOKEN),
        secret("config", server__properties=_SERVER.format(admin=ADMIN_PASSWORD), users__acl=_ACL.format(password=REDIS_PASSWORD)),
    ]


def servers() -> list[dict[str, Any]]:
    """Pods and Services of kafka and redis."""
    format_kafka = ["/bin/sh", "-c", _FORMAT.format(admin=ADMIN_PASSWORD, user=KAFKA_PASSWORD)]
    return [*_server("kafka", format_kafka, 9093), *_server("redis", _REDIS, 6379)]


def _server(name: str, command: list[str], port: int) -> list[dict[str, Any]]:
    folders = {"tls": {"secret": {"secretName": "tls"}}, "config": {"secret": {"secretName": "config"}}, "data": {"emptyDir": {}}}
    container = {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "Never" if IMAGE.startswith("localhost/") else "IfNotPresent",
        "command": command,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 2},
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


def _certificates(folder: Path) -> tuple[str, str, str]:
    """(authority, key, certificate) in PEM, for the names kafka and redis."""
    elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    _openssl(folder, "req", "-x509", *elliptic, "-days", "2", "-subj", "/CN=throw-away", "-keyout", "ca.key", "-out", "ca.crt")
    _openssl(folder, "req", *elliptic, "-subj", "/CN=servers", "-keyout", "tls.key", "-out", "tls.csr")
    (folder / "names").write_text("subjectAltName=DNS:kafka,DNS:redis,DNS:localhost\n")
    signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    _openssl(folder, "x509", "-req", "-in", "tls.csr", *signing, "-out", "tls.crt")
    return (folder / "ca.crt").read_text(), (folder / "tls.key").read_text(), (folder / "tls.crt").read_text()


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


ACLS: Final = """
import json, os, sys
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, KafkaAdminClient, ResourcePattern, ResourceType
options = json.loads(os.environ["EQUIRANK_KAFKA_OPTIONS"]) | {"sasl_plain_username": "admin", "sasl_plain_password": sys.argv[1]}
admin = KafkaAdminClient(bootstrap_servers=os.environ["EQUIRANK_KAFKA"], **options)
own = [ResourcePattern(kind, "equirank", ACLResourcePatternType.PREFIXED) for kind in (ResourceType.TOPIC, ResourceType.GROUP)]
cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
grants = [(pattern, ACLOperation.ALL) for pattern in own] + [(cluster, ACLOperation.IDEMPOTENT_WRITE), (cluster, ACLOperation.DESCRIBE)]
made = admin.create_acls([ACL("User:equirank", "*", operation, ACLPermissionType.ALLOW, pattern) for pattern, operation in grants])
print(len(made["succeeded"]), "ACLs")
"""
"""Run by the administrator: topics and groups of the prefix, and nothing else."""
