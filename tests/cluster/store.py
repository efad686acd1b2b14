"""An S3-compatible server with TLS in a namespace of its own, which outlives the releases that keep checkpoints and archive in it."""

import json
from typing import Any, Final

from tests.cluster import cluster
from tests.cluster.cluster import SERVERS, run, secret

NAMESPACE: Final = "objects"
PORT: Final = 7070
HOST: Final = f"s3.{NAMESPACE}"
BUCKET: Final = "ratings"
ROOT_SECRET: Final = "root-pw-1"  # noqa: S105 - of a server that lives as long as the test
_SERVE: Final = (
    f"mkdir -p /data/objects/{BUCKET} /data/users && exec versitygw --port :{PORT} --cert /tls/tls.crt --key /tls/tls.key "
    "--iam-dir /data/users posix /data/objects"
)


def install(user: str, password: str, key: str, certificate: str) -> None:
    """Start the server with an empty bucket and one user. key, certificate: of the server, in PEM."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    run("kubectl", "apply", "-f", "-", stdin=json.dumps(namespace))
    cluster.apply(secret("tls", tls__key=key, tls__crt=certificate), *_objects(), namespace=NAMESPACE)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/s3", "--timeout=120s", namespace=NAMESPACE)
    add_user(user, password)


def remove() -> None:
    """Take everything away again."""
    run("kubectl", "delete", "namespace", NAMESPACE, "--wait=false")


def credentials(user: str, password: str) -> dict[str, Any]:
    """The Secret that `checkpoints.environmentSecret` names: what pyarrow and deltalake read of the environment."""
    return secret("object-store", **environment(user, password))


def environment(user: str, password: str) -> dict[str, str]:
    """The variables of that Secret. The pods have the authority's certificate, which is also that of Redis."""
    return {
        "AWS_ENDPOINT_URL": f"https://{HOST}:{PORT}",
        "SSL_CERT_FILE": "/etc/equirank/redis/ca.crt",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": user,
        "AWS_SECRET_ACCESS_KEY": password,
    }


def add_user(user: str, password: str) -> None:
    """Let a user read and write every bucket."""
    _administer("create-user", "--access", user, "--secret", password, "--role", "admin")


def remove_user(user: str) -> None:
    """Refuse a user from now on."""
    _administer("delete-user", "--access", user)


def files(prefix: str) -> list[str]:
    """Objects under a prefix of the bucket, as the server's disk has them."""
    find = f"cd /data/objects/{BUCKET}; find {prefix} -type f || true"
    return cluster.kubectl("exec", "s3", "--", "sh", "-c", find, namespace=NAMESPACE).split()


def _administer(*command: str) -> None:
    connection = ["--access", "root", "--secret", ROOT_SECRET, "--endpoint-url", f"https://localhost:{PORT}", "--allow-insecure"]
    cluster.kubectl("exec", "s3", "--", "versitygw", "admin", *connection, *command, namespace=NAMESPACE)


def _objects() -> list[dict[str, Any]]:
    variables = {"ROOT_ACCESS_KEY": "root", "ROOT_SECRET_KEY": ROOT_SECRET}
    server = {
        "name": "s3",
        **SERVERS,
        "command": ["/bin/sh", "-c", _SERVE],
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 2},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in ("data", "tls")],
    }
    spec = {
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": False,
        "containers": [server],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tls", "secret": {"secretName": "tls"}}],
    }
    labels = {"app": "s3"}
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "s3", "labels": labels}, "spec": spec},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s3"}, "spec": {"selector": labels, "ports": [{"port": PORT}]}},
    ]
