"""What the chart's objects say of each other, for the demo's values and each file of helm/equirank/ci. Needs helm, no cluster."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
import yaml

from tests.cluster.cluster import CHART, run

FILES = [CHART / "values-demo.yaml", *sorted((CHART / "ci").glob("*.yaml"))]


class Pod(NamedTuple):
    """A pod that an object makes. owner: kind and name of it."""

    owner: tuple[str, str]
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    replicas: int


class Chart(NamedTuple):
    """The rendered objects, and the values that they came from."""

    objects: list[dict[str, Any]]
    values: dict[str, Any]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [item for item in self.objects if item["kind"] == kind]

    def names(self, kind: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.of(kind)}

    def pods(self) -> Iterator[Pod]:
        for item in [*self.of("Deployment"), *self.of("StatefulSet")]:
            template = item["spec"]["template"]
            owner = (item["kind"], item["metadata"]["name"])
            yield Pod(owner, template["metadata"]["labels"], template["spec"], item["spec"].get("replicas", 0))
        for item in self.of("RayCluster"):
            groups = [("head", item["spec"]["headGroupSpec"], 1)]
            groups += [(group["groupName"], group, group["replicas"]) for group in item["spec"]["workerGroupSpecs"]]
            for name, group, replicas in groups:
                spec = group["template"]["spec"]
                if name == "head" and (scaler := item["spec"].get("autoscalerOptions")):  # KubeRay adds this container
                    spec = spec | {"containers": [*spec["containers"], {"name": "autoscaler", **scaler}]}
                yield Pod(("RayCluster", name), group["template"]["metadata"]["labels"], spec, replicas)
        for item in self.of("Pod"):
            yield Pod(("Pod", item["metadata"]["name"]), item["metadata"]["labels"], item["spec"], 1)

    def selected(self, selector: Mapping[str, Any]) -> list[Pod]:
        return [pod for pod in self.pods() if _matches(selector, pod.labels)]

    def group(self, name: str) -> dict[str, Any]:
        return next(group for group in self.of("RayCluster")[0]["spec"]["workerGroupSpecs"] if group["groupName"] == name)


def _matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    by_label = selector.get("matchLabels", {}).items() <= labels.items()
    return by_label and all(labels.get(rule["key"]) in rule["values"] for rule in selector.get("matchExpressions", []))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def chart(request: pytest.FixtureRequest) -> Chart:
    rendered = run("helm", "template", "ratings", str(CHART), "--namespace", "shop", "-f", str(request.param))
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    given = yaml.safe_load(request.param.read_text())
    return Chart([item for item in yaml.safe_load_all(rendered) if item], _merged(values, given))


def _merged(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {name: _merged(base.get(name), over[name]) if name in over else base[name] for name in base | over}


def test_each_object_has_a_name_of_its_own_and_the_releases_namespace(chart: Chart) -> None:
    names = [(item["kind"], item["metadata"]["name"]) for item in chart.objects]
    assert len(names) == len(set(names)) >= 10
    assert {item["metadata"].get("namespace") for item in chart.objects if item["kind"] != "PriorityClass"} == {"shop"}


def test_each_service_leads_to_one_kind_of_pod_and_a_port_that_it_has(chart: Chart) -> None:
    for service in chart.of("Service"):
        pods = chart.selected({"matchLabels": service["spec"]["selector"]})
        assert len(pods) == 1, service["metadata"]["name"]
        ports = {port.get("name") for container in pods[0].spec["containers"] for port in container.get("ports", [])}
        target = service["spec"]["ports"][0]["targetPort"]
        assert isinstance(target, int) or target in ports


def test_each_probe_asks_a_port_that_its_container_has(chart: Chart) -> None:
    for pod in chart.pods():
        for container in pod.spec["containers"]:
            ports = {port["name"] for port in container.get("ports", [])} | {port["containerPort"] for port in container.get("ports", [])}
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                action = container.get(probe, {}).get("httpGet")
                assert action is None or action["port"] in ports, (pod.owner, probe)


def test_whatever_a_pod_refers_to_is_made_here_or_named_by_the_values(chart: Chart) -> None:
    named = json.dumps(chart.values)
    made = {"secret": chart.names("Secret"), "configMap": chart.names("ConfigMap"), "claim": chart.names("PersistentVolumeClaim")}
    made["secret"] |= chart.names("RayCluster")  # KubeRay makes a Secret of the cluster's name for its token
    for pod in chart.pods():
        for kind, name in _references(pod.spec):
            assert name in made[kind] or f'"{name}"' in named, (pod.owner, kind, name)
        assert pod.spec.get("serviceAccountName", "default") in {*chart.names("ServiceAccount"), "default"}


def _references(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for volume in spec.get("volumes", []):
        if "secret" in volume:
            yield "secret", volume["secret"]["secretName"]
        if "configMap" in volume:
            yield "configMap", volume["configMap"]["name"]
        if "persistentVolumeClaim" in volume:
            yield "claim", volume["persistentVolumeClaim"]["claimName"]
    for container in spec["containers"]:
        for source in container.get("envFrom", []):
            yield ("configMap", source["configMapRef"]["name"]) if "configMapRef" in source else ("secret", source["secretRef"]["name"])
        for variable in container.get("env", []):
            if "secretKeyRef" in variable.get("valueFrom", {}):
                yield "secret", variable["valueFrom"]["secretKeyRef"]["name"]


def test_each_mount_has_its_volume_and_each_volume_a_mount(chart: Chart) -> None:
    for pod in chart.pods():
        mounts = {mount["name"] for container in pod.spec["containers"] for mount in container.get("volumeMounts", [])}
        assert mounts == {volume["name"] for volume in pod.spec.get("volumes", [])}, pod.owner


def test_every_process_finds_the_files_that_the_options_of_kafka_name(chart: Chart) -> None:
    """Shards and solves get the options from the engine, so their pods have the files, too."""
    own = [pod for pod in chart.pods() if pod.labels["app.kubernetes.io/component"] in ("api", "engine", "shards", "solves")]
    assert len(own) == 4
    variables = [variable for pod in own for variable in pod.spec["containers"][0].get("env", [])]
    (options,) = {variable["value"] for variable in variables if variable["name"] == "EQUIRANK_KAFKA_OPTIONS"}
    folders = {path.rpartition("/")[0] for name, path in json.loads(options).items() if name.startswith("ssl_") and name.endswith("file")}
    tls = chart.values["kafka"]["tls"]
    assert len(folders) == sum(bool(tls[name]) for name in ("caSecret", "clientSecret"))
    for pod in own:
        assert folders <= {mount["mountPath"] for mount in pod.spec["containers"][0]["volumeMounts"]}, pod.owner


def test_no_pod_has_more_rights_than_the_restricted_standard_allows(chart: Chart) -> None:
    for pod in chart.pods():
        assert pod.spec["securityContext"]["runAsNonRoot"] is True
        assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod.spec["automountServiceAccountToken"] is False
        assert pod.spec["enableServiceLinks"] is False
        for container in pod.spec["containers"]:
            rights = container["securityContext"]
            assert rights["allowPrivilegeEscalation"] is False
            assert rights["readOnlyRootFilesystem"] is True
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"], pod.owner


def test_budgets_leave_one_pod_to_evict(chart: Chart) -> None:
    for budget in chart.of("PodDisruptionBudget"):
        (pod,) = chart.selected(budget["spec"]["selector"])
        replicas = pod.replicas or min(scaler["spec"]["minReplicas"] for scaler in chart.of("HorizontalPodAutoscaler"))
        assert 1 <= budget["spec"]["minAvailable"] < replicas


def test_an_autoscaled_deployment_leaves_its_replicas_to_the_autoscaler(chart: Chart) -> None:
    scaled = {scaler["spec"]["scaleTargetRef"]["name"] for scaler in chart.of("HorizontalPodAutoscaler")}
    assert scaled <= chart.names("Deployment")
    for item in chart.of("Deployment"):
        assert ("replicas" in item["spec"]) is (item["metadata"]["name"] not in scaled)


def test_shard_pods_have_room_for_every_shard_and_are_never_scaled(chart: Chart) -> None:
    group = chart.group("shards")
    settings = next(item for item in chart.of("ConfigMap") if item["metadata"]["name"].endswith("-settings"))["data"]
    assert group["minReplicas"] == group["maxReplicas"] == group["replicas"] >= 1
    assert group["replicas"] * int(group["resources"]["equirank_shard"]) >= int(settings["EQUIRANK_SHARDS"]) >= 1
    solves = chart.group("solves")
    assert int(settings["EQUIRANK_SOLVE_WORKERS"]) == solves["maxReplicas"] * int(solves["rayStartParams"]["num-cpus"])
    autoscaled = chart.of("RayCluster")[0]["spec"].get("enableInTreeAutoscaling", False)
    assert autoscaled is (solves["minReplicas"] < solves["maxReplicas"])


def test_only_the_autoscaler_may_ask_the_api_server(chart: Chart) -> None:
    """Its container alone mounts a token; its account is its own, and only its pod has a way out to the API server."""
    cluster = chart.of("RayCluster")[0]["spec"]
    tokens = [pod.owner for pod in chart.pods() if pod.spec.get("automountServiceAccountToken") is not False]
    assert tokens == []
    scaler = cluster.get("autoscalerOptions")
    head = cluster["headGroupSpec"]["template"]["spec"]
    projected = [volume["name"] for pod in chart.pods() for volume in pod.spec.get("volumes", []) if "projected" in volume]
    assert projected == (["kubernetes"] if scaler else [])
    assert "kubernetes" not in {mount["name"] for mount in head["containers"][0]["volumeMounts"]}
    if scaler:
        assert "kubernetes" in {mount["name"] for mount in scaler["volumeMounts"]}
        accounts = [pod.spec["serviceAccountName"] for pod in chart.pods()]
        assert accounts.count(head["serviceAccountName"]) == 1
        assert head["serviceAccountName"] in chart.names("ServiceAccount")
    ports = chart.values["networkPolicy"]["kubernetesPorts"]
    ways = [policy for policy in chart.of("NetworkPolicy") if set(ports) <= _ports_out(policy)]
    assert len(ways) == (1 if scaler and chart.values["networkPolicy"]["enabled"] else 0)
    selected = {pod.owner for way in ways for pod in chart.selected(way["spec"]["podSelector"])}
    assert selected <= {("RayCluster", "head")}


def _ports_out(policy: Mapping[str, Any]) -> set[int]:
    return {port["port"] for rule in policy["spec"].get("egress", []) for port in rule.get("ports", [])}


def test_clients_and_controllers_know_every_broker_of_the_demo(chart: Chart) -> None:
    settings = next(item for item in chart.of("ConfigMap") if item["metadata"]["name"].endswith("-settings"))["data"]
    for kafka in (item for item in chart.of("StatefulSet") if item["metadata"]["name"].endswith("-kafka")):
        (service,) = [item["spec"] for item in chart.of("Service") if item["metadata"]["name"] == kafka["spec"]["serviceName"]]
        assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
        brokers = [f"{kafka['metadata']['name']}-{number}.{kafka['spec']['serviceName']}" for number in range(kafka["spec"]["replicas"])]
        assert settings["EQUIRANK_KAFKA"] == ",".join(f"{broker}:9092" for broker in brokers)
        assert int(settings["EQUIRANK_KAFKA_REPLICATION"]) == len(brokers) == chart.values["demo"]["kafkaBrokers"]
        (server,) = [item["data"]["server.properties"] for item in chart.of("ConfigMap") if "server.properties" in item["data"]]
        voters = ",".join(f"{number}@{broker}:9093" for number, broker in enumerate(brokers))
        assert f"controller.quorum.voters={voters}\n" in server
        assert f"offsets.topic.replication.factor={len(brokers)}\n" in server


def test_shards_go_before_solves_where_classes_are_made(chart: Chart) -> None:
    value = {item["metadata"]["name"]: item["value"] for item in chart.of("PriorityClass")}
    used = [chart.group(name)["template"]["spec"].get("priorityClassName") for name in ("shards", "solves")]
    assert set(value) == {name for name in used if name}
    assert not value or value[used[0]] > value[used[1]]


def test_policies_select_pods_and_cover_every_pod(chart: Chart) -> None:
    policies = [policy["spec"] for policy in chart.of("NetworkPolicy")]
    assert all(chart.selected(policy["podSelector"]) for policy in policies)
    closed = {pod.owner for policy in policies if "Egress" in policy["policyTypes"] for pod in chart.selected(policy["podSelector"])}
    assert closed == ({pod.owner for pod in chart.pods()} if policies else set())
    assert bool(policies) is chart.values["networkPolicy"]["enabled"]


def test_routes_lead_to_the_service_and_their_hosts_are_allowed(chart: Chart) -> None:
    api = next(pod for pod in chart.pods() if pod.owner == ("Deployment", "ratings-equirank-api"))
    (container,) = api.spec["containers"]
    allowed = json.loads(next(variable["value"] for variable in container["env"] if variable["name"] == "EQUIRANK_ALLOWED_HOSTS"))
    services = chart.names("Service")
    for item in chart.of("Ingress"):
        rule = item["spec"]["rules"][0]
        assert rule["host"] in allowed
        assert rule["http"]["paths"][0]["backend"]["service"]["name"] in services
    for item in chart.of("HTTPRoute"):
        assert set(item["spec"]["hostnames"]) <= set(allowed)
        assert item["spec"]["rules"][0]["backendRefs"][0]["name"] in services


def test_passwords_stand_in_no_object(chart: Chart) -> None:
    text = json.dumps([item for item in chart.objects if item["kind"] != "Secret"])
    secret = chart.values["kafka"]["sasl"]["existingSecret"]
    assert ("$(KAFKA_PASSWORD)" in text) is bool(secret)
    assert ("$(REDIS_PASSWORD)" in text) is bool(chart.values["redis"]["existingSecret"])


def test_the_pod_monitor_scrapes_ports_that_exist(chart: Chart) -> None:
    for monitor in chart.of("PodMonitor"):
        pods = chart.selected(monitor["spec"]["selector"])
        ports = {port["name"] for pod in pods for container in pod.spec["containers"] for port in container.get("ports", [])}
        assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} <= ports
        assert len(pods) == 2


def test_rules_and_dashboards_are_those_of_the_repository(chart: Chart) -> None:
    monitoring, root = chart.values["monitoring"], CHART.parents[1]
    rules = yaml.safe_load((root / "deploy/prometheus/equirank.yaml").read_text())
    assert [item["spec"] for item in chart.of("PrometheusRule")] == ([rules] if monitoring["prometheusRule"]["enabled"] else [])
    files = {path.name: path.read_text() for path in (root / "deploy/grafana").glob("*.json")}
    maps = [item for item in chart.of("ConfigMap") if item["metadata"]["labels"]["app.kubernetes.io/component"] == "dashboards"]
    written = {name: text for item in maps for name, text in item["data"].items()}
    assert written == (files if monitoring["dashboards"]["enabled"] else {})
