"""The enforcer of NetworkPolicies in the test cluster: the rules it makes, judged packet by packet."""

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "deploy/local/kubernetes/policies.py"


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("policies", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


policies = _module()


def pod(name: str, address: str, namespace: str = "shop", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"metadata": metadata, "spec": {}, "status": {"podIP": address, "phase": "Running"}}


def policy(selector: Mapping[str, Any], namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    kinds = [kind for kind in ("Ingress", "Egress") if kind.lower() in spec]
    return {"metadata": {"namespace": namespace}, "spec": {"podSelector": selector, "policyTypes": kinds, **spec}}


PODS = [pod("web", "10.0.0.1", role="web"), pod("store", "10.0.0.2", role="store"), pod("stranger", "10.0.0.9", "elsewhere", role="web")]
NAMESPACES = [{"metadata": {"name": name, "labels": {"name": name}}} for name in ("shop", "elsewhere")]


def passes(source: str, target: str, port: int, *written: dict[str, Any], protocol: str = "tcp") -> bool:
    """Whether the first packet of a connection passes both chains."""
    rules = policies.Cluster(written, PODS, NAMESPACES).rules()
    return all(_chain(rules, chain, source, target, port, protocol) for chain in policies.CHAINS.values())


def _chain(rules: list[str], chain: str, source: str, target: str, port: int, protocol: str) -> bool:
    for rule in rules:
        options = dict(re.findall(r"(--?\w+) (\S+)", rule))
        first, last = options.get("--dport", "0:65535").split(":")
        matches = (
            options["-A"] == chain
            and "--ctstate" not in options
            and options.get("-s", source) in {source, "0.0.0.0/0"}
            and options.get("-d", target) in {target, "0.0.0.0/0"}
            and options.get("-p", protocol) == protocol
            and int(first) <= port <= int(last)
        )
        if matches:
            return options["-j"] == "RETURN"
    return True


STORE = {"matchLabels": {"role": "store"}}
WEB = {"matchLabels": {"role": "web"}}


def test_without_policies_everything_passes() -> None:
    assert passes("10.0.0.9", "10.0.0.2", 6379)


def test_a_selected_pod_drops_what_no_policy_allows() -> None:
    deny = policy({}, ingress=[])
    assert not passes("10.0.0.1", "10.0.0.2", 6379, deny)
    assert passes("10.0.0.1", "10.0.0.9", 80, deny)  # another namespace is not selected


def test_a_pod_reaches_itself() -> None:
    assert passes("10.0.0.2", "10.0.0.2", 6379, policy({}, ingress=[], egress=[]))


@pytest.mark.parametrize(("source", "port", "allowed"), [("10.0.0.1", 6379, True), ("10.0.0.1", 80, False), ("10.0.0.9", 6379, False)])
def test_a_peer_is_a_pod_of_the_same_namespace(source: str, port: int, allowed: bool) -> None:
    rule = {"from": [{"podSelector": WEB}], "ports": [{"port": 6379}]}
    assert passes(source, "10.0.0.2", port, policy(STORE, ingress=[rule])) is allowed


def test_a_peer_of_another_namespace_is_named_by_its_labels() -> None:
    rule = {"from": [{"namespaceSelector": {"matchLabels": {"name": "elsewhere"}}}]}
    written = policy(STORE, ingress=[rule])
    assert passes("10.0.0.9", "10.0.0.2", 1, written)
    assert not passes("10.0.0.1", "10.0.0.2", 1, written)


def test_policies_add_up() -> None:
    written = policy({}, ingress=[]), policy(STORE, ingress=[{"ports": [{"port": 1, "endPort": 5}]}])
    assert passes("10.0.0.9", "10.0.0.2", 5, *written)
    assert not passes("10.0.0.9", "10.0.0.2", 6, *written)
    assert not passes("10.0.0.9", "10.0.0.2", 5, *written, protocol="udp")


def test_both_directions_have_to_allow_a_connection() -> None:
    out = policy(WEB, egress=[{"to": [{"podSelector": STORE}]}])
    assert passes("10.0.0.1", "10.0.0.2", 1, out)
    assert not passes("10.0.0.1", "10.0.0.9", 1, out)
    assert not passes("10.0.0.1", "10.0.0.2", 1, out, policy(STORE, ingress=[]))


@pytest.mark.parametrize(
    ("operator", "values", "selected"),
    [("In", ["web"], True), ("NotIn", ["web"], False), ("Exists", [], True), ("DoesNotExist", [], False)],
)
def test_expressions(operator: str, values: list[str], selected: bool) -> None:
    expression = {"key": "role", "operator": operator, "values": values}
    assert policies.selects({"matchExpressions": [expression]}, {"role": "web"}) is selected


def test_what_it_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="name"):
        passes("10.0.0.1", "10.0.0.2", 1, policy({}, ingress=[{"ports": [{"port": "http"}]}]))
