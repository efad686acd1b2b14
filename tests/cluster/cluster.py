"""What the cluster tests share: kubectl, helm, the load's pod, and waiting for a condition."""

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
CHART: Final = ROOT / "helm" / "equirank"
RELEASE: Final = "equirank"
NAMESPACE: Final = "equirank"
LOADER: Final = "load"
COMPONENTS: Final = {"api": 2, "engine": 1, "head": 1, "shards": 2, "solves": 1, "kafka": 3, "redis": 1}
"""Pods of the release by component."""
_OF_RELEASE: Final = {"app.kubernetes.io/name": "equirank", "app.kubernetes.io/instance": RELEASE, "app.kubernetes.io/component": LOADER}
"""Labels that let a pod reach Kafka and Redis: the policies open them to pods of the release only."""
_IMAGE: Final = os.environ.get("EQUIRANK_CLUSTER_DEMO_IMAGE", "docker.io/apache/kafka:4.1.1")
SERVERS: Final = {"image": _IMAGE, "imagePullPolicy": "Never" if _IMAGE.startswith("localhost/") else "IfNotPresent"}
"""Image of a container that runs Kafka, Redis or the object store."""
FULL: Final = bool(os.environ.get("EQUIRANK_CLUSTER_FULL"))
"""Whether slow tests run, too: `FULL=1 make cluster`."""
DISPOSABLE: Final = "EQUIRANK_CLUSTER_NODE" in os.environ and not os.environ.get("KEEP")
"""Whether the whole cluster is taken down after the tests, so that nothing has to be removed from it."""


_TRIES: Final = 4
_NOT_REACHED: Final = ("Unable to connect to the server", "TLS handshake timeout", "Kubernetes cluster unreachable", "was refused - did")
"""What kubectl and helm say of an API server that had no time for them: nothing was begun."""
_CUT_OFF: Final = ("client connection lost", "INTERNAL_ERROR; received from peer", "etcdserver: request timed out", "unexpected EOF")
"""What they say of a connection that broke: the request may have been done."""


def run(*command: str, stdin: str | None = None, check: bool = True, timeout: float = 300) -> str:
    """The output of a command. A failure raises with what the command wrote.

    A command that did not reach the API server is repeated. One whose connection broke is repeated unless it ran a program in a pod.
    """
    again = _NOT_REACHED if "exec" in command else (*_NOT_REACHED, *_CUT_OFF)
    for _ in range(_TRIES):
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=timeout)
        if done.returncode == 0 or not any(text in done.stderr for text in again):
            break
        time.sleep(1.0)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def kubectl(*arguments: str, stdin: str | None = None, check: bool = True, timeout: float = 300, namespace: str = NAMESPACE) -> str:
    """kubectl in the namespace of a release."""
    return run("kubectl", "-n", namespace, *arguments, stdin=stdin, check=check, timeout=timeout)


def objects(kind: str, component: str | None = None, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """Objects of a kind, of one component of the release or all."""
    selector = [] if component is None else ["-l", f"app.kubernetes.io/component={component}"]
    return json.loads(kubectl("get", kind, *selector, "-o", "json", namespace=namespace))["items"]


def pods(component: str, namespace: str = NAMESPACE) -> list[str]:
    """Names of a component's pods that are not being deleted."""
    return [pod["metadata"]["name"] for pod in objects("pods", component, namespace) if "deletionTimestamp" not in pod["metadata"]]


def apply(*manifests: Mapping[str, Any], namespace: str = NAMESPACE) -> None:
    """Create or change objects."""
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}), namespace=namespace)


def wait_until(what: str, condition: Callable[[], Any], seconds: float) -> float:
    """Seconds until the condition held. Fails with `what` after `seconds`."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"{what}: not within {seconds:g} s\n{diagnosis()}")
        time.sleep(0.3)
    return time.monotonic() - began


def diagnosis() -> str:
    """Pods of every namespace and the newest log lines of each engine, for the message of a failure."""
    engine = ["-l", "app.kubernetes.io/component=engine"]
    listed = run("kubectl", "get", "pods", "-A", "-o", "wide", check=False)
    spaces = run("kubectl", "get", "pods", "-A", *engine, "-o", "jsonpath={.items[*].metadata.namespace}", check=False).split()
    return "\n".join([listed, *(kubectl("logs", *engine, "--tail=15", check=False, namespace=space) for space in spaces)])


def helm(*arguments: str, check: bool = True, namespace: str = NAMESPACE) -> str:
    """helm in the namespace of a release."""
    return run("helm", "-n", namespace, *arguments, check=check)


def image() -> Sequence[str]:
    """The options that name the image under test."""
    repository, _, tag = os.environ.get("EQUIRANK_CLUSTER_IMAGE", "localhost/equirank:dev").rpartition(":")
    policy = "Never" if repository.startswith("localhost/") else "IfNotPresent"
    return ["--set", f"image.repository={repository},image.tag={tag},image.pullPolicy={policy}"]


def ready(replicas: Mapping[str, int], namespace: str = NAMESPACE) -> bool:
    """Whether each component has so many ready pods, and no other ones."""
    return all(_ready(component, namespace) == [True] * count for component, count in replicas.items())


def _ready(component: str, namespace: str) -> list[bool]:
    return [_is_ready(pod) for pod in objects("pods", component, namespace)]


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


class Status(NamedTuple):
    """What the load did and saw. sent, counted: outcomes by pool; stall: longest time that a pool's count stood still while watched."""

    sent: dict[str, int]
    counted: dict[str, int]
    repeated: int
    duplicates: int
    asked: int
    failed: int
    errors: list[str]
    longest: float
    stall: float


class Loader:
    """The pod that runs load.py with the environment of an API pod.

    Args:
        first_burst: outcomes that are sent as fast as the broker takes them, before the rate counts.
        namespace: of the release that takes the load.
        environment: variables that are other ones than those of the API pod.
    """

    def __init__(self, first_burst: int, namespace: str = NAMESPACE, environment: Mapping[str, str] | None = None) -> None:
        self.namespace = namespace
        source = (Path(__file__).parent / "load.py").read_text(encoding="utf-8")
        self._kubectl("delete", "pod", LOADER, "--now", "--ignore-not-found")
        apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": LOADER}, "data": {"load.py": source}},
            self._pod(first_burst, environment or {}),
            namespace=namespace,
        )
        self._kubectl("wait", "--for=condition=Ready", f"pod/{LOADER}", "--timeout=120s")

    def _kubectl(self, *arguments: str, check: bool = True, timeout: float = 300) -> str:
        return kubectl(*arguments, check=check, timeout=timeout, namespace=self.namespace)

    def _pod(self, first_burst: int, environment: Mapping[str, str]) -> dict[str, Any]:
        template = json.loads(self._kubectl("get", "deployment", f"{RELEASE}-api", "-o", "json"))["spec"]["template"]["spec"]
        api = template["containers"][0]
        container = {key: api[key] for key in ("image", "imagePullPolicy", "securityContext", "envFrom")}
        variables = [variable for variable in api["env"] if variable["name"] not in environment]
        container |= {
            "env": [*variables, *({"name": name, "value": value} for name, value in environment.items())],
            "name": LOADER,
            "args": ["python", "/load/load.py", f"http://{RELEASE}-api", str(first_burst), f"{time.time():.0f}"],
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
            "readinessProbe": {"exec": {"command": ["test", "-f", "/tmp/status.json"]}, "periodSeconds": 1},
            "volumeMounts": [*api["volumeMounts"], {"name": LOADER, "mountPath": "/load"}],
        }
        kept = ("securityContext", "enableServiceLinks", "serviceAccountName")
        spec = {key: template[key] for key in kept} | {
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            "volumes": [*template["volumes"], {"name": LOADER, "configMap": {"name": LOADER}}],
        }
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": LOADER, "labels": _OF_RELEASE}, "spec": spec}

    def status(self) -> Status:
        """The newest status."""
        answers = (self.execute("cat", "/tmp/status.json") for _ in range(_TRIES))
        found = json.loads(next(filter(None, answers)))  # on a busy machine kubectl sometimes loses what a command wrote
        return Status(
            found["sent"], found["counted"], found["repeated"], found["duplicates"], sum(found["asked"].values()), found["failed"],
            found["errors"], found["longest"], found["stall"],
        )  # fmt: skip

    def rate(self, records: int) -> None:
        """Records of ten outcomes a second from now on; 0 pauses."""
        self.execute("sh", "-c", f"echo {records} > /tmp/rate")

    def watch(self) -> None:
        """Measure from now on how long folding stands still."""
        self.execute("touch", "/tmp/watch")
        wait_until("the load watches", lambda: not self.execute("sh", "-c", "ls /tmp/watch 2>/dev/null || true").strip(), 60)

    def execute(self, *command: str, check: bool = True, timeout: float = 300) -> str:
        """The output of a command in the pod. A node service that restarts lets nobody in for some seconds."""
        for pause in (1, 2, 4, 8, 16, 30):
            try:
                return self._kubectl("exec", LOADER, "--", *command, check=check, timeout=timeout)
            except AssertionError as error:
                if "unable to upgrade connection" not in str(error) and "dialing backend" not in str(error):
                    raise
                time.sleep(pause)
        return self._kubectl("exec", LOADER, "--", *command, check=check, timeout=timeout)

    def wait_until_folded(self, before: Status, seconds: float) -> None:
        """Wait until the boards of every pool count more than had been sent at `before`."""
        wait_until("folding goes on in every pool", lambda: self._counts_more(before.sent), seconds)

    def _counts_more(self, sent: Mapping[str, int]) -> bool:
        counted = self.status().counted
        return all(counted.get(pool, 0) > number for pool, number in sent.items())

    def settled(self, seconds: float) -> Status:
        """Pause, wait until the boards count all that was sent, or fail with the difference."""
        self.rate(0)
        time.sleep(1)
        wait_until("every outcome is counted", lambda: _complete(self.status()), seconds)
        time.sleep(1)
        return self.status()


def _complete(status: Status) -> bool:
    return status.counted == status.sent and status.duplicates >= status.repeated


def secret(name: str, **values: str) -> dict[str, Any]:
    """A Secret with the values."""
    data = {key.replace("__", "."): base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def volume(node: str, name: str) -> dict[str, Any]:
    """A volume of the local node, which has no provisioner: a folder in the node's folder, made where it is missing."""
    spec = {
        "capacity": {"storage": "20Gi"},
        "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": f"{node}/state/volumes/{name}", "type": "Directory"},
    }
    folder = Path(node) / "state" / "volumes" / name
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(name: str) -> dict[str, Any]:
    """A claim that any volume of a gigabyte serves."""
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
