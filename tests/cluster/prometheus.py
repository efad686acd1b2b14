"""A Prometheus in the cluster that scrapes the release as the chart's PodMonitor says, and evaluates the chart's rules."""

import json
import os
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import yaml

from tests.cluster.cluster import CHART, NAMESPACE, RELEASE, kubectl, run

NAME: Final = "prometheus"
MONITORING: Final = "monitoring"
IMAGE: Final = os.environ.get("EQUIRANK_CLUSTER_DEMO_IMAGE") or "docker.io/prom/prometheus:v3.7.3"
_SECONDS: Final = 2
_PORTS: Final = {"api": 8000, "engine": 9464}
_PROXY: Final = f"/api/v1/namespaces/{MONITORING}/services/{NAME}:9090/proxy/api/v1"


class Prometheus:
    """The pod, asked through the API server of Kubernetes: the release's own pods may not reach it."""

    def __init__(self, values: list[str]) -> None:
        run("kubectl", "create", "namespace", MONITORING)
        rendered = run("helm", "template", RELEASE, str(CHART), "-n", NAMESPACE, "-f", str(CHART / "ci/monitoring.yaml"), *values)
        chart = [item for item in yaml.safe_load_all(rendered) if item]
        run("kubectl", "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects(chart)}))
        run("kubectl", "-n", MONITORING, "wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=120s")

    def value(self, query: str) -> float | None:
        """The value of a query with one result; None without result."""
        (results,) = self.query(query)
        return float(results[0]["value"][1]) if results else None

    def query(self, *queries: str) -> list[list[dict[str, Any]]]:
        """All results of each instant query."""
        return [data["result"] for data in self._ask(*(f"query?{urllib.parse.urlencode({'query': query})}" for query in queries))]

    def range(self, query: str, seconds: float) -> list[dict[str, Any]]:
        """Every series of a query over the last `seconds`, at 300 points."""
        now = time.time()
        options = {"query": query, "start": now - seconds, "end": now, "step": max(seconds / 300, _SECONDS)}
        (data,) = self._ask(f"query_range?{urllib.parse.urlencode(options)}")
        return list(data["result"])

    def firing(self) -> set[str]:
        """Names of the alerts that fire."""
        (data,) = self._ask("alerts")
        return {alert["labels"]["alertname"] for alert in data["alerts"] if alert["state"] == "firing"}

    def _ask(self, *paths: str) -> list[Any]:
        with ThreadPoolExecutor(4) as pool:
            answers = [json.loads(body) for body in pool.map(lambda path: run("kubectl", "get", "--raw", f"{_PROXY}/{path}"), paths)]
        assert {answer["status"] for answer in answers} == {"success"}, answers
        return [answer["data"] for answer in answers]


def remove() -> None:
    """Take everything away again."""
    run("kubectl", "delete", "namespace", MONITORING, "--wait=false", "--ignore-not-found")
    kubectl("delete", "service", *(f"scrape-{component}" for component in _PORTS), "--ignore-not-found")


def _objects(chart: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rules = next(item["spec"] for item in chart if item["kind"] == "PrometheusRule")
    monitor = next(item for item in chart if item["kind"] == "PodMonitor")
    config = {
        "global": {"scrape_interval": f"{_SECONDS}s", "evaluation_interval": f"{_SECONDS}s"},
        "rule_files": ["/config/rules.yaml"],
        "scrape_configs": [_job(monitor, component, port) for component, port in _PORTS.items()],
    }
    files = {"prometheus.yaml": yaml.safe_dump(config), "rules.yaml": yaml.safe_dump(rules)}
    metadata = {"name": NAME, "namespace": MONITORING}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files},
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": NAME}, "ports": [{"port": 9090}]}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"labels": {"app": NAME}}, "spec": _pod()},
        *(_headless(monitor, component, port) for component, port in _PORTS.items()),
    ]


def _job(monitor: dict[str, Any], component: str, port: int) -> dict[str, Any]:
    """The pods of a component under the names that the Prometheus operator gives. Debian's Prometheus finds pods by DNS only."""
    job = f"{monitor['metadata']['namespace']}/{monitor['metadata']['name']}"
    labels = {"job": job, "namespace": NAMESPACE}
    return {
        "job_name": component,
        "dns_sd_configs": [
            {"names": [f"scrape-{component}.{NAMESPACE}.svc.cluster.local"], "type": "A", "port": port, "refresh_interval": "5s"}
        ],
        "relabel_configs": [{"target_label": name, "replacement": value} for name, value in labels.items()],
    }


def _headless(monitor: dict[str, Any], component: str, port: int) -> dict[str, Any]:
    """A Service without address whose name is resolved to the pods of a component that the PodMonitor selects."""
    selector = monitor["spec"]["selector"]
    (rule,) = selector["matchExpressions"]
    assert component in rule["values"]
    spec = {"clusterIP": "None", "selector": selector["matchLabels"] | {rule["key"]: component}, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"scrape-{component}", "namespace": NAMESPACE}, "spec": spec}


def _pod() -> dict[str, Any]:
    container = {
        "name": NAME,
        "image": IMAGE,
        "imagePullPolicy": "Never" if IMAGE.startswith("localhost/") else "IfNotPresent",
        "command": ["prometheus", "--config.file=/config/prometheus.yaml", "--storage.tsdb.path=/data", "--web.listen-address=:9090"],
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": 9090}, "periodSeconds": 1},
        "volumeMounts": [{"name": "config", "mountPath": "/config"}, {"name": "data", "mountPath": "/data"}],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    return {
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001},
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": NAME}}, {"name": "data", "emptyDir": {}}],
    }
