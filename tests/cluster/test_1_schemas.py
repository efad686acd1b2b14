"""Every object of the chart conforms to the schemas of Kubernetes and KubeRay, and has no field that they do not know. Needs no cluster."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.cluster.cluster import CHART, run

SCHEMAS = os.environ.get("EQUIRANK_CHART_SCHEMAS", "")
OF_OTHER_PROJECTS = {"HTTPRoute", "PodMonitor", "PrometheusRule"}
"""Kinds whose schemas come neither with Kubernetes nor with KubeRay."""
FREE_FORM = {"x-kubernetes-preserve-unknown-fields", "additionalProperties"}
FILES = [CHART / "values-demo.yaml", *sorted((CHART / "ci").glob("*.yaml"))]
pytestmark = pytest.mark.skipif(not SCHEMAS, reason="no schemas: run `make chart`")
Schema = dict[str, Any]
Key = tuple[str, str]


def closed(schema: Any) -> Any:
    """Copy of a schema that refuses unknown fields, and takes numbers where Kubernetes takes them for texts."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return {"type": ["string", "integer"]}
    found = {name: closed(part) for name, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and not FREE_FORM & schema.keys():
        found["additionalProperties"] = False
    return found


def of_kubernetes(folder: Path) -> Iterator[tuple[Key, Schema]]:
    definitions = closed(json.loads((folder / "kubernetes.json").read_text())["definitions"])
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = {"type": ["string", "number"]}
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", []):
            version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
            yield (version, kind["kind"]), {"definitions": definitions, "$ref": f"#/definitions/{name}"}


def of_resource_definitions(folder: Path) -> Iterator[tuple[Key, Schema]]:
    for file in sorted(folder.glob("*.yaml")):
        spec = yaml.safe_load(file.read_text())["spec"]
        for version in spec["versions"]:
            schema = closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            yield (f"{spec['group']}/{version['name']}", spec["names"]["kind"]), schema


@pytest.fixture(scope="module")
def schemas() -> Mapping[Key, Schema]:
    folder = Path(SCHEMAS)
    return dict(of_kubernetes(folder)) | dict(of_resource_definitions(folder))


def faults(schemas: Mapping[Key, Schema], item: Schema) -> list[str]:
    schema = schemas[item["apiVersion"], item["kind"]]
    found = jsonschema.Draft7Validator(schema).iter_errors(item)
    return [f"{item['kind']} {item['metadata']['name']}: {error.json_path}: {error.message[:300]}" for error in found]


@pytest.mark.parametrize("values", FILES, ids=lambda path: path.stem)
def test_every_object_conforms_to_its_schema(schemas: Mapping[Key, Schema], values: Path) -> None:
    rendered = run("helm", "template", "x", str(CHART), "-f", str(CHART / "values-demo.yaml"), "-f", str(values))
    objects = [item for item in yaml.safe_load_all(rendered) if item is not None and item["kind"] not in OF_OTHER_PROJECTS]
    assert len(objects) > 10
    assert [fault for item in objects for fault in faults(schemas, item)] == []


@pytest.mark.parametrize(
    ("field", "value"), [("replicas", "two"), ("replica", 2), ("template", {"spec": {"containers": [{"name": "a", "imagee": "b"}]}})]
)
def test_a_wrong_field_is_found(schemas: Mapping[Key, Schema], field: str, value: object) -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
    item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    assert faults(schemas, item) == []
    assert len(faults(schemas, item | {"spec": spec | {field: value}})) == 1
