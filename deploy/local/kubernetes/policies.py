#!/usr/bin/env python3
"""Enforce the NetworkPolicies of a one-node test cluster by iptables, because no known enforcer can be built from Go modules.

`policies.py KEYS` runs in the node's network namespace. KEYS is the folder that `pki` made. Every half second it reads policies, pods and
namespaces, and replaces two chains of the mangle table, one for each direction. That table sees packets after kube-proxy has replaced the
address of a Service by the address of a pod, and before every other filter.

A pod that a policy selects drops what no policy allows, in each direction that the policy names. Answers of accepted connections pass.
Traffic that starts on the node passes: probes of the kubelet need it. Named ports are refused with an error: the chart uses none.
"""

import http.client
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SECONDS = 0.5
CHAINS = {"Egress": "POLICIES-EGRESS", "Ingress": "POLICIES-INGRESS"}
PATHS = ("/apis/networking.k8s.io/v1/networkpolicies", "/api/v1/pods", "/api/v1/namespaces")

IPTABLES = ("iptables", "--wait", "--table", "mangle")

Object = Mapping[str, Any]


class Cluster:
    """Policies, pods with their own address, and labels of namespaces.

    Args:
        policies: NetworkPolicy objects of all namespaces.
        pods: Pod objects of all namespaces.
        namespaces: Namespace objects.
    """

    def __init__(self, policies: Sequence[Object], pods: Sequence[Object], namespaces: Sequence[Object]) -> None:
        self.policies = policies
        self.pods = [pod for pod in pods if _has_address(pod)]
        self.labels = {namespace["metadata"]["name"]: namespace["metadata"].get("labels", {}) for namespace in namespaces}

    def rules(self) -> list[str]:
        """Rules of both chains, for `iptables-restore`."""
        lines = [f"-A {chain} -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN" for chain in CHAINS.values()]
        for direction in CHAINS:
            for pod in self.pods:
                lines += self._of_pod(pod, direction)
        return lines

    def _of_pod(self, pod: Object, direction: str) -> Iterator[str]:
        """Rules that let allowed packets return from the chain and drop others. No rules if no policy selects the pod."""
        applied = [policy for policy in self.policies if _applies(policy, pod, direction)]
        if not applied:
            return
        address = pod["status"]["podIP"]
        own, other = ("-s", "-d") if direction == "Egress" else ("-d", "-s")
        allowed = {f"{other} {address}"}  # a policy never separates a pod from itself
        for policy in applied:
            for rule in policy["spec"].get(direction.lower()) or []:
                peers = rule.get("to" if direction == "Egress" else "from")
                networks = self._networks(peers, other, policy["metadata"]["namespace"])
                allowed |= {f"{network} {port}".strip() for network in networks for port in _ports(rule)}
        yield from (f"-A {CHAINS[direction]} {own} {address} {match} -j RETURN" for match in sorted(allowed))
        yield f"-A {CHAINS[direction]} {own} {address} -j DROP"

    def _networks(self, peers: Sequence[Object] | None, option: str, namespace: str) -> Iterator[str]:
        """Matches of the peers' addresses. A rule without peers allows every address."""
        if not peers:
            yield ""
        for peer in peers or []:
            if "ipBlock" in peer:
                if peer["ipBlock"].get("except"):
                    raise ValueError("ipBlock.except: this enforcer does not support it")
                yield f"{option} {peer['ipBlock']['cidr']}"
            else:
                yield from (f"{option} {pod['status']['podIP']}" for pod in self.pods if self._is_peer(pod, peer, namespace))

    def _is_peer(self, pod: Object, peer: Object, namespace: str) -> bool:
        its_namespace = pod["metadata"]["namespace"]
        if "namespaceSelector" in peer:
            near = selects(peer["namespaceSelector"], self.labels.get(its_namespace, {}))
        else:
            near = its_namespace == namespace
        return near and selects(peer.get("podSelector", {}), pod["metadata"].get("labels", {}))


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects an object with these labels. An empty selector selects everything."""
    exact = (selector.get("matchLabels") or {}).items() <= labels.items()
    return exact and all(_holds(rule, labels) for rule in selector.get("matchExpressions") or [])


def _holds(rule: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(rule["key"]), rule.get("values", [])
    held = {"In": value in values, "NotIn": value not in values, "Exists": value is not None, "DoesNotExist": value is None}
    return held[rule["operator"]]


def _has_address(pod: Object) -> bool:
    status = pod["status"]
    return not pod["spec"].get("hostNetwork") and "podIP" in status and status.get("phase") in {"Pending", "Running"}


def _applies(policy: Object, pod: Object, direction: str) -> bool:
    spec = policy["spec"]
    same = policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and direction in spec["policyTypes"] and selects(spec["podSelector"], pod["metadata"].get("labels", {}))


def _ports(rule: Object) -> Iterator[str]:
    """Matches of the ports. A rule without ports allows every protocol and port."""
    if not rule.get("ports"):
        yield ""
    for port in rule.get("ports") or []:
        match = f"-p {port.get('protocol', 'TCP').lower()}"
        if "port" not in port:
            yield match
        elif isinstance(port["port"], int):
            yield f"{match} --dport {port['port']}:{port.get('endPort', port['port'])}"
        else:
            raise ValueError(f"port: {port['port']!r} is a name; this enforcer supports numbers only")


def read(keys: Path) -> Cluster:
    """The cluster, as read from the API server of this node."""
    tls = ssl.create_default_context(cafile=str(keys / "ca.crt"))
    tls.load_cert_chain(keys / "tls.crt", keys / "tls.key")
    connection = http.client.HTTPSConnection("127.0.0.1", 6443, context=tls, timeout=10)
    try:
        return Cluster(*(_items(connection, path) for path in PATHS))
    finally:
        connection.close()


def _items(connection: http.client.HTTPSConnection, path: str) -> list[Object]:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise OSError(f"GET {path}: {answer.status} {body[:200]!r}")
    return list(json.loads(body)["items"])


def replace(lines: Sequence[str]) -> None:
    """Replace the contents of both chains at once."""
    names = [f":{chain} - [0:0]" for chain in CHAINS.values()]
    table = "\n".join(["*mangle", *names, *lines, "COMMIT", ""])
    subprocess.run(["iptables-restore", "--noflush", "--wait"], input=table, text=True, check=True)


def main(keys: Path) -> None:
    """Enforce until the node ends."""
    replace([])
    for origin in ("FORWARD", "INPUT"):
        for chain in CHAINS.values():
            jump = [origin, "--jump", chain]
            if subprocess.run([*IPTABLES, "--check", *jump], check=False, capture_output=True).returncode != 0:
                subprocess.run([*IPTABLES, "--append", *jump], check=True)
    enforced: list[str] = []
    while True:
        try:
            wanted = read(keys).rules()
        except (OSError, http.client.HTTPException) as error:  # the API server is starting
            print(f"the policies are not updated: {error!r}", flush=True)
        else:
            if wanted != enforced:
                replace(wanted)
                print(f"{len(wanted)} rules", flush=True)
            enforced = wanted
        time.sleep(SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
