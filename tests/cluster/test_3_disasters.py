"""Disasters under load: nothing is lost, nothing counts twice, readers see no errors, and folding goes on.

Each test notes what was sent, makes the disaster, waits until every pool counts more than that, and compares the counts.
"""

import json
import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from tests.cluster.cluster import (
    CHART,
    COMPONENTS,
    FULL,
    NAMESPACE,
    RELEASE,
    Loader,
    apply,
    claim,
    helm,
    kubectl,
    objects,
    pods,
    ready,
    run,
    volume,
    wait_until,
)
from tests.cluster.figures import note
from tests.cluster.survival import survive

NODE = os.environ.get("EQUIRANK_CLUSTER_NODE")
OTHER_CLAIM = "checkpoints-2"
FULL_ONLY = pytest.mark.skipif(not FULL, reason="EQUIRANK_CLUSTER_FULL is not set")


def all_ready(**others: int) -> bool:
    """Whether the whole release is ready, with no pod too many."""
    return ready(COMPONENTS | others)


def deleted(component: str, *options: str) -> tuple[Callable[[], object], Callable[[], bool]]:
    """Deletes one pod of a component; and whether it is gone and replaced."""
    gone: list[str] = []

    def delete() -> None:
        gone.append(pods(component)[0])
        kubectl("delete", "pod", gone[0], "--wait=false", *options)

    return delete, lambda: gone[0] not in pods(component) and all_ready()


@pytest.mark.parametrize("component", ["shards", *(pytest.param(name, marks=FULL_ONLY) for name in ("head", "engine", "api", "solves"))])
def test_a_deleted_pod(loader: Loader, component: str) -> None:
    survive(loader, f"{component} pod deleted", *deleted(component))


@FULL_ONLY
class TestFull:
    """Slower ones."""

    def test_a_head_that_is_killed(self, loader: Loader) -> None:
        command = ["-c", "ray-head", "--", "pkill", "-KILL", "-x", "gcs_server"]
        survive(loader, "head killed", lambda: kubectl("exec", pods("head")[0], *command), all_ready)

    @pytest.mark.skipif(NODE is None, reason="the node is not ours")
    @pytest.mark.parametrize("program", ["kubelet", "containerd"])
    def test_a_node_service_that_is_restarted(self, loader: Loader, program: str) -> None:
        process = Path(str(NODE)) / "run" / f"{program}.pid"
        survive(loader, f"{program} killed and restarted", lambda: os.kill(int(process.read_text()), signal.SIGKILL), all_ready)

    def test_workers_that_are_drained(self, loader: Loader) -> None:
        def drain() -> None:
            node = json.loads(kubectl("get", "pod", pods("shards")[0], "-o", "json"))["spec"]["nodeName"]
            selector = "app.kubernetes.io/component in (shards,solves)"
            command = ["drain", node, f"--pod-selector={selector}", "--delete-emptydir-data", "--timeout=120s"]
            with ThreadPoolExecutor(1) as pool:
                drained = pool.submit(kubectl, *command)
                while not drained.done():  # a cluster of one node has to take the new pods where the old ones were
                    kubectl("uncordon", node, check=False)
                    wait((drained,), timeout=1)
                drained.result()

        survive(loader, "shard and solve pods drained", drain, all_ready)

    def test_a_new_image(self, loader: Loader, values: list[str]) -> None:
        options = ["--set", "image.tag=next"]
        survive(loader, "helm upgrade, new image", _upgrade(values, options), lambda: all_ready() and _images() == {"next"})

    def test_another_number_of_shards(self, loader: Loader, values: list[str]) -> None:
        options = ["--set", "image.tag=next,shards.count=3"]
        survive(loader, "helm upgrade, 3 shards instead of 2", _upgrade(values, options), lambda: all_ready(shards=3))

    def test_a_rollback(self, loader: Loader) -> None:
        name = "helm rollback to the first revision"
        survive(loader, name, lambda: helm("rollback", RELEASE, "1"), lambda: all_ready() and _images() == {"dev"})

    def test_a_redis_that_is_wiped(self, loader: Loader) -> None:
        # Until shards find out and write their boards again, a second or so, readers get what the API knew last.
        restarts = _restarts("head")
        wipe = ["exec", pods("redis")[0], "--", "redis-cli", "flushall"]
        after = survive(loader, "Redis wiped", lambda: kubectl(*wipe), all_ready)
        assert after.stall < 10
        # Ray's head lost its state with the boards, and is started again.
        survive(loader, "head started again after Redis was wiped", lambda: None, lambda: _restarts("head") != restarts and all_ready())

    @pytest.mark.parametrize("number", range(COMPONENTS["kafka"]))
    def test_a_broker_that_is_restarted(self, loader: Loader, number: int) -> None:
        """One after another, so that each partition loses its leader at least once, and the controllers theirs."""
        pod, restarts = f"{RELEASE}-kafka-{number}", _restarts("kafka")
        restart = ["exec", pod, "--", "sh", "-c", "kill 1"]
        restarted = restarts | {pod: restarts[pod] + 1}
        survive(loader, f"broker {number} restarted", lambda: kubectl(*restart), lambda: all_ready() and _restarts("kafka") == restarted)

    def test_solve_pods_come_and_go_with_the_solves(self, loader: Loader, values: list[str]) -> None:
        scaled = _upgrade(values, ["--set", "solves.minReplicas=0,solves.maxReplicas=2,solves.idleSeconds=20"])
        survive(loader, "helm upgrade, solve pods from 0 on", scaled, lambda: all_ready(solves=1) or all_ready(solves=2))
        idle = wait_until("idle solve pods are removed", lambda: all_ready(solves=0), 600)
        note(f"no solve pod {idle:.0f} s after the last outcome")
        survive(loader, "helm upgrade, 1 solve pod again", _upgrade(values, []), all_ready)

    @pytest.mark.skipif(NODE is None, reason="the node is not ours")
    def test_checkpoints_that_are_lost(self, loader: Loader, values: list[str]) -> None:
        """As docs/operations/disasters.md says: the release gets a new claim, and folds again from the log."""
        folder = Path(str(NODE)) / "state" / "volumes" / "checkpoints"
        assert list(folder.rglob("*.json"))

        def lose() -> None:
            for part in folder.iterdir():
                shutil.rmtree(part)
            run("kubectl", "apply", "-f", "-", stdin=json.dumps(volume(str(NODE), OTHER_CLAIM)))
            apply(claim(OTHER_CLAIM))
            _upgrade(values, ["--set", f"checkpoints.volume.existingClaim={OTHER_CLAIM}"])()

        survive(loader, "checkpoint volume lost", lose, lambda: all_ready() and _claims() == {OTHER_CLAIM})
        again = wait_until("every board is solved again", lambda: "no difference" in _verify(check=False), 600)
        note(f"every solved board has its file again {again:.0f} s later")
        assert list((folder.parent / OTHER_CLAIM).rglob("*.json"))


def _verify(*, check: bool = True) -> str:
    """What `equirank verify` prints in the engine's pod, which mounts the checkpoints that are written now. check: raise where it fails."""
    return kubectl("exec", f"deployment/{RELEASE}-engine", "--", "equirank", "verify", check=check)


def _claims() -> set[str]:
    """Names of the claims that the shards' pods mount."""
    volumes = [volume for pod in objects("pods", "shards") for volume in pod["spec"]["volumes"]]
    return {volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "persistentVolumeClaim" in volume}


def _upgrade(values: list[str], options: list[str]) -> Callable[[], object]:
    return lambda: helm("upgrade", RELEASE, str(CHART), *values, *options)


def _restarts(component: str) -> dict[str, int]:
    """How often the container of each pod of a component was started again."""
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in objects("pods", component)}


def _images() -> set[str]:
    """Tags that Equirank's own pods run."""
    components = ("api", "engine", "head", "shards", "solves")
    return {pod["spec"]["containers"][0]["image"].rpartition(":")[2] for name in components for pod in objects("pods", name)}


def test_the_namespace_keeps_the_restricted_standard(loader: Loader) -> None:
    privileged = {"name": "x", "image": "x", "securityContext": {"privileged": True}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hostile", "namespace": NAMESPACE}, "spec": {"containers": [privileged]}}
    with pytest.raises(AssertionError, match='violates PodSecurity "restricted'):
        kubectl("apply", "-f", "-", stdin=json.dumps(pod))


def test_every_board_equals_an_offline_fold_of_the_log(loader: Loader) -> None:
    """Of the first hundred thousand outcomes and of all that came during the disasters."""
    loader.settled(120)
    assert "no difference" in _verify()
