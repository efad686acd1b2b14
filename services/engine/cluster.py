"""The Ray that an engine runs on: its own, or a cluster that somebody else started, which may lack resources for shards."""

from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

import ray

import services

SHARD: Final = "equirank_shard"
"""The resource that each shard takes one of: an operator says by it which nodes hold shards, and how many each."""


class NoCluster(Exception):  # noqa: N818 - names the fact
    """Nothing answers as a Ray cluster where the settings say that there is one."""

    def __init__(self, address: str, shards: int, why: str) -> None:
        super().__init__(
            f"no Ray cluster answers at EQUIRANK_RAY={address} ({why}): start a node by {start_of_a_node(shards)}, "
            "name the address of another cluster, or unset EQUIRANK_RAY to let the engine start Ray"
        )


class ShadowedPackage(Exception):  # noqa: N818 - names the fact
    """The working directory holds another package named `services`, which Ray's workers would import instead of Equirank's."""

    def __init__(self, origin: str) -> None:
        super().__init__(
            f"the working directory holds another package named services ({origin}): Ray's workers would import that "
            "package, because the working directory is first on their import path; start Equirank from another directory"
        )


def start_of_a_node(shards: int) -> str:
    """The command that starts a cluster's first node, with room for so many shards."""
    return f"`RAY_worker_niceness=0 ray start --head --resources='{{\"{SHARD}\": {shards}}}'`"


def lacking(shards: int) -> str | None:
    """What to tell where the cluster's nodes hold fewer than so many shards; None where they hold all, or nobody knows now."""
    room = _room()
    if room is None or room >= shards:
        return None
    return (
        f"the Ray cluster has room for {room} of {shards} shards, and the others wait: start nodes with "
        f"--resources='{{\"{SHARD}\": N}}', N being how many each of them holds"
    )


def has_room(shards: int) -> bool:
    """Whether the cluster's nodes hold so many shards; also False where nobody knows now."""
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
        shards: Number of shards the cluster is to hold, for the error's text.
        local: Options of `ray.init` for a Ray on this machine.

    Raises:
        NoCluster: No cluster answers at `address`.
        ShadowedPackage: The working directory holds another package named `services`.
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
