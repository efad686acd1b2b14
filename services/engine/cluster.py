"""Connects an engine to Ray: an own instance, or an existing cluster, which may lack resources for shards."""

from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

import ray

import services

SHARD: Final = "equirank_shard"
"""Ray resource of which each shard takes one unit. With it an operator sets how many shards each node may run."""


class NoCluster(Exception):  # noqa: N818 - names the fact
    """No Ray cluster answers at the configured address."""

    def __init__(self, address: str, shards: int, why: str) -> None:
        super().__init__(
            f"no Ray cluster answers at EQUIRANK_RAY={address} ({why}): start a node by {start_of_a_node(shards)}, "
            "name the address of another cluster, or unset EQUIRANK_RAY to let the engine start Ray"
        )


class ShadowedPackage(Exception):  # noqa: N818 - names the fact
    """The working directory contains another package named `services`. Ray's workers would import it instead of Equirank's."""

    def __init__(self, origin: str) -> None:
        super().__init__(
            f"the working directory holds another package named services ({origin}): Ray's workers would import that "
            "package, because the working directory is first on their import path; start Equirank from another directory"
        )


def start_of_a_node(shards: int) -> str:
    """Return the command that starts a cluster's first node with resources for `shards` shards."""
    return f"`RAY_worker_niceness=0 ray start --head --resources='{{\"{SHARD}\": {shards}}}'`"


def lacking(shards: int) -> str | None:
    """Return a warning if the cluster has resources for fewer than `shards` shards; None if it has enough or Ray does not answer."""
    room = _room()
    if room is None or room >= shards:
        return None
    return (
        f"the Ray cluster has room for {room} of {shards} shards, and the others wait: start nodes with "
        f"--resources='{{\"{SHARD}\": N}}', N being how many each of them holds"
    )


def has_room(shards: int) -> bool:
    """Whether the cluster has resources for `shards` shards. False if Ray does not answer."""
    room = _room()
    return room is not None and room >= shards


def _room() -> int | None:
    try:
        return int(ray.cluster_resources().get(SHARD, 0))
    except ray.exceptions.RayError:
        return None


def join(address: str, shards: int, **local: Any) -> None:
    """Start Ray or join a cluster.

    Args:
        address: Address of the cluster; "local" starts Ray on this machine.
        shards: Number of shards that the cluster must run, for the error's text.
        local: Options of `ray.init` if Ray is started on this machine.

    Raises:
        NoCluster: No cluster answers at `address`.
        ShadowedPackage: The working directory contains another package named `services`.
    """
    _check_working_directory()
    try:
        ray.init(address=address, namespace="equirank", log_to_driver=False, configure_logging=False, **local)
    except ConnectionError as error:
        if address == "local":
            raise
        raise NoCluster(address, shards, " ".join(str(error).split()).partition(". ")[0].rstrip(".")) from error


def _check_working_directory() -> None:
    spec = PathFinder.find_spec("services", [str(Path.cwd())])
    if spec is not None and spec.origin is not None and not Path(spec.origin).samefile(services.__file__):
        raise ShadowedPackage(spec.origin)
