"""One release on a real cluster for all cluster tests: `make cluster`, or EQUIRANK_KUBECONFIG for a cluster that runs already."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import pictures, prometheus, secure, store
from tests.cluster.cluster import (
    CHART,
    COMPONENTS,
    DISPOSABLE,
    LOADER,
    NAMESPACE,
    RELEASE,
    Loader,
    helm,
    image,
    kubectl,
    ready,
    run,
    volume,
    wait_until,
)
from tests.cluster.figures import LINES, note
from tests.cluster.prometheus import Prometheus

BURST, SECURED_BURST = 100_000, 5_000
PICTURES = os.environ.get("EQUIRANK_CLUSTER_PICTURES", "")
DEMO_IMAGES = os.environ.get("EQUIRANK_CLUSTER_DEMO_IMAGE", "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "EQUIRANK_KUBECONFIG" not in os.environ:
        own = (item for item in items if item.path.parent == Path(__file__).parent)
        for item in (item for item in own if not item.path.name.startswith("test_1_") or shutil.which("helm") is None):
            item.add_marker(pytest.mark.skip(reason="no cluster: run `make cluster`, or name one by EQUIRANK_KUBECONFIG"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if LINES:
        terminalreporter.section("measured")
    for line in LINES:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def values() -> list[str]:
    """Options of helm: the demo's values with brokers of which one may be lost, and the images under test."""
    options = ["-f", str(CHART / "values-demo.yaml"), "--set", f"demo.kafkaBrokers={COMPONENTS['kafka']}", *image()]
    if DEMO_IMAGES:
        options += ["--set", f"demo.kafkaImage={DEMO_IMAGES},demo.redisImage={DEMO_IMAGES}"]
    return options


@pytest.fixture(scope="session")
def release(values: list[str]) -> Iterator[dict[str, float]]:
    """The chart, installed in a namespace with the restricted pod security standard; the seconds until its parts were ready."""
    run("kubectl", "apply", "-f", "-", stdin=_namespace())
    if "EQUIRANK_CLUSTER_NODE" in os.environ:
        run("kubectl", "apply", "-f", "-", stdin=json.dumps(volume(os.environ["EQUIRANK_CLUSTER_NODE"], "checkpoints")))
    helm("upgrade", "--install", RELEASE, str(CHART), *values)
    yield {"ready": wait_until("every pod is ready", lambda: ready(COMPONENTS), 300)}
    if not DISPOSABLE:
        kubectl("delete", "pod", LOADER, "--now", "--ignore-not-found")


@pytest.fixture(scope="session")
def loader(release: dict[str, float]) -> Loader:
    """The load, after its first burst was counted."""
    loader = Loader(BURST)
    loader.rate(10)
    wait_until(f"{BURST} outcomes are counted", lambda: sum(loader.status().counted.values()) >= BURST, 240)
    return loader


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A second release, beside a Kafka, a Redis and an object store that ask for users over TLS. The folder has its certificates."""
    folder = tmp_path_factory.mktemp("secure")
    _, key, certificate = secure.certificates(folder)
    store.install("equirank", secure.STORE_PASSWORD, key, certificate)
    secure.install(folder)
    yield folder
    if not DISPOSABLE:
        secure.remove()
        store.remove()


@pytest.fixture(scope="session")
def secured_load(secured: Path) -> Loader:
    """The load on the secured release, after its first burst was counted. It writes as a user of its own, as every producer should."""
    wait_until("every pod is ready", secure.all_ready, 300)
    loader = Loader(SECURED_BURST, secure.NAMESPACE, {"EQUIRANK_KAFKA_OPTIONS": json.dumps(secure.PRODUCER)})
    loader.rate(10)
    wait_until(f"{SECURED_BURST} outcomes are counted", lambda: sum(loader.status().counted.values()) >= SECURED_BURST, 240)
    return loader


@pytest.fixture(scope="session")
def monitoring(loader: Loader, values: list[str]) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the release from its first test to the end of the run."""
    began = time.monotonic()
    scraping = Prometheus(values)
    yield scraping
    if PICTURES:
        for path in pictures.draw(scraping, Path(PICTURES), time.monotonic() - began):
            note(f"wrote {path}")
    if not DISPOSABLE:
        prometheus.remove()


def _namespace() -> str:
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}, labels: {{pod-security.kubernetes.io/enforce: restricted}}}}
"""
