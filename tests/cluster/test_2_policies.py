"""A hostile pod of another namespace: what the NetworkPolicies keep from it, and that nothing else does."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from tests.cluster.cluster import NAMESPACE, RELEASE, Loader, apply, kubectl, objects, run, wait_until
from tests.cluster.figures import note

HOSTILE: Final = "hostile"
RAY: Final = ("head", "shards", "solves", "engine")
_LISTENING: Final = """
import json
sockets = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
loopback = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
listening = [socket[1] for socket in sockets if socket[3] == "0A" and not socket[1].startswith(loopback)]
print(json.dumps(sorted({int(address.split(":")[1], 16) for address in listening})))
"""
_CONNECT: Final = """
import concurrent.futures, json, socket, sys
def attempt(address):
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except OSError as error:
        return type(error).__name__
    return "connected"
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print(json.dumps(dict(zip(sys.argv[1:], pool.map(attempt, sys.argv[1:])))))
"""


class Hostile(NamedTuple):
    """A pod of a namespace that has nothing to do with the release.

    closed: addresses that no policy opens to it. lasting: those of them that no process of Ray opens and closes again.
    """

    closed: list[str]
    lasting: list[str]

    def attempts(self, *addresses: str) -> dict[str, str]:
        """What became of a connection to each address."""
        return dict(json.loads(run("kubectl", "-n", HOSTILE, "exec", HOSTILE, "--", "python", "-c", _CONNECT, *addresses)))


@pytest.fixture(scope="module")
def hostile(loader: Loader) -> Iterator[Hostile]:
    loader.settled(120)
    api = objects("pods", "api")[0]["spec"]["containers"][0]
    container = {key: api[key] for key in ("image", "imagePullPolicy", "securityContext")}
    container |= {"name": HOSTILE, "command": ["sleep", "3600"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": HOSTILE, "namespace": HOSTILE},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, "securityContext": {"runAsNonRoot": True}},
    }
    run("kubectl", "create", "namespace", HOSTILE)
    run("kubectl", "apply", "-f", "-", stdin=json.dumps(pod))
    run("kubectl", "-n", HOSTILE, "wait", "--for=condition=Ready", f"pod/{HOSTILE}", "--timeout=120s")
    engine = objects("pods", "engine")[0]["status"]["podIP"]
    servers = (("redis", 6379), ("kafka", 9092), ("kafka", 9093), ("head-svc", 6379))
    lasting = [f"{RELEASE}-{server}.{NAMESPACE}:{port}" for server, port in servers]
    lasting.append(f"{engine}:9464")
    yield Hostile([*lasting, *_ray_ports()], lasting)
    run("kubectl", "delete", "namespace", HOSTILE, "--wait=false")


def _ray_ports() -> list[str]:
    """Every port that listens for other pods in the pods of Ray: of the control store, of raylets, of workers, of metrics."""
    found = []
    for component in RAY:
        for pod in objects("pods", component):
            ports = json.loads(kubectl("exec", pod["metadata"]["name"], "--", "python", "-c", _LISTENING))
            assert ports, pod["metadata"]["name"]
            found += [f"{pod['status']['podIP']}:{port}" for port in ports]
    return found


def _as_written(policy: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what the API server added."""
    kept = {key: policy["metadata"][key] for key in ("name", "labels", "annotations")}
    return {key: policy[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}


def _open(hostile: Hostile) -> bool:
    """Whether nothing is dropped. A worker of Ray that ended since refuses, which a policy never does."""
    attempts = hostile.attempts(*hostile.closed)
    return "TimeoutError" not in attempts.values() and all(attempts[address] == "connected" for address in hostile.lasting)


def _refused(attempts: Mapping[str, str]) -> bool:
    return set(attempts.values()) == {"TimeoutError"}


def test_the_api_is_open_to_other_namespaces(hostile: Hostile) -> None:
    """The control: the pod has a network, and the one port that the chart opens by default is open."""
    address = f"{RELEASE}-api.{NAMESPACE}:80"
    assert hostile.attempts(address) == {address: "connected"}


def test_nothing_else_is_open(hostile: Hostile) -> None:
    attempts = hostile.attempts(*hostile.closed)
    assert len(attempts) > 10
    assert _refused(attempts), attempts
    note(f"{len(attempts)} ports refused to a hostile pod")


def test_without_the_policies_everything_is_open(hostile: Hostile, loader: Loader) -> None:
    """Only the policies refuse: taken away, the same attempts succeed, and put back, they fail again."""
    policies = [_as_written(policy) for policy in objects("networkpolicies")]
    assert len(policies) >= 4
    kubectl("delete", "networkpolicies", "--all")
    try:
        wait_until("every port is open", lambda: _open(hostile), 60)
    finally:
        apply(*policies)
    wait_until("every port is refused", lambda: _refused(hostile.attempts(*hostile.closed)), 60)
    loader.settled(60)
